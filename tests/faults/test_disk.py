"""A crash or a fault at any step of a write: the old file or the new one, whole, and nothing beside it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from contextasm.model import ContextasmError
from contextasm.workspace.atomic import write
from tests.command import SMALL_TEXT, ctxasm, fill, start
from tests.faults.failing import FAULTS, Countdown, FakeDisk, failing_calls

OLD, NEW = b"old " * 1000, b"new " * 1500


def test_crash_at_any_step_leaves_the_old_or_the_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P1, P3: with all that was written, and with what was synced alone."""
    (tmp_path / "out.md").write_bytes(OLD)
    with monkeypatch.context() as patch:
        disk = FakeDisk(tmp_path, patch)
        write(tmp_path / "out.md", NEW)
    assert disk.contents_after_crash("out.md") == {OLD, NEW}
    assert disk.steps.index("write") < disk.steps.index("fsync") < disk.steps.index("replace")
    assert os.listdir(tmp_path) == ["out.md"]


@pytest.mark.parametrize("is_synced", [False, True], ids=["rename without sync", "in place"])
def test_fake_disk_shows_what_other_writers_lose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_synced: bool
) -> None:
    (tmp_path / "out.md").write_bytes(OLD)
    with monkeypatch.context() as patch:
        disk = FakeDisk(tmp_path, patch)
        handle = os.open(tmp_path / ("out.md" if is_synced else "new.tmp"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(handle, NEW)
        if is_synced:
            os.fsync(handle)
        else:
            os.replace(tmp_path / "new.tmp", tmp_path / "out.md")
        os.close(handle)
    assert disk.contents_after_crash("out.md") - {OLD, NEW}


@pytest.mark.parametrize("function", ["open", "write", "fchmod", "fsync", "replace", "stat"])
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_at_any_step_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, function: str
) -> None:
    """P1, P3: one error, or the new file where a fault does not matter."""
    (tmp_path / "out.md").write_bytes(OLD)
    with failing_calls(monkeypatch, function, Countdown(fault, 1, forever=False), tmp_path):
        try:
            write(tmp_path / "out.md", NEW)
            expected = NEW
        except (ContextasmError, MemoryError):
            expected = OLD
    assert (tmp_path / "out.md").read_bytes() == expected
    assert os.listdir(tmp_path) == ["out.md"]


def test_open_reader_keeps_the_old_text(tmp_path: Path) -> None:
    """P1: a write in place would change it under the reader."""
    (tmp_path / "out.md").write_bytes(OLD)
    with (tmp_path / "out.md").open("rb") as reader:
        first = reader.read(10)
        write(tmp_path / "out.md", NEW)
        assert first + reader.read() == OLD


def test_eight_builds_into_one_file_give_one_of_their_results(tmp_path: Path) -> None:
    """P2: nobody fails, and nothing is left beside it."""
    roots = [fill(tmp_path / str(n), {"agents/a/IDENTITY.md": f"I am {n}. " * 5000}) for n in range(8)]
    target = tmp_path / "out/out.md"
    target.parent.mkdir()
    builds = [start("build", "-q", "-w", root, "-o", target, stderr=subprocess.PIPE) for root in roots]
    errors = [build.communicate(timeout=60)[1] for build in builds]
    assert errors == [b""] * 8
    assert [build.returncode for build in builds] == [0] * 8
    results = {ctxasm("build", "-q", "-w", root).out for root in roots}
    assert target.read_text() in results
    assert os.listdir(target.parent) == ["out.md"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    """A disk of 64 KB; skipped where this user may mount none."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here; the tests above use a fake one")
    return folder


def test_full_disk_keeps_the_old_file(tmp_path: Path, small_disk: Path) -> None:
    """P1, P6: code 2, one line, nothing left beside the file."""
    root = fill(tmp_path / "w", {"agents/a/IDENTITY.md": "I am large.\n" * 20_000})
    try:
        (small_disk / "out.md").write_text(SMALL_TEXT)
        done = ctxasm("build", "-w", root, "-o", small_disk / "out.md")
        assert done.code == 2
        assert "No space left on device: free some space; the file keeps its old content" in done.err
        assert (small_disk / "out.md").read_text() == SMALL_TEXT
        assert os.listdir(small_disk) == ["out.md"]
    finally:
        subprocess.run(["umount", str(small_disk)], check=True)
