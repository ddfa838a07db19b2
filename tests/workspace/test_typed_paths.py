"""Paths as people type them: whatever the spelling and the current folder, they mean the file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.workspace.folder import Folder
from tests.command import fill, inside, refused

DAY = {"ctxasm.yaml": "date: 2025-03-14\n"}
KNOWLEDGE = "agents/a/KNOWLEDGE.md"

FOLDERS = (".", "agents", "agents/a", "agents/a/daily", "..")
"""Current folders, relative to the workspace."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace below another folder, with a link to it beside it; its name has the characters of a pattern."""
    folder = fill(tmp_path / "in [1]", {**DAY, KNOWLEDGE: "Known.\n", "agents/a/daily/2025-03-14.md": "Did.\n"})
    (tmp_path / "link").symlink_to("in [1]")
    return folder


def spellings(root: Path, path: str, folder: str) -> Sequence[str]:
    """A path of the workspace as it may be typed in one of its folders."""
    relative = os.path.relpath(root / path, root / folder)
    return (
        path,
        relative,
        f"./{relative}",
        relative.replace("/", "//"),
        f"{root / path}",
        f"{root}//{path}",
        f"{root.parent}/link/{path}",
        f"{root}/agents/../{path}",
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_spelling_of_a_path_means_the_file(root: Path, folder: str) -> None:
    with chdir(root / folder):
        for typed in spellings(root, KNOWLEDGE, folder):
            assert Folder(root).relative(typed) == KNOWLEDGE, typed


@pytest.mark.parametrize("folder", FOLDERS)
def test_line_of_a_file_is_found_by_every_spelling(root: Path, folder: str) -> None:
    for typed in spellings(root, KNOWLEDGE, folder):
        done = inside("explain", "-w", root, "--line", f"{typed}:1", cwd=root / folder)
        assert done.out == "in L7 included: it fits\n", typed
        row = inside("explain", "-w", root, "--id", typed, cwd=root / folder).out.splitlines()[-1]
        assert row.split()[:2] == ["L7", "included"], typed


@pytest.mark.parametrize("folder", FOLDERS)
def test_exclusion_leaves_out_what_every_spelling_means(root: Path, folder: str) -> None:
    relative = os.path.relpath(root / "agents/a", root / folder)
    typed_patterns = (
        f"./{relative}/KNOW*",
        f"{root}/agents/*/KNOWLEDGE.md",
        f"./{relative}//K*.md",
        f"{root}/agents/a",
    )
    for typed in (*spellings(root, KNOWLEDGE, folder), *typed_patterns):
        done = inside("build", "-q", "-w", root, "--exclude", typed, cwd=root / folder)
        assert "Known." not in done.out, typed


def test_id_is_no_path_wherever_it_is_typed(root: Path) -> None:
    fill(root, {"agents/a/memories/m.md": "- one {id=m1}\n- two {id=m2}\n"}, base={})
    done = inside("build", "-q", "--exclude", "m1", cwd=root / "agents/a/memories")
    assert "two" in done.out
    assert "one" not in done.out


def test_open_file_is_found_by_every_spelling(root: Path) -> None:
    for typed in spellings(root, KNOWLEDGE, "agents"):
        words = ("build", "-q", "-w", root, "-f", "json", "--open", typed)
        assert f'"open": [\n      "{KNOWLEDGE}"\n    ]' in inside(*words, cwd=root / "agents").out


def test_check_shows_the_findings_of_every_spelling(root: Path) -> None:
    fill(root, {KNOWLEDGE: "[x](GONE.md)\n"}, base={})
    for typed in (*spellings(root, KNOWLEDGE, "agents/a"), str(root / "agents"), "..", "."):
        done = inside("check", "-w", root, typed, cwd=root / "agents/a")
        assert done.out.startswith(f"{KNOWLEDGE}:1: "), typed


def test_memory_goes_into_the_file_of_every_spelling(root: Path) -> None:
    fill(root, {"agents/a/memories/old.md": "- [fact] first\n"}, base={})
    path = "agents/a/memories/new.md"
    for number, typed in enumerate(spellings(root, path, "agents/a")):
        words = ("remember", "-w", root, "-a", "a", "--file", typed, f"entry number {number} of its own", "--force")
        assert f" {path}:" in inside(*words, cwd=root / "agents/a").out, typed


def test_line_of_a_record_is_found_by_every_spelling(root: Path) -> None:
    assert inside("build", "-q", "-w", root, "--record").code == 0
    [record] = (root / ".ctxasm" / "records").iterdir()
    for typed in spellings(root, KNOWLEDGE, "agents"):
        words = ("explain", record, "--line", f"{typed}:1")
        assert inside(*words, cwd=root / "agents").out == "in L7 included: it fits\n", typed


def test_line_is_found_through_a_linked_folder(root: Path) -> None:
    (root / "alias").symlink_to("agents/a")
    assert inside("explain", "--line", "alias/KNOWLEDGE.md:1", cwd=root).out == "in L7 included: it fits\n"


def test_path_outside_stays_as_typed(root: Path) -> None:
    refused(inside("explain", "--line", "../link/../x.md:1", cwd=root), "../link/../x.md: is outside the workspace")
    assert Folder(root).relative("/etc/passwd") == "/etc/passwd"


steps = st.lists(st.sampled_from((".", "..", "agents", "a", "daily", "KNOWLEDGE.md", "")), min_size=1, max_size=7)


@given(steps, st.sampled_from(FOLDERS[:-1]))
def test_law_typed_path_is_that_of_the_file_the_system_opens(parts: list[str], folder: str) -> None:
    with TemporaryDirectory() as name:
        root = Path(os.path.realpath(name)) / "in"
        fill(root, {**DAY, KNOWLEDGE: "Known.\n", "agents/a/daily/2025-03-14.md": "Did.\n"})
        typed = "/".join(parts)
        with chdir(root / folder):
            path = Folder(root).relative(typed)
            if os.path.lexists(typed) and Path(os.path.realpath(typed)).is_relative_to(root):
                assert os.path.realpath(root / path) == os.path.realpath(typed)
                assert {"", ".", ".."} & set(path.split("/")) <= {""}
                assert not path.startswith("/") or typed.startswith("/")
