"""The workspace as it was in a git revision, read from the repository's objects.

Nothing is checked out or written. Links are followed as on a disk, but never out of the workspace; submodules are empty
folders. How git is run is in `workspace/git/commands.py`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

from contextasm.model import MAX_FILE, ContextasmError, Document, Problem
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.names.glob import list_matching
from contextasm.workspace.folder import workspace_path
from contextasm.workspace.git.commands import git_failure, run_git, start_git
from contextasm.workspace.reading import ReadFailure, too_large

if TYPE_CHECKING:
    import subprocess

_MAX_LINKS = 40
"""Links followed on the way to a file, as on Linux."""

_LOOP = "\0"
"""In place of a path whose links lead to themselves: no file has it."""
_SUBMODULE = 0o160000
"""Mode of a submodule."""


class GitObject(NamedTuple):
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
    """Workspace in a revision or in the index of the repository that its folder belongs to (`model.Workspace`)."""

    def __init__(self, root: str, revision: str, environment: Mapping[str, str]) -> None:
        """Open `revision` of the workspace whose folder is `root`.

        Raises `ContextasmError` where there is no git, no repository or no such revision.
        """
        self.root = root
        self._environment = environment
        self._object_reader: subprocess.Popen[bytes] | None = None
        self._objects: dict[str, GitObject] = {}
        self._folders: dict[str, dict[str, bool]] = {"": {}}
        """The names in each folder, and whether each is a folder itself."""
        self.revision = revision
        self.commit = self._commit_hash(revision)
        self._add_objects()

    def _add_objects(self) -> None:
        for entry in self._git_output("ls-tree", "-r", "-z", self.commit).split(b"\0")[:-1]:
            fields, _, path = entry.partition(b"\t")
            mode, _, object_hash = fields.decode().split()
            self._add_object(os.fsdecode(path), GitObject(int(mode, 8), object_hash))

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
            # In two steps: to `:/text`, whatever follows belongs to the text.
            name = self._git_output("rev-parse", "--verify", "--quiet", revision).decode().strip()
            output = self._git_output("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        except ContextasmError as error:
            raise ContextasmError(revision, "no such record or revision", hint) from error
        return output.decode().strip()

    def _git_output(self, *words: str, index: str = "") -> bytes:
        try:
            code, output, messages = run_git(self.root, self._environment, *words, index=index)
        except OSError as error:
            raise _git_missing(error) from error
        if code:
            raise git_failure(words[0], code, messages.decode(errors="replace"))
        return output

    def _add_object(self, path: str, entry: GitObject) -> None:
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

        In place of files behind a folder that leads out of the workspace, the list has that folder; a file where a
        folder belongs is listed with a `/` behind it. `read` gives the problem of both.
        """
        return list_matching(self, pattern)

    def entries(self, folder: str) -> Iterator[_FolderEntry] | None:
        """Names in a folder but for hidden ones; empty where there is no such folder, and None where it is a file."""
        return None if self._file_above(folder) else self._entries(folder)

    def _file_above(self, folder: str) -> str:
        """The first part of a folder's path that is a file; empty for none."""
        names = folder.split("/")
        above = ("/".join(names[: number + 1]) for number in range(len(names)))
        return next((place for place in above if self.is_file(place)), "")

    def _entries(self, folder: str) -> Iterator[_FolderEntry]:
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

    @property
    def is_empty(self) -> bool:
        """Whether there is no file."""
        return not self._objects

    def name_of_then(self, parent: str, name: str) -> str:
        """The name that a folder in `parent` had in this revision, where git sees it as renamed since; else empty."""
        words = ("diff-index", "--cached", "--name-status", "--find-renames", "--diff-filter=R", "--relative", "-z")
        fields = [os.fsdecode(field) for field in self._git_output(*words, self.commit, "--", parent).split(b"\0")]
        for old, new in zip(fields[1::3], fields[2::3], strict=False):
            names = old.split("/")
            if new.startswith(f"{parent}/{name}/") and names[0] == parent and len(names) > 2 and names[1] != name:
                return names[1]
        return ""

    def is_file(self, path: str) -> bool:
        """Whether `path` is a file, or a link to one."""
        entry = self._objects.get(self._real_path(path) or "")
        return entry is not None and stat.S_ISREG(entry.mode)

    def holds(self, folder: str) -> bool:
        """Whether a folder lies in the workspace, once links are followed."""
        return self._real_path(folder) is not None

    def _real_path(self, path: str) -> str | None:
        """The path with its links followed; None where they lead out of the workspace, `_LOOP` where they never end."""
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
                    target, links = os.fsdecode(self._object_bytes(below, entry)), links + 1
                    if links > _MAX_LINKS:
                        return _LOOP
                    if target.startswith("/"):
                        return None
                    rest += target.split("/")[::-1]
                else:
                    real = below
        return real

    def read(self, path: str) -> Document | Problem | None:
        """The document; a problem where it can't be read; None where there is no such file."""
        real = self._real_path(path)
        if failure := self._read_failure(path, real):
            return Problem(failure.code, path, 0, failure.message)
        entry = self._objects.get(real or "")
        if entry is None or path.endswith("/"):
            return None
        data = self._object_bytes(path, entry)
        if len(data) > MAX_FILE:
            return Problem("too-large", path, 0, too_large(len(data), MAX_FILE).message)
        return decode_document(path, data)

    def _read_failure(self, path: str, real: str | None) -> ReadFailure | None:
        """The reason why a path can't be a file that is read; `real` is the path with its links followed."""
        folder, _, name = path.rpartition("/")
        is_inner = not {"", ".", ".."} & {*path.rstrip("/").split("/")}
        file = self._file_above(folder)
        failures = (
            (not is_inner, "outside-workspace", "is no path inside the workspace"),
            (bool(file), "not-a-folder", f"can't be read: {file} is a file, not a folder"),
            (not self.holds(folder), "outside-workspace", "leads out of the workspace through a link"),
            (real is None, "outside-workspace", "is a link that leads out of the workspace"),
            (real == _LOOP, "unreadable", f"can't be read: {os.strerror(errno.ELOOP)}"),
            (bool(name) and real in self._folders, "not-a-file", "is a folder, not a file"),
        )
        return next((ReadFailure(code, message) for fails, code, message in failures if fails), None)

    def _object_bytes(self, path: str, entry: GitObject) -> bytes:
        """The content of the object at `path`. Raises `ContextasmError` where the repository does not have it."""
        if self._object_reader is None:
            self._object_reader = self._started_object_reader()
        requests, answers = self._object_reader.stdin, self._object_reader.stdout
        assert requests
        assert answers
        try:
            requests.write(f"{entry.hash}\n".encode())
            requests.flush()
            content = _object_content(answers)
        except OSError:
            content = None
        if content is None:
            hint = "fetch what a partial clone lacks (`git archive HEAD` does), or find the damage with `git fsck`"
            raise ContextasmError(path, "git can't read this file of the repository", hint)
        return content

    def _started_object_reader(self) -> subprocess.Popen[bytes]:
        import subprocess

        try:
            return start_git(
                self.root, self._environment, "cat-file", "--batch", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise _git_missing(error) from error

    def relative(self, path: str) -> str:
        """The path in the workspace of a path or pattern that a person typed (`workspace/folder.py`)."""
        return workspace_path(self.root, path, self.exists)

    def close(self) -> None:
        """End the process that reads objects."""
        if self._object_reader:
            self._object_reader.communicate()
            self._object_reader = None


def _git_missing(error: OSError) -> ContextasmError:
    return ContextasmError("git", f"can't be run: {error.strerror}", "install git")


def _object_content(answers: IO[bytes]) -> bytes | None:
    """The content of the next object that `git cat-file --batch` answers with; None where it has none."""
    header = answers.readline().split()
    if len(header) != 3 or not header[2].isdigit():
        return None
    size = int(header[2])
    data = answers.read(size + 1)
    return data[:-1] if len(data) == size + 1 else None
