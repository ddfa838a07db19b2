"""The workspace on disk: find, list and read it. Nothing outside it is opened, and nothing in it is changed.

A file that can't be read is a `Problem`; the caller decides whether that is an error.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from contextasm.model import ContextasmError, Document, FileStamp, Problem
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.names.glob import TreeEntry, list_matching
from contextasm.text.names.templates import is_pattern
from contextasm.workspace import reads
from contextasm.workspace.reading import MISSING, ReadFailure, file_bytes, file_stamp

if TYPE_CHECKING:
    from contextasm.workspace.storage import Overlay


def workspace_path(root: str, typed: str, exists: Callable[[str], bool]) -> str:
    """The path in the workspace at `root` that a person means by `typed`; a pattern stays a pattern.

    It may be relative to the current folder or to the workspace, or absolute, and may hold `./`, `..` and `//`. The
    current folder counts first; `exists` decides between the two for a path that exists in one of them only. A pattern
    is found by its first folders, those without a wildcard. The workspace itself is an empty path. A path that leads
    out of the workspace comes back as typed.
    """
    fixed, pattern = ("", typed) if not typed else (typed, "") if exists(typed) else _split_pattern(typed)
    if not fixed:
        return typed
    in_current, in_root = _below(root, _current_folder(), fixed), _below(root, root, fixed)
    candidates = [path for path in (in_current, None if os.path.isabs(fixed) else in_root) if path is not None]
    if not candidates:
        return typed
    path = next((path for path in candidates if not path or exists(path)), None)
    if path is None:
        folders = [(candidate, os.path.dirname(candidate)) for candidate in candidates]
        path = next((candidate for candidate, folder in folders if not folder or exists(folder)), candidates[-1])
    return "/".join(filter(None, (path, pattern)))


def _split_pattern(typed: str) -> tuple[str, str]:
    """The folders before the first wildcard, and the rest; all of a path without one is fixed.

    The name of an existing folder is not a wildcard, even if it has the characters of one.
    """
    names = typed.split("/")
    wildcards = (number for number, name in enumerate(names) if is_pattern(name))
    first = next((number for number in wildcards if not reads.path_type("/".join(names[: number + 1]))), len(names))
    fixed = "/".join(names[:first]) or ("/" if first and names[0] == "" else "")
    return fixed, "/".join(name for name in names[first:] if name not in {"", "."})


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def _below(root: str, folder: str, typed: str) -> str | None:
    """The path below `root` of a path typed in `folder`; None if it is elsewhere. Links keep their names."""
    if not folder and not os.path.isabs(typed):
        return None
    full = os.path.join(folder, typed)
    if ".." in full.split("/"):  # the folder above a link is the folder above its target
        parent, name = os.path.split(full.rstrip("/"))
        full = reads.real_path(full) if name == ".." else os.path.join(reads.real_path(parent), name)
    full = os.path.normpath(full)
    for path in (full, os.path.join(reads.real_path(os.path.dirname(full)), os.path.basename(full))):
        for ancestor in (path, *folders_above(path)):
            if ancestor == root or reads.real_path(ancestor) == root:
                return path[len(ancestor) :].strip("/")
    return None


def folders_above(path: str) -> Iterator[str]:
    """The folder that holds a path, the one above that, and so on."""
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is this folder or below it; links are not followed."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def repository_top(folder: str) -> str | None:
    """The nearest folder, from this one upwards, that holds `.git`; None if none does. Links in its path are kept."""
    return next((place for place in (folder, *folders_above(folder)) if reads.path_type(f"{place}/.git")), None)


def _is_there(path: str | os.PathLike[str]) -> bool:
    """Whether anything is at a path. Raises `OSError` if that can't be known, as for a name that is too long."""
    try:
        os.stat(path)
    except ValueError:
        return False
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
            raise
        return False
    return True


class Folder:
    """Workspace that is a folder on disk (`model.StampedWorkspace`)."""

    is_on_disk = True
    """False for one whose files git has (`workspace/git/folder.py`)."""

    def __init__(self, root: str | os.PathLike[str], overlay: Overlay | None = None) -> None:
        """Open the folder `root`. Raises `ContextasmError` if it is not a folder."""
        if not reads.is_folder(str(root)):
            what = "is not a folder" if _is_there(root) else "does not exist"
            raise ContextasmError(str(root), what, "name a workspace with -w DIR, or make one with `ctxasm init`")
        self.root = reads.real_path(str(root))
        self.overlay = overlay
        """What has the memories of some owners in another place; it is set before any of them is read."""
        self._inside: dict[str, bool] = {"": True}
        self._unlisted: dict[str, Problem] = {}

    def kept_elsewhere(self, path: str) -> str | None:
        """The owner whose memories a path belongs to, if these are kept elsewhere and read here; None for files."""
        return self.overlay.owner(path) if self.overlay else None

    def list(self, pattern: str) -> Sequence[str]:
        """Paths of the matching files, in code point order.

        In place of the files of a folder that leads out of the workspace, the list has that folder; in place of those
        of a folder that can't be listed, it has the folder with a `/` after it. `read` gives the problem of both.
        """
        return list_matching(self, pattern)

    def exists(self, path: str) -> bool:
        """Whether a file, a folder or a link exists at `path`; the target of a link need not exist."""
        return bool(self._type(path))

    def is_file(self, path: str) -> bool:
        """Whether `path` is a file, or a link to one."""
        return self._type(path).endswith("file")

    def entries(self, folder: str) -> Sequence[TreeEntry] | None:
        """Names in a folder but for hidden ones; empty if no such folder exists.

        None if the folder can't be listed; `read` gives the problem, at the path with a `/` after it.
        """
        path = f"{folder or '.'}/"
        try:
            return [entry for entry in self._scan(folder) if not entry.name.startswith(".")]
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            self._unlisted[path] = self._problem_of_file_above(path, folder)
        except OSError as error:
            self._unlisted[path] = Problem("unreadable", path, 0, f"can't be listed: {error.strerror}")
        return None

    def read(self, path: str) -> Document | Problem | None:
        """The document; a problem if it can't be read; None if no such file exists."""
        if path.endswith("/"):
            return self._unlisted.get(path)
        if {"", ".", ".."} & set(path.split("/")):
            return Problem("outside-workspace", path, 0, "is not a path inside the workspace")
        if not self.holds(os.path.dirname(path)):
            return Problem("outside-workspace", path, 0, "leads out of the workspace through a link")
        data = self._bytes(path)
        return decode_document(path, data) if isinstance(data, bytes) else self._problem(path, data)

    def _problem(self, path: str, failure: ReadFailure) -> Problem | None:
        if failure.code == MISSING:
            return None
        if failure.code == "not-a-folder":
            return self._problem_of_file_above(path, os.path.dirname(path))
        return Problem(failure.code, path, 0, failure.message)

    def _problem_of_file_above(self, path: str, folder: str) -> Problem:
        """The problem of a path whose folder is a file, or is below one."""
        names = folder.split("/")
        above = ("/".join(names[: number + 1]) for number in range(len(names)))
        file = next((place for place in above if not self._is_folder(place)), folder)
        return Problem("not-a-folder", path, 0, f"can't be read: {file} is a file, not a folder")

    def stamp(self, path: str) -> FileStamp | None:
        """Times, size and inode of a file; None for a link, and for anything but a regular file of the workspace."""
        try:
            return file_stamp(self._full(path)) if self.holds(path.rpartition("/")[0]) else None
        except OSError:
            return None

    def relative(self, path: str) -> str:
        """The path in the workspace of a path or pattern that a person typed (`workspace/folder.py`)."""
        return workspace_path(self.root, path, self.exists)

    def holds(self, folder: str) -> bool:
        """Whether a folder is in the workspace after links are followed."""
        if folder not in self._inside:
            parent, _, name = folder.rpartition("/")
            is_below_held = self._inside.get(parent) and name not in {"", ".", ".."} and not self.overlay
            is_plain = is_below_held and not self._type(folder).startswith("link")
            self._inside[folder] = is_plain or self._holds_real(reads.real_path(self._full(folder)))
        return self._inside[folder]

    def _scan(self, folder: str) -> Sequence[TreeEntry]:
        """The entries of a folder, hidden ones included. Raises `OSError` if it can't be listed."""
        return reads.folder_entries(self._full(folder))

    def _bytes(self, path: str) -> bytes | ReadFailure:
        return file_bytes(self._full(path), holds=self._holds_real)

    def _is_folder(self, path: str) -> bool:
        return self._type(path).endswith("folder")

    def _type(self, path: str) -> str:
        return reads.path_type(self._full(path))

    def _holds_real(self, real: str) -> bool:
        return is_below(real, self.root)

    def _full(self, path: str) -> str:
        place = self.overlay.place(path) if self.overlay else None
        return f"{self.root}/{path if place is None else place}"
