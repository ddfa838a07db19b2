"""A crash or a fault at any step of a write: the old file or the new one, whole, and nothing beside it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from shutil import copytree

import pytest

from contextasm.model import ContextasmError
from contextasm.workspace.atomic import write
from tests.command import SMALL_TEXT, Result, ctxasm, fill, inside, start
from tests.faults.failing import FAULTS, Countdown, FakeDisk, failing_calls
from tests.retrieval.memory_index.test_memory_index_races import in_another_process

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


def killed_before_rename(call: Callable[[], Result], number: int) -> bool:
    """Make a call in another process that is killed before it renames its n-th file; whether it came so far."""
    real, left = os.replace, iter(range(1, number))

    def replace(*paths: str) -> None:
        if next(left, None) is None:
            os._exit(9)
        real(*paths)

    def run() -> None:
        os.replace = replace  # type: ignore[assignment]
        assert call().code == 0

    status = os.waitstatus_to_exitcode(os.waitpid(in_another_process(run), 0)[1])
    assert status in {0, 9}
    return status == 9


def texts(folder: Path) -> Mapping[str, str]:
    """The Markdown files below a folder, and those that a killed process left of them."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.md*") if path.is_file()}


EXPORTED = "- [fact] Tea is {} {{id=tea}}\n- [fact] The bell rings at {} {{id=bell}}\n- [note] Mine {{id=mine}}\n"


def test_killed_export_leaves_each_page_old_or_new_and_the_next_one_completes_it(tmp_path: Path) -> None:
    """P1, P3: at each rename; what another program wrote is as it was."""
    start_of = {"pages/mine.md": "---\nname: x\nid: mine\n---\nTheirs\n", "pages/MEMORY.md": "# Theirs\n"}
    root = fill(tmp_path / "w", {"agents/a/memories/m.md": EXPORTED.format("green", "six"), **start_of})
    words = ("-w", root, "-a", "a", "-f", "claude-code")
    assert inside("export", *words, "-o", root / "pages").code == 0
    old = texts(root / "pages")
    fill(root, {"agents/a/memories/m.md": EXPORTED.format("black", "seven") + "- New {id=new}\n"}, base={})
    copytree(root / "pages", root / "whole")
    assert inside("export", *words, "-o", root / "whole").code == 0
    new = texts(root / "whole")
    assert (new["mine.md"], new.keys() - old.keys()) == (start_of["pages/mine.md"], {"new.md"})
    for number in count(1):
        copytree(root / "pages", folder := root / f"pages{number}")
        if not killed_before_rename(partial(inside, "export", *words, "-o", folder), number):
            break
        found = {name: text for name, text in texts(folder).items() if not name.endswith(".tmp")}
        assert all(text in {old.get(name), new[name]} for name, text in found.items())
        assert inside("export", *words, "-o", folder).code == 0
        assert texts(folder) == new
    assert number == 5  # three pages and the index


def test_killed_import_loses_nothing_and_the_next_one_completes_it(tmp_path: Path) -> None:
    """P1, P3: at each rename, with the receipt as the last one."""
    lines = "".join(json.dumps({"id": f"x{n}", "text": f"Number {n} is told"}) + "\n" for n in range(3))
    files = {"agents/a/memories/m.md": "- [fact] Old {id=x0}\n", "lines.jsonl": lines}
    receipts = []
    for number in count(1):
        root = fill(tmp_path / str(number), files)

        def run(root: Path = root) -> Result:
            return inside("import", "jsonl", "lines.jsonl", "-a", "a", "--receipt", "out.json", cwd=root)

        if not killed_before_rename(run, number):
            break
        assert (root / "agents/a/memories/m.md").read_text() == files["agents/a/memories/m.md"]
        assert not (root / "out.json").exists()
        assert run().code == 0
        receipts.append([each["outcome"] for each in json.loads((root / "out.json").read_text())["memories"]])
        memories = (root / "agents/a/memories/imported-jsonl.md").read_text()
        assert memories == "- [note] Number 1 is told {id=x1}\n- [note] Number 2 is told {id=x2}\n"
        assert sorted(os.listdir(root / "agents/a/memories")) == ["imported-jsonl.md", "m.md"]
    assert receipts == [["differs", "added", "added"], ["differs", "left", "left"]]
