"""Cuts, case by case: `cases/cut/*.md`, each a sentence, the text, and what is shown in rooms of several sizes.

A room is in characters (UTF-16 units) and holds the text under a heading, its markers included. After a change
that is meant, `UPDATE_CASES=1 pytest tests/selection/test_truncate.py` writes what is shown now; read the difference.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from contextasm.model import Fragment, FragmentDisplay, Location
from contextasm.rendering.formats import MARKERS
from contextasm.selection.overflow import STEPS
from contextasm.selection.sections import Excerpt, section_body, whole_excerpt
from contextasm.selection.tokens import CHARS_ESTIMATE
from contextasm.selection.truncate import truncate
from tests.command import CASES, held_against

CUTS = CASES / "cut"

_RULE = re.compile(r"^=== (input|room)(.*)\n", re.MULTILINE)


class Case(NamedTuple):
    """A file of cases."""

    title: str
    fragments: tuple[Fragment, ...]
    marker: str
    expected: dict[int, str]
    """What is shown, by room."""


def read(text: str) -> Case:
    title, *parts = _RULE.split(text)
    triples = [(parts[n], parts[n + 1].split(), parts[n + 2].removesuffix("\n")) for n in range(0, len(parts), 3)]
    options = dict(word.split("=") for kind, words, _ in triples if kind == "input" for word in words)
    inputs = [content for kind, _, content in triples if kind == "input"]
    fragments = (
        Fragment(
            f"{n}.md",
            Location(f"{n}.md", 1),
            content,
            FragmentDisplay("Text", place=(n,), keep=options.get("keep", "start")),
        )
        for n, content in enumerate(inputs, 1)
    )
    expected = {int(words[0]): content for kind, words, content in triples if kind == "room"}
    return Case(title, tuple(fragments), options.get("marker", "plain"), expected)


def shown(case: Case, room: int) -> str:
    def text(kept: object) -> str:
        assert isinstance(kept, list | tuple)
        missing = [each for each in case.fragments if each not in {own.fragment for own in kept}]
        return section_body(kept, missing, "\n\n", MARKERS[case.marker](CHARS_ESTIMATE.count))

    def cost(kept: object) -> int:
        return CHARS_ESTIMATE.units(text(kept))

    everything: tuple[Excerpt, ...] = tuple(map(whole_excerpt, case.fragments))
    return text(everything if cost(everything) <= room else truncate(case.fragments, room, CHARS_ESTIMATE, cost))


@pytest.mark.parametrize("path", sorted(CUTS.glob("*.md")), ids=lambda path: path.stem)
def test_cut_shows_what_its_case_says(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    case = read(source)
    assert case.title.strip()
    found = {room: shown(case, room) for room in case.expected}
    rooms = "".join(f"=== room {room}\n{text}\n" if text else f"=== room {room}\n" for room, text in found.items())
    held_against(path, source[: source.index("=== room")] + rooms)
    assert all(CHARS_ESTIMATE.units(text) <= room for room, text in found.items())


def test_there_is_a_case_for_each_kind_of_cut() -> None:
    assert len([*CUTS.glob("*.md")]) >= 20
    assert "truncate" in STEPS
