"""Lists of names in messages: cut where they are long, and no choice where there is nothing to choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextasm.text.names.matching import MOST_NAMES, list_names
from tests.command import SMALL, fill, inside, refused


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("-a", "lina"), ("unknown agent lina", "no agent exists yet", "`ctxasm init --agent lina`")),
        (("-p", "query", "--strategy", "none"), ("unknown strategy none",)),
        (("-p", "default", "--strategy", "none"), ("unknown strategy none", "no names are known")),
    ],
)
def test_an_empty_list_is_not_shown_as_a_choice(tmp_path: Path, words: tuple[str, ...], parts: tuple[str, ...]) -> None:
    root = fill(tmp_path, {"ctxasm.yaml": "date: 2025-03-14\n"}, base={})
    result = inside("build", "-w", root, *words)
    refused(result, *parts)
    assert "one of: none" not in result.err


def test_a_team_that_is_unknown_where_there_is_none_is_told_how_to_make_one(tmp_path: Path) -> None:
    refused(inside("build", "-w", fill(tmp_path, {}), "-t", "q"), "unknown team q", "`ctxasm init --team q`")


def test_a_long_list_of_names_is_cut(tmp_path: Path) -> None:
    files = {path.replace("/a/", f"/n{number:03}/"): text for number in range(60) for path, text in SMALL.items()}
    root = fill(tmp_path, files, base={})
    for words in (("build", "-a", "zzzzzzzzzz"), ("build",), ("log", "x"), ("build", "-t", "q", "-a", "zzzzzzz")):
        result = inside(*words, "-w", root)
        refused(result, "n000, n001", "n009 and 50 more")
        assert "n010" not in result.err


def test_a_short_list_is_shown_whole() -> None:
    assert list_names(["a"]) == "a"
    assert list_names([str(n) for n in range(MOST_NAMES)]).count(",") == MOST_NAMES - 1
    assert list_names([str(n) for n in range(MOST_NAMES + 1)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 31 more"
