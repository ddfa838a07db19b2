"""Pages on the command line: who they are for, which files they go to, and what does not go with them."""

from __future__ import annotations

import json
import os
import re
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


HOST_FILES = {
    "CLAUDE.md": "See @docs/style.md first.\n\nNot @docs/lost.md, though.\n\n<!-- a note -->\n"
    f"- {PRIVATE} {{private=true}}\n",
    "docs/style.md": "Short lines.\n",
    "docs/lost.md": "Nobody reads this.\n",
    "AGENTS.md": "Others read <this>.\n",
    ".git/HEAD": "",
}


def host_page(folder: Path, *words: str, home: str = "") -> str:
    """The text of the page of a host, without its style sheet."""
    result = inside(
        "explain",
        "--host",
        *words,
        "--html",
        folder / "page.html",
        cwd=folder / "p",
        env={"HOME": home} if home else {},
    )
    assert result.code == 0, result.err
    html = (folder / "page.html").read_text()
    return re.sub(r"<[^>]*>", "|", html.partition("</head>")[2])


def test_page_of_a_host_has_the_fate_of_every_line(tmp_path: Path) -> None:
    fill(tmp_path / "p", HOST_FILES, base={})
    text = host_page(tmp_path, "claude-code")
    for fate in ("1–4 shown", "5 taken out", "6 shown, private", "1 shown", "1 not loaded"):
        assert f"|{fate}|" in text
    assert "imported by CLAUDE.md:1" in text
    assert "Claude Code does not load @docs/lost.md as it is written" in text
    assert "Others read &lt;this&gt;." in text
    assert PRIVATE not in text
    assert PRIVATE in host_page(tmp_path, "claude-code", "--audience", "personal")


def test_page_of_a_host_has_what_it_cuts(tmp_path: Path) -> None:
    fill(
        tmp_path / "p",
        {"USER.md": "".join(f"Line {n:03} of what I am like.\n" for n in range(1, 301))},
        base={"SOUL.md": ""},
    )
    text = host_page(tmp_path, "openclaw", "--audience", "personal")
    head, lost, tail = re.findall(r"\|(\d+)–(\d+) (shown|lost)\|", text)
    assert [head[2], lost[2], tail[2]] == ["shown", "lost", "shown"]
    assert (head[0], int(head[1]) + 1, int(lost[1]) + 1, tail[1]) == ("1", int(lost[0]), int(tail[0]), "300")
    assert re.search(r"[\d,]+ tokens loaded, [\d,]+ lost", text)
    assert "Line 150" in text
    shared = host_page(tmp_path, "openclaw")
    assert "Line 150" not in shared, "a private layer of the profile names the file"
    assert f"{lost[0]}–{lost[1]} lost, private" in shared


def test_page_of_a_host_shows_the_own_files_of_a_person_to_nobody_else(tmp_path: Path) -> None:
    fill(tmp_path / "p", HOST_FILES, base={})
    home = fill(tmp_path / "home", {".claude/CLAUDE.md": "I like tea.\n"}, base={})
    for words, is_shown in (((), False), (("--audience", "personal"), True)):
        text = host_page(tmp_path, "claude-code", "--host-home", *words, home=str(home))
        assert "~/.claude/CLAUDE.md" in text
        assert ("I like tea." in text) is is_shown


def test_page_of_all_hosts_has_each_of_them(tmp_path: Path) -> None:
    fill(tmp_path / "p", {**HOST_FILES, "GEMINI.md": "For one.\n"}, base={})
    text = host_page(tmp_path, "all")
    assert "Claude Code: AGENTS.md" in text
    assert "Codex: AGENTS.md" in text


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("claude-code", "--html", "CLAUDE.md"), ("--html CLAUDE.md", "name another file")),
        (("claude-code", "--html", ".claude/rules/r.md"), (".claude/rules/r.md", "name another file")),
        (("claude-code", "--html", "docs/style.md"), ("docs/style.md", "name another file")),
        (("claude-code", "--html", "page.html", "--json"), ("--json", "leave one of them out")),
        (("claude-code", "--html", "page.html", "--budgets", "1k"), ("--budgets", "--host builds nothing")),
        (("claude-code", "--html", "-"), ("--html", "name a file")),
    ],
    ids=" ".join,
)
def test_page_of_a_host_is_refused(tmp_path: Path, words: tuple[str, ...], parts: tuple[str, ...]) -> None:
    folder = fill(tmp_path, {**HOST_FILES, ".claude/rules/r.md": "A rule.\n"}, base={})
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    refused(inside("explain", "--host", *words, cwd=folder), *parts)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_page_of_hosts_needs_a_folder_that_can_be_built(tmp_path: Path) -> None:
    for host, part in (("claude-code", "no workspace"), ("all", "no host has a file or folder here")):
        refused(inside("explain", "--host", host, "--html", "page.html", cwd=tmp_path), part)
