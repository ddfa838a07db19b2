"""Managed blocks: what is ours in somebody else's file, and that nothing else of it is touched."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import ContextasmError
from contextasm.text.markdown.managed_block import ManagedBlock, find_block, remove_block, with_block, without_block
from contextasm.workspace.editing.files import locked
from contextasm.workspace.folder import Folder
from tests.command import SMALL_TEXT, TIMEOUT, Result, fill, inside, refused, start

BEGIN, END = "<!-- ctxasm:begin", "<!-- ctxasm:end"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return fill(tmp_path / "ws", {})


def into(workspace: Path, *words: str | Path) -> Result:
    return inside("build", "-w", workspace, "-q", *words, cwd=workspace.parent)


def block(text: str) -> str:
    lines = text.splitlines(keepends=True)
    marks = [number for number, line in enumerate(lines) if line.startswith((BEGIN, END))]
    assert len(marks) == 2, text
    return "".join(lines[marks[0] + 1 : marks[1]])


def test_block_has_nothing_that_the_host_loads_next_to_it_and_one_that_is_cut_is_a_warning(tmp_path: Path) -> None:
    texts = {
        "SOUL.md": "Be kind.\n",
        "IDENTITY.md": "I am C.\n",
        "TOOLS.md": "Use the lamp.\n",
        "AGENTS.md": "Rules.\n",
    }
    root = fill(tmp_path, texts, base={})
    done = inside("build", "--into", "AGENTS.md", cwd=root)
    assert block((root / "AGENTS.md").read_text()) == "## Tools\nUse the lamp.\n"
    assert "OpenClaw loads these files: AGENTS.md, IDENTITY.md, SOUL.md" in done.err
    assert "cuts it" not in done.err
    assert inside("build", "--into", "AGENTS.md", "--check", cwd=root).code == 0
    (root / "TOOLS.md").write_text("Use the lamp.\n" * 2_000)
    assert (
        "AGENTS.md: OpenClaw cuts this file at 20,000 characters"
        in inside("build", "--into", "AGENTS.md", cwd=root).err
    )


def state(text: str) -> str:
    found = find_block(text)
    if not isinstance(found, ManagedBlock):
        return "broken" if found else "missing"
    return "edited" if found.edited else "fresh"


def test_block_does_not_repeat_what_the_file_says_around_it(tmp_path: Path) -> None:
    texts = {".git/HEAD": "", "AGENTS.md": "Be brief: @more.md\n", "more.md": "More.\n", "CLAUDE.md": "Claude.\n"}
    root = fill(tmp_path, texts, base={})
    (root / "GEMINI.md").symlink_to("AGENTS.md")
    for _ in range(2):
        assert inside("build", "--into", "AGENTS.md", cwd=root).code == 0
        text = (root / "AGENTS.md").read_text()
        assert [text.count(words) for words in ("Be brief", "More.", "Claude.")] == [1, 1, 1]
    assert inside("build", "--into", "AGENTS.md", "--check", cwd=root).code == 0
    # The text of another reader has all.
    inside("build", "--into", "CLAUDE.md", "-o", "all.md", cwd=root)
    assert "Be brief" in (root / "all.md").read_text()
    assert "Claude." in (root / "all.md").read_text()


def test_block_repeats_no_file_that_imports_its_file(tmp_path: Path) -> None:
    texts = {
        ".git/HEAD": "",
        "CLAUDE.md": "@docs/all.md @docs/style.md\n\nFor Claude.\n",
        "docs/all.md": "@../AGENTS.md\n\nFor all.\n",
        "docs/style.md": "Use tabs.\n",
    }
    root = fill(tmp_path, texts, base={})
    (root / "GEMINI.md").symlink_to("CLAUDE.md")
    for _ in range(2):  # AGENTS.md is new at first
        done = inside("build", "--into", "AGENTS.md", cwd=root)
        assert "left out, because these files import AGENTS.md: CLAUDE.md, GEMINI.md, docs/all.md" in done.err
        assert block((root / "AGENTS.md").read_text()) == "## Instructions\n### docs/style.md\nUse tabs.\n"
    assert inside("build", "--into", "AGENTS.md", "--check", cwd=root).code == 0
    inside("build", "--into", "GEMINI.md", "-o", "all.md", cwd=root)
    assert "For Claude." in (root / "all.md").read_text()


def test_equal_content_leaves_the_file_alone(workspace: Path) -> None:
    target = workspace.parent / "AGENTS.md"
    into(workspace, "--into", "AGENTS.md")
    os.utime(target, ns=(1, 1))
    result = inside("build", "-w", workspace, "--into", "AGENTS.md", cwd=workspace.parent)
    assert "AGENTS.md: unchanged" in result.err
    assert target.stat().st_mtime_ns == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(("", ""), "fresh", id="as written"),
        pytest.param(("\n", "\r\n"), "fresh", id="other line ends"),
        pytest.param(("body", "Body"), "edited", id="content"),
        pytest.param((" made by", "0 made by"), "edited", id="digest"),
        pytest.param((BEGIN, f"text above\n\n{BEGIN}"), "fresh", id="text above"),
        pytest.param((BEGIN, f"\ufeff{BEGIN}"), "fresh", id="byte order mark"),
        pytest.param((BEGIN, f" {BEGIN}"), "broken", id="indented marker"),
        pytest.param(("ctxasm", "other"), "missing", id="another tool's markers"),
    ],
)
def test_state_of_a_block(change: tuple[str, str], expected: str) -> None:
    assert state(with_block("", "body\n", "f").replace(*change)) == expected


# --- The lock of the workspace ---------------------------------------------------------------------------------------


def waits_for_a_lock(process: int) -> bool:
    """Whether a process waits for the lock of a file; true where the system does not tell."""
    locks = Path("/proc/locks")
    return not locks.exists() or any(
        "->" in line and str(process) in line.split() for line in locks.read_text().splitlines()
    )


def test_text_that_is_written_while_a_block_waits_stays(workspace: Path) -> None:
    target = workspace.parent / "AGENTS.md"
    target.write_text("# Mine\n")
    with locked(Folder(workspace)):
        process = start("build", "-w", workspace, "-q", "--into", target)
        end = time.monotonic() + TIMEOUT
        while not waits_for_a_lock(process.pid):
            assert time.monotonic() < end
            time.sleep(0.01)
        target.write_text("# Mine\nand more\n")
    assert process.wait(TIMEOUT) == 0
    assert target.read_text().startswith("# Mine\nand more\n\n<!-- ctxasm:begin ")
    assert block(target.read_text()) == SMALL_TEXT


def test_whole_file_needs_no_lock(workspace: Path) -> None:
    with locked(Folder(workspace)):
        assert into(workspace, "-o", "OUT.md").code == 0
    assert (workspace.parent / "OUT.md").read_text() == SMALL_TEXT


def test_lock_file_is_nothing_for_git(workspace: Path) -> None:
    refused(into(workspace, "--into", "no/AGENTS.md"), "no/AGENTS.md")
    assert not (workspace / ".ctxasm").exists()
    assert into(workspace, "--into", "AGENTS.md").code == 0
    assert (workspace / ".ctxasm/.gitignore").read_text() == "*\n"


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_workspace_that_is_read_only_needs_no_lock(workspace: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(_root: Path) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("contextasm.workspace.editing.files.make_state_folder", refuse)
    assert into(workspace, "--into", "AGENTS.md") == (0, "", "")
    assert block((workspace.parent / "AGENTS.md").read_text()) == SMALL_TEXT
    refused(inside("log", "-w", workspace, "text"), ".ctxasm/lock", "can't be made", "make the workspace writable")


texts = st.lists(st.sampled_from(("line", "", " ", "é", "\udcff", "<!-- other -->", "\x0c", "\u2028"))).map("\n".join)


@given(before=texts, after=texts, eol=st.sampled_from(("\n", "\r\n")), contents=st.tuples(texts, texts))
def test_text_around_a_block_never_changes(before: str, after: str, eol: str, contents: tuple[str, str]) -> None:
    before, after = (f"{text}\n".replace("\n", eol) for text in (before, after))
    first = with_block(before, contents[0], "f")
    assert first.startswith(before)
    second = with_block(first + after, contents[1], "f")
    assert second.startswith(before)
    assert second.endswith(f"-->{eol}{after}")
    assert state(second) == "fresh"
    assert with_block(second, contents[1], "f") == second


ends = st.lists(st.sampled_from(("line", "\n", "\r\n", "\r", " ", "\ufeff", "\udcff", "<!-- other -->", "\x0c"))).map(
    "".join
)


@given(text=st.none() | ends, contents=st.lists(texts | st.just(f"{BEGIN} x -->\n"), min_size=1, max_size=3))
def test_law_a_file_has_its_old_bytes_once_its_block_is_taken_out(text: str | None, contents: list[str]) -> None:
    new = text
    for content in contents:
        new = with_block(new, content, "f")
    assert new is not None
    assert remove_block(new, "f") == text
    assert text is None or remove_block(text, "f") == text


@given(before=ends, after=ends)
def test_law_what_a_person_wrote_around_a_block_stays_without_it(before: str, after: str) -> None:
    text = with_block(before, "body", "f")
    left = remove_block(text + ("" if text.endswith("\n") else "\n") + after, "f") or ""
    assert left.startswith(before)
    assert left.endswith(after)
    assert not left[len(before) : len(left) - len(after)].strip("\r\n")


words = st.sampled_from(("mine", " mine", "\tmine ", "-->", "é\udcff", "<!-- other -->", "\rmine"))


@given(before=ends, added=st.tuples(words, ends).map("".join), contents=st.tuples(texts, texts), blanks=st.booleans())
def test_law_words_on_the_line_of_the_end_marker_stay(
    before: str, added: str, contents: tuple[str, str], blanks: bool
) -> None:
    first = with_block(before, contents[0], "f").removesuffix("\n").removesuffix("\r") + "  " * blanks + added
    second = with_block(first, contents[1], "f")
    assert second.startswith(before)
    assert second.endswith(f"\n{'  ' * blanks}{added}")
    assert with_block(second, contents[1], "f") == second
    for text in (first, second):
        shown = without_block(text)[0]
        assert shown.endswith(added)
        left = remove_block(text, "f") or ""
        assert left.startswith(before)
        assert left.endswith(added)


def test_words_after_the_begin_marker_are_an_edit_of_the_block() -> None:
    assert state(with_block("", "body\n", "f").replace("marker -->", "marker --> mine")) == "edited"


DAMAGE = st.tuples(
    st.sampled_from(("delete", "double", "insert", "cut", "delete line", "double line", "swap")),
    st.booleans(),
    st.integers(0, 100),
)
"""A change of a marker: its kind, whether it is at the end marker, and the place on the marker's line."""


def damaged(lines: list[str], kind: str, number: int, place: int) -> list[str]:
    line = lines[number]
    at = place % len(line)
    changed = {
        "delete": [line[:at] + line[at + 1 :]],
        "double": [line[:at] + line[at] + line[at:]],
        "insert": [f"{line[:at]} my words{line[at:]}"],
        "cut": [f"{line[:at]} my words\n"],
        "delete line": [],
        "double line": [line, line],
    }
    if kind in changed:
        return [*lines[:number], *changed[kind], *lines[number + 1 :]]
    other = place % len(lines)
    lines = lines.copy()
    lines[number], lines[other] = lines[other], lines[number]
    return lines


@given(changes=st.lists(DAMAGE, min_size=1, max_size=2), content=st.sampled_from(("old\n", "new\n", "")))
def test_law_damaged_markers_never_cost_a_word_of_a_person(changes: list[tuple[str, bool, int]], content: str) -> None:
    written = with_block("first\nabove\n", "old\n", "f")
    lines = f"{written}below\nlast\n".splitlines(keepends=True)
    for kind, at_end, place in changes:
        marks = [number for number, line in enumerate(lines) if (END if at_end else BEGIN) in line]
        if marks:
            lines = damaged(lines, kind, marks[0], place)
    text = "".join(lines)
    for is_kept in (True, False):
        try:
            after = with_block(text, content, "f") if is_kept else remove_block(text, "f") or ""
        except ContextasmError:
            continue
        for words in ("first", "above", "below", "last", "my words"):
            assert after.count(words) >= text.count(words), text
