"""The workspace on disk: found, listed and read. Nothing outside it is opened, and nothing in it is changed.

A file that can't be read is a `Problem`; who asked for it decides how bad that is.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from contextasm.model import ContextasmError, Document, FileStamp, Problem
from contextasm.text.decode import decode_document
from contextasm.text.glob import list_matching

MARKS = ("ctxasm.yaml", "agents")
"""What makes a folder a workspace."""

_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))


def find_workspace(start: Path) -> Path:
    """The nearest folder, upwards from `start`, that is a workspace. Raises `ContextasmError` if there is none."""
    for folder in (start, *start.parents):
        if any((folder / mark).exists() for mark in MARKS):
            return folder
    hint = "name one with -w DIR, or make one with `ctxasm init`"
    raise ContextasmError(str(start), "no workspace here or above (no ctxasm.yaml, no agents/)", hint)


class Folder:
    """A workspace that is a folder (`model.Workspace`)."""

    def __init__(self, root: Path) -> None:
        """Raise `ContextasmError` where `root` is no folder."""
        if not root.is_dir():
            what = "is no folder" if root.exists() else "does not exist"
            raise ContextasmError(str(root), what, "name a workspace with -w DIR, or make one with `ctxasm init`")
        self.root = os.path.realpath(root)
        self._inside: dict[str, bool] = {}

    def list(self, pattern: str) -> Sequence[str]:
        """The files that match, in code point order; a folder on the way that leads out is listed in their stead."""
        return list_matching(self, pattern)

    def exists(self, path: str) -> bool:
        """Whether there is anything of this name, be it a link that leads nowhere."""
        return os.path.lexists(self._full(path))

    def entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """What a folder holds, hidden names aside; nothing where there is no such folder."""
        try:
            with os.scandir(self._full(folder)) as entries:
                yield from (entry for entry in entries if not entry.name.startswith("."))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise ContextasmError(folder, f"can't be listed: {error.strerror}", "make it readable") from error

    def read(self, path: str) -> Document | Problem | None:
        """The document; a problem where it can't be read; None where there is no such file."""
        if {"", ".", ".."} & set(path.split("/")):
            return Problem("outside-workspace", path, 0, "is no path inside the workspace")
        try:
            if not self.holds(os.path.dirname(path)):
                return Problem("outside-workspace", path, 0, "leads out of the workspace through a link")
            data = self._bytes(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return Problem("unreadable", path, 0, f"can't be read: {error.strerror}")
        return data if isinstance(data, Problem) else decode_document(path, data)

    def stamp(self, path: str) -> FileStamp | None:
        """What a file looks like from outside; None for what is no regular file of the workspace, and for links."""
        try:
            if not self.holds(os.path.dirname(path)):
                return None
            found = os.lstat(self._full(path))
        except OSError:
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return FileStamp(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)

    def relative(self, path: str) -> str:
        """A path as it was typed, relative to the workspace or to the current folder, as one of the workspace."""
        full = os.path.join(os.path.realpath(os.path.dirname(path) or "."), os.path.basename(path))
        if self._holds(full) and not os.path.lexists(self._full(path)):
            return os.path.relpath(full, self.root)
        return path

    def _bytes(self, path: str) -> bytes | Problem:
        """The bytes of a regular file. Never waits: a pipe is opened without blocking, and closed again."""
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(self._full(path), flags)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            target = os.path.realpath(self._full(path))
            if not self._holds(target):
                return Problem("outside-workspace", path, 0, "is a link that leads out of the workspace")
            handle = os.open(target, flags)
        try:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                kind = next((words for test, words in _KINDS if test(mode)), "a device")
                return Problem("not-a-file", path, 0, f"is {kind}, not a file")
            with open(handle, "rb", buffering=0, closefd=False) as file:
                return file.readall()
        finally:
            os.close(handle)

    def holds(self, folder: str) -> bool:
        """Whether a folder, links followed, lies in the workspace."""
        if folder not in self._inside:
            self._inside[folder] = self._holds(os.path.realpath(self._full(folder)))
        return self._inside[folder]

    def _holds(self, real: str) -> bool:
        """Whether a path without links lies in the workspace."""
        return real == self.root or real.startswith(self.root.rstrip("/") + "/")

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}"
