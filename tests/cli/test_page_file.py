"""Pages on the command line: who they are for, which files they go to, and what does not go with them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.command import LUNA, fill, inside, refused

PRIVATE = "The locker opens with the spare key"
FILES = {
    "ctxasm.yaml": "date: 2025-03-14\n",
    "agents/a/KNOWLEDGE.md": f"# Notes\n\nPublic notes.\n\n- {PRIVATE} {{private=true}}\n",
    "agents/a/memories/m.md": f"- [fact] An open fact\n- [fact] {PRIVATE} {{private=true id=m7}}\n",
    "agents/b/IDENTITY.md": "I am b.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with private lines; the current folder is beside it."""
    fill(tmp_path / "ws", FILES)
    return tmp_path


def record(folder: Path, *words: str) -> str:
    """Record a build; the path of its record."""
    err = inside("build", "-w", "ws", "-a", "a", *words, "--record", "-o", os.devnull, cwd=folder).err
    return next(line.removesuffix(": recorded") for line in err.split("\n") if line.endswith(": recorded"))


@pytest.mark.parametrize("words", [("explain",), ("diff", "@12")], ids=["explain", "diff"])
def test_pages_are_shared(folder: Path, words: tuple[str, ...]) -> None:
    command, *others = words
    page = folder / "page.html"
    at = (command, *others, "-w", "ws", "-a", "a", "--html", "page.html")
    assert inside(*at, cwd=folder).code == 0
    assert PRIVATE not in page.read_text()
    assert "shared: private parts are left out" in page.read_text()
    assert inside(*at, "--audience", "personal", cwd=folder).code == 0
    assert PRIVATE in page.read_text()
    assert "personal: it may hold private parts" in page.read_text()


def test_record_that_is_personal_needs_the_word(folder: Path) -> None:
    personal, shared = record(folder), record(folder, "--audience", "shared")
    for words in (("explain", personal), ("diff", personal, "@12")):
        refused(inside(*words, "--html", "page.html", cwd=folder), personal, "--audience personal")
        assert not (folder / "page.html").exists()
        assert inside(*words, "--audience", "personal", "--html", "page.html", cwd=folder).code == 0
        assert PRIVATE in (folder / "page.html").read_text()
        (folder / "page.html").unlink()
    for words in (("explain", shared), ("diff", shared, "@12")):
        assert inside(*words, "--html", "page.html", cwd=folder).code == 0
        assert PRIVATE not in (folder / "page.html").read_text()


def test_record_that_changed_gives_no_page(folder: Path) -> None:
    shared = record(folder, "--audience", "shared")
    fill(folder / "ws", {"agents/a/IDENTITY.md": "I am another.\n"}, base={})
    result = inside("explain", shared, "--html", "page.html", cwd=folder)
    assert result.code == 1
    assert "agents/a/IDENTITY.md: changed" in result.err
    assert not (folder / "page.html").exists()


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("ws/agents/a/KNOWLEDGE.md", id="source"),
        pytest.param("ws/agents/b/IDENTITY.md", id="other agent"),
        pytest.param("ws/agents/a/memories/new.md", id="new memory"),
        pytest.param("ws/ctxasm.yaml", id="settings"),
        pytest.param("link.html", id="link"),
        pytest.param("RECORD", id="record"),
        pytest.param("nowhere/page.html", id="no folder"),
        pytest.param("ws", id="folder"),
        pytest.param("", id="empty"),
        pytest.param("-", id="standard output"),
    ],
)
def test_files_that_a_page_does_not_replace(folder: Path, path: str) -> None:
    shared = record(folder, "--audience", "shared")
    (folder / "link.html").symlink_to(folder / "ws" / "agents" / "a" / "IDENTITY.md")
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    target = path.replace("RECORD", shared)
    for words in (("explain", "-w", "ws", "-a", "a"), ("explain", shared), ("diff", shared)):
        if path == "RECORD" and shared not in words:
            continue
        result = inside(*words, "--html", target, cwd=folder)
        assert (result.code, result.out) == (2, ""), words
        refused(result)
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_budgets_are_those_of_the_page(tmp_path: Path) -> None:
    inside("explain", *LUNA, "--html", tmp_path / "page.html", "--budgets", "4k,8k,4000", "--audience", "personal")
    plan = json.loads(inside("plan", *LUNA, "--budgets", "4k,8k", "--json").out)
    html = (tmp_path / "page.html").read_text()
    for budget in plan["budgets"]:
        assert html.count(f">{budget['tokens']:,} of {budget['budget']:,} tokens</span>") == 1
