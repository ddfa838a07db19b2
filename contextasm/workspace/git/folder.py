"""The workspace in a git revision or in git's index, read from the repository's objects.

Nothing is checked out or written. Links are followed by name in the tree, never on the disk and never out of the
workspace; submodules are empty folders. `workspace/git/commands.py` runs git.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from contextasm.model import MAX_FILE, ContextasmError, system_errors
from contextasm.text.names.glob import NamedEntry, PathTree
from contextasm.workspace.folder import Folder
from contextasm.workspace.git.commands import git_command, git_failure, run_git
from contextasm.workspace.reading import ReadFailure, failure_of_error, too_large

if TYPE_CHECKING:
    import subprocess

_MAX_LINKS = 40
"""Links followed on the way to a file, as on Linux."""

_LOOP = "\0"
"""In place of a path whose links lead to themselves: no file has it."""

_SUBMODULE = 0o160000
"""Mode of a submodule."""

_GIT_MISSING = ("git", "can't be run", "install git")

GitObject = tuple[str, int, str]
"""Path below the workspace, mode and hash of a file, a link or a submodule."""


class GitFolder(Folder):
    """Workspace whose files come from the repository that its folder belongs to; close it after use."""

    is_on_disk = False

    def __init__(self, root: str, environment: Mapping[str, str], objects: Iterable[GitObject]) -> None:
        """Open these objects as the workspace whose folder is `root`."""
        super().__init__(Path(root))
        self._environment = environment
        self._object_reader: subprocess.Popen[bytes] | None = None
        self._objects = {path: (mode, object_hash) for path, mode, object_hash in objects}
        self._folders = {"": dict[str, bool](), **PathTree(self._objects).folders}
        """The names in each folder, and whether each is a folder itself."""
        for path in (path for path, (mode, _) in self._objects.items() if mode == _SUBMODULE):
            folder, _, name = path.rpartition("/")
            self._folders[folder][name] = True
            self._folders[path] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._object_reader:
            self._object_reader.communicate()

    @property
    def is_empty(self) -> bool:
        """Whether no file exists."""
        return not self._objects

    def exists(self, path: str) -> bool:
        """Whether a file, a folder or a link exists at `path`; the target of a link need not exist."""
        folder, _, name = path.rpartition("/")
        real = self._real_path(folder)
        return real is not None and name in self._folders.get(real, {})

    def is_file(self, path: str) -> bool:
        """Whether `path` is a file, or a link to one."""
        mode, _ = self._objects.get(self._real_path(path) or "", (0, ""))
        return stat.S_ISREG(mode)

    def holds(self, folder: str) -> bool:
        """Whether a folder is in the workspace after links are followed."""
        return self._real_path(folder) is not None

    def stamp(self, path: str) -> None:
        """None: no file on the disk has the content of `path`."""

    def _is_folder(self, path: str) -> bool:
        return self._real_path(path) in self._folders

    def _scan(self, folder: str) -> Sequence[NamedEntry]:
        real = self._real_path(folder)
        if real == _LOOP:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if self._is_below_file(folder):
            raise NotADirectoryError
        if real is None or real not in self._folders:
            raise FileNotFoundError
        return [*self._entries_at(real)]

    def _entries_at(self, real: str) -> Iterator[NamedEntry]:
        for name, is_folder in self._folders[real].items():
            target = self._real_path(f"{real}/{name}".lstrip("/"))
            yield NamedEntry(name, is_folder, leads_to_folder=target is None or target in self._folders)

    def _bytes(self, path: str) -> bytes | ReadFailure:
        real = self._real_path(path)
        if real is None:
            return ReadFailure("outside-workspace", "is a link that leads out of the workspace")
        if real == _LOOP:
            return failure_of_error(OSError(errno.ELOOP, os.strerror(errno.ELOOP)))
        if real in self._folders:
            return ReadFailure("not-a-file", "is a folder, not a file")
        if real not in self._objects:
            return self._failure_of_missing(path)
        data = self._object_bytes(path, self._objects[real][1])
        return data if len(data) <= MAX_FILE else too_large(len(data), MAX_FILE)

    def _failure_of_missing(self, path: str) -> ReadFailure:
        if self.exists(path):
            return ReadFailure("not-a-file", "is a link to a file that does not exist")
        error = NotADirectoryError if self._is_below_file(path) else FileNotFoundError
        return failure_of_error(error())

    def _is_below_file(self, path: str) -> bool:
        """Whether a path or a folder above it is a file."""
        names = path.split("/")
        return any(self.is_file("/".join(names[: number + 1])) for number in range(len(names)))

    def _real_path(self, path: str) -> str | None:
        """The path with its links followed; None if they lead out of the workspace, `_LOOP` if they never end."""
        rest, real, links = path.split("/")[::-1], "", 0
        while rest:
            name = rest.pop()
            if name == "..":
                if not real:
                    return None
                real = real.rpartition("/")[0]
            elif name not in {"", "."}:
                below = f"{real}/{name}" if real else name
                mode, object_hash = self._objects.get(below, (0, ""))
                if stat.S_ISLNK(mode):
                    target, links = os.fsdecode(self._object_bytes(below, object_hash)), links + 1
                    if links > _MAX_LINKS:
                        return _LOOP
                    if target.startswith("/"):
                        return None
                    rest += target.split("/")[::-1]
                else:
                    real = below
        return real

    def _object_bytes(self, path: str, object_hash: str) -> bytes:
        """The content of the object at `path`. Raises `ContextasmError` if the repository does not have it."""
        import subprocess

        if self._object_reader is None:
            command, variables = git_command(self.root, self._environment, "cat-file", "--batch")
            pipe = subprocess.PIPE
            with system_errors(*_GIT_MISSING):
                self._object_reader = subprocess.Popen(  # noqa: S603 - git, found as the shell finds it
                    command, env=variables, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
                )
        requests, answers = self._object_reader.stdin, self._object_reader.stdout
        assert requests
        assert answers
        try:
            requests.write(f"{object_hash}\n".encode())
            requests.flush()
            size = int(answers.readline().split()[2])
            data = answers.read(size + 1)
        except (OSError, IndexError, ValueError):
            data, size = b"", 0
        if len(data) != size + 1:
            hint = "complete a partial clone with `git archive HEAD`, or look for damage with `git fsck`"
            raise ContextasmError(path, "git can't read this file of the repository", hint)
        return data[:-1]


def open_revision(root: str, revision: str, environment: Mapping[str, str]) -> GitFolder:
    """The workspace whose folder is `root` in a revision of its repository.

    Raises `ContextasmError` if git, the repository or the revision does not exist.
    """
    hint = "give a record, a date (YYYY-MM-DD), a budget (@8k) or a git revision such as HEAD~3"
    where = revision if revision.strip() else repr(revision)
    _refuse_no_repository(root, environment, where, hint)
    if not revision.strip() or revision.startswith(("-", "^")):
        raise ContextasmError(where, "no such revision", hint)
    verify = ("rev-parse", "--verify", "--quiet")
    try:
        # In two steps: to `:/text`, all that follows belongs to the text.
        name = _git_output(root, environment, *verify, revision).decode().strip()
        commit = _git_output(root, environment, *verify, f"{name}^{{commit}}").decode().strip()
    except ContextasmError as error:
        raise ContextasmError(where, "no such record or revision", hint) from error
    listed = _listed(_git_output(root, environment, "ls-tree", "-r", "-z", commit))
    objects = ((path, int(mode, 8), object_hash) for path, (mode, _, object_hash) in listed)
    return GitFolder(root, environment, objects)


def open_index(root: str, environment: Mapping[str, str], folder: str) -> GitFolder:
    """The workspace whose folder is `root` in the index: with the files that the next commit will have.

    It is the index that git hands to a hook, if that belongs to the same repository; `folder` is the current folder, in
    which the hook's paths start. Raises `ContextasmError` if git or the repository does not exist, and for files that
    are not merged.
    """
    _refuse_no_repository(root, environment, "--staged", "leave out --staged, or run `git init`")
    index = _hook_index(root, environment, folder)
    listed = [*_listed(_git_output(root, environment, "ls-files", "--stage", "-z", index=index))]
    if conflict := next((path for path, (*_, stage) in listed if stage != "0"), ""):
        raise ContextasmError(conflict, "has a merge conflict in the index", "resolve it and `git add` the file")
    objects = ((path, int(mode, 8), object_hash) for path, (mode, object_hash, _) in listed)
    return GitFolder(root, environment, objects)


def _listed(output: bytes) -> Iterator[tuple[str, list[str]]]:
    """Path and fields of each file in a list of git."""
    for entry in output.split(b"\0")[:-1]:
        fields, _, path = entry.partition(b"\t")
        yield os.fsdecode(path), fields.decode().split()


def _hook_index(root: str, environment: Mapping[str, str], folder: str) -> str:
    """The index that a hook commits from; empty for the repository's own."""
    named = environment.get("GIT_INDEX_FILE", "")
    if not named:
        return ""
    output = _git_output(root, environment, "rev-parse", "--show-toplevel", "--absolute-git-dir")
    top, git_folder = output.split(b"\n")[:2]
    for start in (folder, os.fsdecode(top)):
        path = os.path.realpath(os.path.join(start, named))
        if os.path.dirname(path) == os.path.realpath(os.fsdecode(git_folder)):
            return path
    return ""


def _refuse_no_repository(root: str, environment: Mapping[str, str], where: str, hint: str) -> None:
    try:
        has_files = _git_output(root, environment, "rev-parse", "--is-inside-work-tree") == b"true\n"
    except ContextasmError as error:
        if "not a git repository" not in error.what:
            raise
        raise ContextasmError(where, f"{root} is not in a git repository", hint) from error
    if not has_files:
        hint = "name a checkout of it with -w DIR"
        raise ContextasmError(where, f"{root} is in a bare repository, which holds no workspace", hint)


def _git_output(root: str, environment: Mapping[str, str], *words: str, index: str = "") -> bytes:
    with system_errors(*_GIT_MISSING):
        code, output, messages = run_git(root, environment, *words, index=index)
    if code:
        raise git_failure(words[0], code, messages.decode(errors="replace"))
    return output
