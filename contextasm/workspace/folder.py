"""The workspace on disk: find, list and read it. Nothing outside it is opened, and nothing in it is changed.

A file that can't be read is a `Problem`; the caller decides how bad that is.
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
from contextasm.workspace.typed_paths import workspace_path

MARKS = ("ctxasm.yaml", "agents")
"""Names that make a folder a workspace."""

_FILE_TYPES = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))


def find_workspace(start: Path) -> Path:
    """The nearest folder, upwards from `start`, that is a workspace. Raises `ContextasmError` if there is none."""
    for folder in (start, *start.parents):
        if any((folder / mark).exists() for mark in MARKS):
            return folder
    hint = "name one with -w DIR, or make one with `ctxasm init`"
    raise ContextasmError(str(start), "no workspace here or above (no ctxasm.yaml, no agents/)", hint)


class Folder:
    """Workspace that is a folder on disk (`model.StampedWorkspace`)."""

    def __init__(self, root: Path) -> None:
        """Open the folder `root`. Raises `ContextasmError` where it is no folder."""
        if not root.is_dir():
            what = "is no folder" if root.exists() else "does not exist"
            raise ContextasmError(str(root), what, "name a workspace with -w DIR, or make one with `ctxasm init`")
        self.root = os.path.realpath(root)
        self._inside: dict[str, bool] = {}

    def list(self, pattern: str) -> Sequence[str]:
        """Paths of the matching files, in code point order.

        In place of files behind a folder that leads out of the workspace, the list has that folder.
        """
        return list_matching(self, pattern)

    def exists(self, path: str) -> bool:
        """Whether there is a file, a folder or a link at `path`; a link may lead nowhere."""
        return os.path.lexists(self._full(path))

    def is_file(self, path: str) -> bool:
        """Whether `path` is a file, or a link to one."""
        return os.path.isfile(self._full(path))

    def entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """Names in a folder but for hidden ones; empty where there is no such folder."""
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
            data = self._file_bytes(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return Problem("unreadable", path, 0, f"can't be read: {error.strerror}")
        return data if isinstance(data, Problem) else decode_document(path, data)

    def stamp(self, path: str) -> FileStamp | None:
        """Times, size and inode of a file; None for a link, and for anything but a regular file of the workspace."""
        try:
            if not self.holds(os.path.dirname(path)):
                return None
            status = os.lstat(self._full(path))
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return FileStamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)

    def relative(self, path: str) -> str:
        """The path in the workspace of a path or pattern that a person typed (`workspace/typed_paths.py`)."""
        return workspace_path(self.root, path, self.exists)

    def _file_bytes(self, path: str) -> bytes | Problem:
        """The bytes of a regular file, or the problem. A pipe is opened without blocking and closed: nothing waits."""
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(self._full(path), flags)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            target = os.path.realpath(self._full(path))
            if not self._holds_real(target):
                return Problem("outside-workspace", path, 0, "is a link that leads out of the workspace")
            handle = os.open(target, flags)
        try:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                file_type = next((words for test, words in _FILE_TYPES if test(mode)), "a device")
                return Problem("not-a-file", path, 0, f"is {file_type}, not a file")
            with open(handle, "rb", buffering=0, closefd=False) as file:
                return file.readall()
        finally:
            os.close(handle)

    def holds(self, folder: str) -> bool:
        """Whether a folder lies in the workspace, once links are followed."""
        if folder not in self._inside:
            self._inside[folder] = self._holds_real(os.path.realpath(self._full(folder)))
        return self._inside[folder]

    def _holds_real(self, real: str) -> bool:
        return real == self.root or real.startswith(self.root.rstrip("/") + "/")

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}"
