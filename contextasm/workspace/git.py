"""A workspace as it was in a git revision, read from the repository's objects: nothing is checked out or written.

git runs as a process of its own and without the network. Links are followed as on a disk, but never out of the
workspace; submodules are empty folders.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

from contextasm.model import ContextasmError, Document, Problem
from contextasm.text.decode import decode_document
from contextasm.text.glob import list_matching

if TYPE_CHECKING:
    import subprocess

_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE")
"""What a git hook finds set. The workspace's folder says which repository is meant."""

_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}

_HOPS = 40
"""Links followed on the way to a file, as Linux has it."""


class _Object(NamedTuple):
    """A name of the tree."""

    mode: int
    hash: str


class _Name(NamedTuple):
    """One name of a folder (`text.listing.Entry`)."""

    name: str
    folder: bool
    target: bool
    """Whether it is a folder once links are followed; one that leads out counts as such."""

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder, or a link to one if those are followed."""
        return self.target if follow_symlinks else self.folder


class GitWorkspace:
    """A workspace in a revision of the repository that its folder belongs to (`model.Workspace`)."""

    def __init__(self, root: str, name: str, environment: Mapping[str, str]) -> None:
        """`root` is the workspace's folder.

        Raise `ContextasmError` where there is no git, no repository or no such revision.
        """
        self.root = root
        own = {key: value for key, value in environment.items() if key not in _ELSEWHERE}
        self._environment = {**own, **_QUIET}
        self._batch: subprocess.Popen[bytes] | None = None
        self.commit = self._commit(name)
        self._objects: dict[str, _Object] = {}
        self._folders: dict[str, dict[str, bool]] = {"": {}}
        for entry in self._git("ls-tree", "-r", "-z", self.commit).split(b"\0")[:-1]:
            facts, _, path = entry.partition(b"\t")
            mode, _, digest = facts.decode().split()
            self._add(os.fsdecode(path), _Object(int(mode, 8), digest))

    def _commit(self, name: str) -> str:
        """The full hash of a revision."""
        hint = "give a record, a date (YYYY-MM-DD), a budget (@8k) or a git revision such as HEAD~3"
        try:
            self._git("rev-parse", "--git-dir")
        except ContextasmError as error:
            if "not a git repository" not in error.what:
                raise
            raise ContextasmError(name, f"{self.root} is in no git repository", hint) from error
        if not name or name.startswith("-"):
            raise ContextasmError(name or "''", "no such revision", hint)
        try:
            found = self._git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        except ContextasmError as error:
            raise ContextasmError(name, "no such record or revision", hint) from error
        return found.decode().strip()

    def _git(self, *words: str) -> bytes:
        """What a git command writes."""
        import subprocess

        with self._start(*words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            out, err = process.communicate()
        if process.returncode:
            lines = err.decode(errors="replace").splitlines() or [f"ended with {process.returncode}"]
            raise ContextasmError(f"git {words[0]}", lines[0], "put that right and try again")
        return out

    def _start(self, *words: str, stdin: int, stderr: int) -> subprocess.Popen[bytes]:
        """Begin a git command in the workspace's folder."""
        import subprocess

        command = ["git", "--no-replace-objects", "-c", "protocol.allow=never", "-C", self.root, *words]
        try:
            return subprocess.Popen(  # noqa: S603 - git, found as the shell finds it
                command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=self._environment
            )
        except OSError as error:
            raise ContextasmError("git", f"can't be run: {error.strerror}", "install git") from error

    def _add(self, path: str, entry: _Object) -> None:
        """Note a name of the tree, and the folders that it lies in."""
        self._objects[path] = entry
        folder, _, name = path.rpartition("/")
        is_folder = entry.mode == 0o160000
        if is_folder:
            self._folders.setdefault(path, {})
        while name:
            known = folder in self._folders
            self._folders.setdefault(folder, {})[name] = is_folder
            if known:
                return
            folder, _, name = folder.rpartition("/")
            is_folder = True

    def list(self, pattern: str) -> Sequence[str]:
        """The files that match, in code point order; a folder on the way that leads out is listed in their stead."""
        return list_matching(self, pattern)

    def entries(self, folder: str) -> Iterator[_Name]:
        """What a folder holds, hidden names aside; nothing where there is no such folder."""
        real = self._real(folder)
        for name, is_folder in self._folders.get(real or "", {}).items() if real is not None else ():
            if not name.startswith("."):
                path = f"{real}/{name}" if real else name
                target = self._real(path)
                yield _Name(name, is_folder, target is None or target in self._folders)

    def exists(self, path: str) -> bool:
        """Whether there is anything of this name, be it a link that leads nowhere."""
        folder, _, name = path.rpartition("/")
        real = self._real(folder)
        return real is not None and name in self._folders.get(real, {})

    def holds(self, folder: str) -> bool:
        """Whether a folder, links followed, lies in the workspace."""
        return self._real(folder) is not None

    def _real(self, path: str) -> str | None:
        """A path with its links followed; None where they lead out of the workspace."""
        rest, real, hops = path.split("/")[::-1], "", 0
        while rest:
            name = rest.pop()
            if name == "..":
                if not real:
                    return None
                real = real.rpartition("/")[0]
            elif name not in {"", "."}:
                there = f"{real}/{name}" if real else name
                entry = self._objects.get(there)
                if entry and stat.S_ISLNK(entry.mode):
                    target, hops = os.fsdecode(self._bytes(entry)), hops + 1
                    if target.startswith("/") or hops > _HOPS:
                        return None
                    rest += target.split("/")[::-1]
                else:
                    real = there
        return real

    def read(self, path: str) -> Document | Problem | None:
        """The document; a problem where it can't be read; None where there is no such file."""
        if {"", ".", ".."} & set(path.split("/")):
            return Problem("outside-workspace", path, 0, "is no path inside the workspace")
        if not self.holds(path.rpartition("/")[0]):
            return Problem("outside-workspace", path, 0, "leads out of the workspace through a link")
        real = self._real(path)
        if real is None:
            return Problem("outside-workspace", path, 0, "is a link that leads out of the workspace")
        if real in self._folders:
            return Problem("not-a-file", path, 0, "is a folder, not a file")
        entry = self._objects.get(real)
        return decode_document(path, self._bytes(entry)) if entry else None

    def _bytes(self, entry: _Object) -> bytes:
        """The content of an object. Raises `ContextasmError` where the repository does not have it."""
        import subprocess

        if self._batch is None:
            self._batch = self._start("cat-file", "--batch", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        into, out = self._batch.stdin, self._batch.stdout
        assert into
        assert out
        try:
            into.write(f"{entry.hash}\n".encode())
            into.flush()
        except OSError as error:
            raise ContextasmError(self.commit, "git ended too early", "run `git fsck`") from error
        return _content(out, self.commit)

    def relative(self, path: str) -> str:
        """A path as one of the workspace: it is taken as it is."""
        return path

    def close(self) -> None:
        """End the process that reads objects."""
        if self._batch:
            self._batch.communicate()
            self._batch = None


def _content(out: IO[bytes], commit: str) -> bytes:
    """The object that `git cat-file --batch` answers with."""
    header = out.readline().split()
    size = int(header[2]) if len(header) == 3 else -1
    data = out.read(size + 1) if size >= 0 else b""
    if len(data) != size + 1:
        hint = "fetch the whole history, or run `git fsck`"
        raise ContextasmError(commit, "the repository does not have all of its files", hint)
    return data[:-1]


WORKSPACE_PREFIXES = (
    "agents/",
    "teams/",
    "rules/",
    "memories/",
    "knowledge/",
    "sessions/",
    "graph/",
    "threads/",
    "tools/",
    "ctxasm.",
)


WORKSPACE_FILES = ("PROJECT.md", "patterns.yaml", "tasks.yaml")
"""What makes the workspace (docs/DESIGN.md section 2): other layers show it, and it is no file that is worked on."""


def changed_files(root: str) -> tuple[str, ...]:
    """What differs from the last commit and what is new, as paths below `root`; none where there is no git.

    The files that make the workspace are left out.
    """
    there = (path for path in _changed(root) if os.path.lexists(os.path.join(root, path)))
    found = {path for path in there if not path.startswith((*WORKSPACE_PREFIXES, ".")) and path not in WORKSPACE_FILES}
    return tuple(sorted(found))


def _changed(root: str) -> tuple[str, ...]:
    """The paths in the workspace that differ from the last commit, new and deleted ones included."""
    changed = _git_lines(root, "diff", "--name-only", "--relative", "-z", "HEAD")
    new = _git_lines(root, "ls-files", "--others", "--exclude-standard", "-z")
    return tuple(sorted({*changed, *new}))


def _git_lines(folder: str, *words: str) -> Sequence[str]:
    """What git lists, one item for each NUL. Nothing is written, and no setting of the repository starts a program."""
    import subprocess

    settings = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
    try:
        done = subprocess.run(  # noqa: S603 - the words are ours, the folder is the workspace's
            ["git", *settings, "-C", folder, *words],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=10,
            check=False,
        )
    except FileNotFoundError:
        return ()
    except subprocess.TimeoutExpired as error:
        raise ContextasmError(
            "git", "took over 10 seconds", "leave out the layer or the rule that asks for it"
        ) from error
    return [os.fsdecode(path) for path in done.stdout.split(b"\0") if path] if done.returncode == 0 else ()
