"""Pages: files of the workspace that are written to, and the lock under which that is done.

Every byte that is not meant to change is written as it was read. Nothing outside the workspace is touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from contextasm.model import ContextasmError, Document
from contextasm.workspace.atomic import write
from contextasm.workspace.folder import Folder

LOCK = ".ctxasm/lock"

_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))


class EditableFile(NamedTuple):
    """The bytes of a file and how they are to be read."""

    path: str
    data: bytes
    """Empty for a file that is not there yet."""

    @property
    def mark(self) -> bytes:
        """The byte order mark that it begins with."""
        return next((mark for mark, _ in _MARKS if self.data.startswith(mark)), b"")

    @property
    def encoding(self) -> str:
        """What its text is encoded in."""
        return next((name for mark, name in _MARKS if self.data.startswith(mark)), "utf-8")

    @property
    def text(self) -> str:
        """Its text, line ends as they are. Raises `UnicodeDecodeError`, though never for a `Document` that was read."""
        return self.data[len(self.mark) :].decode(self.encoding)

    def encoded(self, text: str) -> bytes:
        """A text of LF lines as bytes of this file, with the line ends of its first line."""
        first, end, _ = self.text.partition("\n")
        if end and first.endswith("\r"):
            text = text.replace("\n", "\r\n")
        return text.encode(self.encoding)


@contextmanager
def locked(workspace: Folder) -> Iterator[None]:
    """Hold the workspace's lock, waiting for it. The system gives it back however the process ends."""
    import fcntl

    path = writable_path(workspace, LOCK)
    handle = _opened(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        while not _is_there(path, handle):  # its folder may be deleted at any time, while one waits too
            os.close(handle)
            handle = _opened(path)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    """The lock's file, made if need be."""
    try:
        path.parent.mkdir(exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        hint = "make the workspace a folder that can be written to"
        raise ContextasmError(str(path), f"can't be made: {error.strerror}", hint) from error


def _is_there(path: Path, handle: int) -> bool:
    """Whether an open file is still the one of this name."""
    with suppress(OSError):
        return os.path.samestat(path.stat(), os.fstat(handle))
    return False


def writable_path(workspace: Folder, path: str) -> Path:
    """Where a path of the workspace lies. Raises `ContextasmError` where links lead out of it."""
    full = Path(workspace.root, path)
    real = os.path.realpath(full)
    if not real.startswith(workspace.root.rstrip("/") + "/"):
        raise ContextasmError(path, f"leads out of the workspace, to {real}", "take the link away")
    return full


def open_file(workspace: Folder, path: str) -> EditableFile:
    """A file as it is, empty where there is none. Raises `ContextasmError` where it can't be read as text."""
    writable_path(workspace, path)
    read = workspace.read(path)
    if read is None:
        return EditableFile(path, b"")
    if isinstance(read, Document):
        return EditableFile(path, read.data)
    raise ContextasmError(path, read.message, "put that right, and nothing has been written")


def save_file(workspace: Folder, path: str, data: bytes) -> None:
    """Make this the content of a file, its folder too if need be. To be called under the lock."""
    full = writable_path(workspace, path)
    try:
        full.parent.mkdir(parents=True, exist_ok=True)
        for left in os.listdir(full.parent):
            if left.startswith(f".{full.name}.") and left.endswith(".tmp"):
                (full.parent / left).unlink()  # of a process that was killed: the lock is ours
    except OSError as error:
        hint = "make its folder one that can be written to"
        raise ContextasmError(path, f"can't be written: {error.strerror}", hint) from error
    write(full, data)


def append_log(workspace: Folder, path: str, text: str) -> bool:
    """Put a text, LF lines, at the end of a log; whether the log had to be made. Raises `ContextasmError`."""
    with locked(workspace):
        old = open_file(workspace, path)
        between = _between(old.text)
        save_file(workspace, path, old.data + old.encoded(f"{between}{text}\n"))
    return not old.data


def _between(old: str) -> str:
    """The line ends that are missing up to a blank line."""
    if not old.strip():
        return "" if not old or old.endswith("\n") else "\n"
    lines = old.replace("\r\n", "\n").split("\n")
    if lines[-1].strip():
        return "\n\n"
    return "\n" if lines[-1] or lines[-2].strip() else ""
