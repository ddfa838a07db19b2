"""The workspace as it was in a git revision, read from the repository's objects.

Nothing is checked out or written. Links are followed as on a disk, but never out of the workspace; submodules are empty
folders. How git is run is in `workspace/git_commands.py`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

from contextasm.model import ContextasmError, Document, Problem
from contextasm.text.decode import decode_document
from contextasm.text.glob import list_matching
from contextasm.workspace.git_commands import run_git, start_git

if TYPE_CHECKING:
    import subprocess

_MAX_LINKS = 40
"""Links followed on the way to a file, as on Linux."""

_SUBMODULE = 0o160000
"""Mode of a submodule."""


class _GitObject(NamedTuple):
    """Mode and hash of a file, a link or a submodule in the tree of a revision."""

    mode: int
    hash: str


class _FolderEntry(NamedTuple):
    """One name in a folder (`text.glob.TreeEntry`)."""

    name: str
    is_folder: bool
    leads_to_folder: bool
    """Whether it is a folder once links are followed; a link that leads out of the workspace counts as one."""

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether this is a folder, or with `follow_symlinks` a link to one."""
        return self.leads_to_folder if follow_symlinks else self.is_folder


class GitWorkspace:
    """Workspace in a revision of the repository that its folder belongs to (`model.Workspace`)."""

    def __init__(self, root: str, revision: str, environment: Mapping[str, str]) -> None:
        """Open `revision` of the workspace whose folder is `root`.

        Raises `ContextasmError` where there is no git, no repository or no such revision.
        """
        self.root = root
        self._environment = environment
        self._object_reader: subprocess.Popen[bytes] | None = None
        self.commit = self._commit_hash(revision)
        self._objects: dict[str, _GitObject] = {}
        self._folders: dict[str, dict[str, bool]] = {"": {}}
        """The names in each folder, and whether each is a folder itself."""
        for entry in self._git_output("ls-tree", "-r", "-z", self.commit).split(b"\0")[:-1]:
            fields, _, path = entry.partition(b"\t")
            mode, _, object_hash = fields.decode().split()
            self._add_object(os.fsdecode(path), _GitObject(int(mode, 8), object_hash))

    def _commit_hash(self, revision: str) -> str:
        hint = "give a record, a date (YYYY-MM-DD), a budget (@8k) or a git revision such as HEAD~3"
        try:
            self._git_output("rev-parse", "--git-dir")
        except ContextasmError as error:
            if "not a git repository" not in error.what:
                raise
            raise ContextasmError(revision, f"{self.root} is in no git repository", hint) from error
        if not revision or revision.startswith("-"):
            raise ContextasmError(revision or "''", "no such revision", hint)
        try:
            output = self._git_output("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        except ContextasmError as error:
            raise ContextasmError(revision, "no such record or revision", hint) from error
        return output.decode().strip()

    def _git_output(self, *words: str) -> bytes:
        try:
            code, output, messages = run_git(self.root, self._environment, *words)
        except OSError as error:
            raise _git_missing(error) from error
        if code:
            lines = messages.decode(errors="replace").splitlines() or [f"ended with {code}"]
            raise ContextasmError(f"git {words[0]}", lines[0], "put that right and try again")
        return output

    def _add_object(self, path: str, entry: _GitObject) -> None:
        """Add a path of the tree, and the folders above it."""
        self._objects[path] = entry
        folder, _, name = path.rpartition("/")
        is_folder = entry.mode == _SUBMODULE
        if is_folder:
            self._folders.setdefault(path, {})
        while name:
            was_listed = folder in self._folders
            self._folders.setdefault(folder, {})[name] = is_folder
            if was_listed:
                return
            folder, _, name = folder.rpartition("/")
            is_folder = True

    def list(self, pattern: str) -> Sequence[str]:
        """Paths of the matching files, in code point order.

        In place of files behind a folder that leads out of the workspace, the list has that folder.
        """
        return list_matching(self, pattern)

    def entries(self, folder: str) -> Iterator[_FolderEntry]:
        """Names in a folder but for hidden ones; empty where there is no such folder."""
        real = self._real_path(folder)
        for name, is_folder in self._folders.get(real or "", {}).items() if real is not None else ():
            if not name.startswith("."):
                path = f"{real}/{name}" if real else name
                target = self._real_path(path)
                yield _FolderEntry(name, is_folder, target is None or target in self._folders)

    def exists(self, path: str) -> bool:
        """Whether there is a file, a folder or a link at `path`; a link may lead nowhere."""
        folder, _, name = path.rpartition("/")
        real = self._real_path(folder)
        return real is not None and name in self._folders.get(real, {})

    def holds(self, folder: str) -> bool:
        """Whether a folder lies in the workspace, once links are followed."""
        return self._real_path(folder) is not None

    def _real_path(self, path: str) -> str | None:
        """The path with its links followed; None where they lead out of the workspace."""
        rest, real, links = path.split("/")[::-1], "", 0
        while rest:
            name = rest.pop()
            if name == "..":
                if not real:
                    return None
                real = real.rpartition("/")[0]
            elif name not in {"", "."}:
                below = f"{real}/{name}" if real else name
                entry = self._objects.get(below)
                if entry and stat.S_ISLNK(entry.mode):
                    target, links = os.fsdecode(self._object_bytes(entry)), links + 1
                    if target.startswith("/") or links > _MAX_LINKS:
                        return None
                    rest += target.split("/")[::-1]
                else:
                    real = below
        return real

    def read(self, path: str) -> Document | Problem | None:
        """The document; a problem where it can't be read; None where there is no such file."""
        if {"", ".", ".."} & set(path.split("/")):
            return Problem("outside-workspace", path, 0, "is no path inside the workspace")
        if not self.holds(path.rpartition("/")[0]):
            return Problem("outside-workspace", path, 0, "leads out of the workspace through a link")
        real = self._real_path(path)
        if real is None:
            return Problem("outside-workspace", path, 0, "is a link that leads out of the workspace")
        if real in self._folders:
            return Problem("not-a-file", path, 0, "is a folder, not a file")
        entry = self._objects.get(real)
        return decode_document(path, self._object_bytes(entry)) if entry else None

    def _object_bytes(self, entry: _GitObject) -> bytes:
        """The content of an object. Raises `ContextasmError` where the repository does not have it."""
        if self._object_reader is None:
            self._object_reader = self._started_object_reader()
        requests, answers = self._object_reader.stdin, self._object_reader.stdout
        assert requests
        assert answers
        try:
            requests.write(f"{entry.hash}\n".encode())
            requests.flush()
        except OSError as error:
            raise ContextasmError(self.commit, "git ended too early", "run `git fsck`") from error
        return _object_content(answers, self.commit)

    def _started_object_reader(self) -> subprocess.Popen[bytes]:
        import subprocess

        try:
            return start_git(
                self.root, self._environment, "cat-file", "--batch", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise _git_missing(error) from error

    def relative(self, path: str) -> str:
        """The path as it is: in a revision, paths are named from the workspace's folder."""
        return path

    def close(self) -> None:
        """End the process that reads objects."""
        if self._object_reader:
            self._object_reader.communicate()
            self._object_reader = None


def _git_missing(error: OSError) -> ContextasmError:
    return ContextasmError("git", f"can't be run: {error.strerror}", "install git")


def _object_content(answers: IO[bytes], commit: str) -> bytes:
    """The content of the next object that `git cat-file --batch` answers with."""
    header = answers.readline().split()
    size = int(header[2]) if len(header) == 3 else -1
    data = answers.read(size + 1) if size >= 0 else b""
    if len(data) != size + 1:
        hint = "fetch the whole history, or run `git fsck`"
        raise ContextasmError(commit, "the repository does not have all of its files", hint)
    return data[:-1]
