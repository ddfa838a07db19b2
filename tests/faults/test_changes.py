"""Files that change between the list and the read, or while they are read; clocks that go back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from contextasm.model import MAX_FILE, Document, Problem
from contextasm.workspace.folder import Folder
from tests.command import fill, inside

LOG = "agents/a/daily/2025-03-14.md"


def becomes(path: Path, make: Callable[[Path], None]) -> None:
    path.unlink()
    make(path)


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "gone": (Path.unlink, ""),
    "pipe": (lambda path: becomes(path, os.mkfifo), "is a pipe, not a file"),
    "folder": (lambda path: becomes(path, Path.mkdir), "is a folder, not a file"),
    "link out": (lambda path: becomes(path, lambda there: there.symlink_to("/etc/passwd")), "leads out"),
    "link to itself": (lambda path: becomes(path, lambda there: there.symlink_to(there)), "symbolic links"),
    "grown": (lambda path: os.truncate(path, 1 << 30), "is too large"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("moment", ["lstat", "open"], ids=["before the read", "between the look and the open"])
def test_file_that_changes_during_a_build_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, moment: str
) -> None:
    """P13, P24: no wait and no other text; a file that has gone is as one that never was."""
    fill(tmp_path, {LOG: "Today.\n"})
    make, part = CHANGES[change]
    folder, real = Folder(tmp_path), getattr(os, moment)
    done: list[str] = []
    assert folder.list("agents/a/daily/*.md") == [LOG]

    def call(path: str, *arguments: object, **options: object) -> object:
        if str(path) == f"{folder.root}/{LOG}" and not done:
            done.append(path)
            make(Path(path))
        return real(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, moment, call)
        read = folder.read(LOG)
    assert done
    if change == "gone":
        assert read is None
        return
    assert isinstance(read, Problem)
    # Between the look and the open, no link is followed at all.
    assert (part in read.message) or (moment == "open" and "link" in change and "symbolic links" in read.message)


def test_file_that_grows_while_it_is_read_is_read_up_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P15, P24: a log that somebody appends to never ends."""
    from contextasm.workspace.reading import file_bytes

    (tmp_path / "f").write_bytes(b"x")
    sizes: list[int] = []

    def endless(_handle: int, count: int) -> bytes:
        sizes.append(count)
        return bytes(count)

    with monkeypatch.context() as patch:
        patch.setattr(os, "read", endless)
        failure = file_bytes(str(tmp_path / "f"), limit=1000)
    assert getattr(failure, "code", "") == "too-large"
    assert sum(sizes) == 1001
    assert MAX_FILE > 1001


def test_clock_that_goes_back_between_two_builds_changes_nothing(
    tmp_path: Path,
) -> None:
    """P24: files from the future are read as they are, and again after an edit in the past."""
    fill(tmp_path, {LOG: "First.\n"})
    os.utime(tmp_path / LOG, (2**32, 2**32))
    first = inside("build", "--date", "2025-03-14", cwd=tmp_path)
    (tmp_path / LOG).write_text("Other.\n")
    os.utime(tmp_path / LOG, (0, 0))
    second = inside("build", "--date", "2025-03-14", cwd=tmp_path)
    assert "First." in first.out
    assert second.out == first.out.replace("First.", "Other.")


def test_agents_that_is_a_file_is_named(tmp_path: Path) -> None:
    """P29: whoever is asked for."""
    (tmp_path / "agents").write_text("")
    (tmp_path / "ctxasm.yaml").write_text("")
    for words in ((), ("-a", "a")):
        done = inside("build", *words, cwd=tmp_path)
        assert (done.code, done.out) == (2, "")
        assert "agents is a file, not a folder" in done.err


def test_folders_that_may_have_such_names_are_no_problem(tmp_path: Path) -> None:
    (fill(tmp_path, {"docs/x": "X"}) / "lib/chart.js").mkdir(parents=True)
    folder = Folder(tmp_path)
    assert folder.list("**/*.js") == []
    (tmp_path / "docs/y.md").mkdir()
    assert folder.list("docs/*") == ["docs/x"]


@pytest.mark.parametrize("first", ["list", "read"])
def test_file_is_a_document_whatever_was_listed_below_it(tmp_path: Path, first: str) -> None:
    folder = Folder(fill(tmp_path, {"docs": "Text.\n"}))
    if first == "list":
        assert folder.list("docs/*.md") == ["docs/"]
    assert isinstance(folder.read("docs"), Document)
