"""Memories that are not shown whole are named, best first, and an index of all of them fits what a host loads."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from random import Random
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from contextasm.checks.hosts.cuts import LoadedFile, cut_files, within_total
from contextasm.config.hosts.loader import load_host
from contextasm.config.profiles.layers import with_layer_values
from contextasm.config.profiles.loader import load_profile
from contextasm.model import Context
from tests.command import fill, inside
from tests.workspaces import build

REPO = load_profile("repo", "tests", Path())
COVERED = {"included", "named"}
PAGE = "memories/a-long-name-of-a-file-with-all-memories-of-a-year.md"
WORDS = "deploy staging secret rotate database pin version cache build flaky retry token branch merge queue"
HOSTS = {
    "claude-memory": ("claude-code", "MEMORY.md", 49),
    "codex-memory": ("codex", "AGENTS.md", 67),
    "openclaw-memory": ("openclaw", "MEMORY.md", 34),
}
"""The host of each profile, its file, and the number of memories that reach the model in that file as they are."""


def corpus() -> dict[str, str]:
    """190 memories of random words, a page each: as many as in gastownhall/beads#5877."""
    random = Random(5877)
    texts = [" ".join(random.choices(WORDS.split(), k=random.randint(20, 120))) for _ in range(190)]
    days = [f"2026-{1 + number // 28:02}-{1 + number % 28:02}" for number in range(190)]
    return {
        f"memories/{text.split()[0]}-{number:03}.md": f"---\ntype: fact\ncreated: {day}\n---\n{text}.\n"
        for number, (text, day) in enumerate(zip(texts, days, strict=True))
    }


def loaded(host: str, name: str, text: str) -> LoadedFile:
    """The file as the host loads it."""
    rules = load_host(host, "tests")
    rule = next(rule for rule in rules.loads if name in rule.files)
    return within_total(rules, cut_files(rule, [(name, text)], ""))[0]


def listed(lengths: Sequence[int]) -> str:
    """Memories of so many words, the best first: the newest is the lowest."""
    lines = [
        f"- [fact] memory {number}{' word' * length} {{id=id-{number:03}}}" for number, length in enumerate(lengths)
    ]
    return "\n".join(reversed(lines)) + "\n"


def context(lengths: Sequence[int], room: int, top: int) -> Context:
    """The memories in a layer of so much room."""
    layer = with_layer_values(REPO.layers[-1], {"max_tokens": room, "top": top})
    return build({".agents/memories.md": listed(lengths)}, REPO._replace(layers=(layer,)))


def covered(shown: Context) -> int:
    """The number of best memories that are whole or named, up to the first that is neither."""
    outcome = {each.fragment: each.outcome for each in shown.decisions}
    return len([*takewhile(lambda name: outcome[name] in COVERED, sorted(outcome))])


def sure(lengths: Sequence[int], room: int, top: int) -> int:
    """The number of best memories that fit whole one after the other, and of the next whose titles fit a tenth."""
    wholes = [f"- [fact] memory {number}{' word' * length}\n" for number, length in enumerate(lengths)]
    titles = [len(f"{whole[:69]}… (id-000, .agents/memories.md)\n") for whole in wholes]
    aside, frame = min(room * 4 // 10, max(0, room - 300) * 4), 100  # heading and marker
    whole = first_fitting([*map(len, wholes)][: top or None], room * 4 - aside - frame)
    header = len("\n\nMore memories, of which `ctxasm show ID` prints one:\n")
    return whole + min(room // 100, first_fitting(titles[whole:], aside - header - frame * (not whole)))


@given(st.text(" ()%#?&;:<>[]\\*_`!~'\"^|$ap20é", max_size=12))
def test_a_link_of_an_index_leads_a_markdown_reader_to_the_file(name: str) -> None:
    path = f"memories/a{name}.md"
    index = build({path: "- The bell rings.\n"}, load_profile("claude-memory", "tests", Path()))
    (line,) = [token for token in MarkdownIt("commonmark").parse(index.text) if token.level == 3]
    (link,) = [token for token in line.children or () if token.type == "link_open"]
    assert urlsplit(str(link.attrs["href"])).scheme == ""
    assert unquote(urlsplit(str(link.attrs["href"])).path) == path
    assert urlsplit(str(link.attrs["href"])).fragment == "L1"


def first_fitting(sizes: Sequence[int], room: int) -> int:
    """The number of first sizes that add up to no more than the room."""
    return max((count for count in range(len(sizes) + 1) if sum(sizes[:count]) <= room), default=0)


@given(
    lengths=st.one_of(
        st.lists(st.integers(10, 90), min_size=15, max_size=40),
        st.integers(0, 90).flatmap(lambda length: st.integers(15, 40).map(lambda count: [length] * count)),
    ),
    room=st.integers(300, 2_000),
    more=st.integers(0, 1_000),
    top=st.sampled_from([0, 5, 12, 20]),
)
def test_the_best_are_whole_or_named_and_more_of_them_with_more_room(
    lengths: Sequence[int], room: int, more: int, top: int
) -> None:
    small, large = context(lengths, room, top), context(lengths, room + more, top)
    assert min(covered(small), covered(large)) >= sure(lengths, room, top)
    if len({*lengths}) == 1:
        assert covered(large) >= covered(small)
    for each in large.decisions:
        assert (f"({each.fragment}, " in large.text) == (each.outcome == "named")


@given(
    profile=st.sampled_from(sorted(HOSTS)),
    count=st.integers(1, 260),
    rest=st.one_of(st.just(0), st.integers(1, 150)),
    seed=st.integers(0, 99),
)
def test_a_host_cuts_nothing_of_an_index(profile: str, count: int, rest: int, seed: int) -> None:
    random = Random(seed)
    lines = [f"- {' '.join('wörd' for _ in range(random.randint(1, 80)))} {number}" for number in range(count)]
    host, name, _ = HOSTS[profile]
    with tempfile.TemporaryDirectory() as folder:
        root = fill(Path(folder, "w"), {PAGE: "\n".join(lines)}, base={})
        own = "A line of a person.\n" * rest
        (root / name).write_text(own)
        written = inside("build", "-w", root, "-p", profile, "--into", root / name)
        text = (root / name).read_text()
    assert written.code == 0, written.err
    assert text.startswith(own)
    assert text.count(f"]({PAGE}#L") >= min(count, 10)
    assert not loaded(host, name, text).lost_parts


@pytest.mark.parametrize("profile", HOSTS)
def test_a_host_loads_a_line_of_each_of_190_memories(profile: str, tmp_path: Path) -> None:
    host, name, whole = HOSTS[profile]
    files = corpus()
    plain = loaded(host, name, "".join(f"- {text.split('---')[2].strip()}\n" for text in files.values()))
    kept = "".join(plain.text[start:stop] for start, stop in plain.kept)
    assert sum(line in plain.text.split("\n") for line in kept.split("\n")[:-1]) == whole
    root = fill(tmp_path / "w", files, base={})
    assert inside("build", "-w", root, "-p", profile, "-o", root / name).code == 0
    index = (root / name).read_text()
    assert index.count("\n- [") == 190
    assert not loaded(host, name, index).lost_parts
    (root / name).write_text("Mine.\n")
    assert inside("build", "-w", root, "-p", profile, "-o", root / name).code == 2
    assert (root / name).read_text() == "Mine.\n"
