"""`ctxasm remember`: what is stored, what is reinforced, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextasm.model import Document
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.memories.parser import parse_memories
from contextasm.text.memories.writer import LONGEST_TEXT
from tests.command import fill, inside, refused

DAY = ("--date", "2025-03-14")
LIST = "agents/a/memories/2025-03.md"


def remember(folder: Path, *words: str, stdin: str | None = None) -> str:
    """Remember as agent a on the day; what is said of it."""
    line = ("remember", *DAY, "-w", str(folder), *words)
    done = inside(*line, stdin=stdin)
    assert (done.code, done.err) == (0, "")
    return done.out


def stored(file: Path) -> list[tuple[str, str]]:
    found = decode_document("f.md", file.read_bytes())
    assert isinstance(found, Document)
    return [(each.type, each.text) for each in parse_memories(found)[0]]


@pytest.mark.parametrize(
    "text",
    [
        "[x] done",
        "ends in {id=m1}",
        "(see below)",
        "- a bullet",
        "# a heading",
        "```\nnever closed",
        "one\n\ntwo\n  three",
    ],
)
def test_a_text_that_looks_like_markup_is_kept_as_it_is(tmp_path: Path, text: str) -> None:
    fill(tmp_path, {})
    remember(tmp_path, "--type", "fact", "--", text)
    remember(tmp_path, "Something quite different")
    assert stored(tmp_path / LIST) == [("fact", text), ("note", "Something quite different")]


def test_row_42_confidence_map(tmp_path: Path) -> None:
    fill(tmp_path, {})
    lines = [
        '{"text": "first of all", "confidence": "high", "type": "fact", "tags": ["a"], "key": "k"}',
        "",
        '{"text": "second thoughts", "confidence": "medium"}',
        '{"text": "third party", "confidence": "low"}',
        '{"text": "fourth wall", "confidence": "low", "importance": 1}',
        "a plain line",
    ]
    out = remember(tmp_path, "-", "--importance", "critical", "--json", stdin="\n".join(lines) + "\n")
    data = json.loads(out)
    assert data["schema"] == "ctxasm.remembered/1"
    assert [each["importance"] for each in data["memories"]] == [0.8, 0.5, 0.3, 1.0, 1.0]
    assert [each["line"] for each in data["memories"]] == [1, 2, 3, 4, 5]
    assert stored(tmp_path / LIST)[0] == ("fact", "first of all")


def test_thousands_of_memories_are_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {f"agents/a/memories/{n}.md": f"- Number {n} is a memory of file {n}\n" for n in range(20)}
    fill(tmp_path, {**lists, "agents/a/memories/z.md": "- Peel the potatoes aboard\n"})
    seen: list[str] = []

    def watched(document: Document) -> object:
        seen.append(document.path)
        return parse_memories(document)

    monkeypatch.setattr("contextasm.workspace.editing.memory_file.parse_memories", watched)
    remember(tmp_path, "Peel the potatoes, aboard!")
    assert seen == ["agents/a/memories/z.md"]
    remember(tmp_path, "Look up")
    assert seen[1:] == [LIST]


def test_text_that_no_context_could_show_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, {})
    pipe = ("remember", "-", *DAY, "-w", str(tmp_path))
    refused(inside(*pipe, stdin="x" * (LONGEST_TEXT + 1)), "line 1", "65,537 characters", "at most 65,536")
    refused(inside("log", "-", "-w", tmp_path, stdin="x" * 10_000_000), "TEXT", "10,000,000 characters")
    for flag in ("--tag", "--key", "--type", "--supersedes"):
        refused(inside("remember", "A", *DAY, "-w", tmp_path, flag, "x" * 1001), flag, "1,001 characters", "1,000")
    refused(inside("remember", "A", *DAY, "-w", tmp_path, *("--tag", "x") * 101), "--tag", "101 values", "at most 100")
    assert not (tmp_path / LIST).exists()
    assert inside(*pipe, stdin="x" * LONGEST_TEXT).code == 0
    assert [len(text) for _, text in stored(tmp_path / LIST)] == [LONGEST_TEXT]


@pytest.mark.parametrize("option", ["--key", "--tag", "--type"])
def test_value_that_is_not_utf_8_is_refused(tmp_path: Path, option: str) -> None:
    fill(tmp_path, {})
    refused(inside("remember", "a", option, "\udcff", "-w", tmp_path), option)
    assert not (tmp_path / "agents/a/memories").exists()
