"""A folder of new files: whole or not at all, and for its owner alone where that is asked for."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextasm.model import ContextasmError
from contextasm.workspace.exchange_files import write_folder


def failing() -> Iterator[tuple[str, bytes]]:
    """One file, and then a full disk."""
    yield "a.md", b"A"
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("empty", [True, False])
def test_a_failure_leaves_nothing(tmp_path: Path, empty: bool) -> None:
    target = tmp_path / "out"
    if empty:
        target.mkdir()
    with pytest.raises(ContextasmError, match="No space left"):
        write_folder(str(target), failing(), private=False)
    assert [*tmp_path.rglob("*")] == ([target] if empty else [])


def test_an_interrupted_one_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> Iterator[tuple[str, bytes]]:
        yield "a.md", b"A"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(str(tmp_path / "out"), interrupted(), private=False)
    assert [*tmp_path.rglob("*")] == []


@pytest.mark.parametrize(("private", "mode"), [(True, 0o700), (False, 0o755)])
def test_a_private_folder_is_for_its_owner_alone(tmp_path: Path, private: bool, mode: int) -> None:
    old = os.umask(0o022)
    try:
        write_folder(str(tmp_path / "out"), [("a.md", b"A")], private=private)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == mode
    assert (tmp_path / "out/a.md").read_bytes() == b"A"


def test_a_filled_folder_and_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for target, what in ((tmp_path, "files in it"), (tmp_path / "file", "can't be written")):
        with pytest.raises(ContextasmError, match=what):
            write_folder(str(target), [("a.md", b"A")], private=False)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
