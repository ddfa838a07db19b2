"""A workspace that asks another one for each list and each file once, and remembers the answers.

`records` writes the answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextasm.model import ContextasmError, Document, NamedTuple, Problem, T, Workspace
from contextasm.text.cleaning.clean import shown_names

Read = Document | Problem | None
"""Result of reading a path: its document, the problem with it, or None if no such file exists."""


def name_problem(name: str) -> Problem:
    """The problem of a file whose name can't be shown as it is; `name` is it with escapes and masks."""
    return Problem("bad-name", name, 0, "has a name with hidden characters, line ends or a secret", "rename it")


class RecordingWorkspace:
    """Workspace that keeps the lists and files that another workspace gave the first time (`model.Workspace`)."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.lists: dict[str, Sequence[str]] = {}
        """Paths by the pattern that was listed; empty lists, too."""
        self.reads: dict[str, Read] = {}
        """Results by the path that was read; None, too."""
        self.unfit: dict[str, Problem] = {}
        """Problems of files whose names can't be shown, by their names with escapes and masks."""
        self._listed: set[str] = set()
        """Paths of all lists, whose names are checked already."""

    def list(self, pattern: str) -> Sequence[str]:
        """Paths as the workspace listed them the first time."""
        if pattern not in self.lists:
            self.lists[pattern] = self._shown(self._workspace.list(pattern))
            self._listed.update(self.lists[pattern])
        return self.lists[pattern]

    def read(self, path: str) -> Read:
        """Result as the workspace gave it the first time."""
        if path not in self.reads:
            (name,) = [path] if path in self._listed else self._shown([path])
            self.reads[name] = self.unfit.get(name) or self._workspace.read(name)
            return self.reads[name]
        return self.reads[path]

    def _shown(self, paths: Sequence[str]) -> Sequence[str]:
        """The paths as they may be shown: a name that hides something is escaped, and its file is a problem."""
        shown = shown_names(paths)
        self.unfit.update({name: name_problem(name) for path, name in zip(paths, shown, strict=True) if name != path})
        return shown


class SnapshotWorkspace:
    """Workspace made of recorded answers (`model.Workspace`).

    Raises `ContextasmError` for a list or a file that was not recorded.
    """

    def __init__(self, lists: Mapping[str, Sequence[str]], reads: Mapping[str, Read]) -> None:
        self._lists = lists
        self._reads = reads

    def list(self, pattern: str) -> Sequence[str]:
        """Paths as recorded."""
        return _recorded(self._lists, pattern)

    def read(self, path: str) -> Read:
        """Result as recorded."""
        return _recorded(self._reads, path)


def _recorded(answers: Mapping[str, T], asked: str) -> T:
    if asked not in answers:
        what = "the record has no answer for this, and this version of ctxasm needs one"
        raise ContextasmError(asked, what, "replay with the version that wrote the record", code=1)
    return answers[asked]


class ChangedInput(NamedTuple):
    """Path of an input, and how it differs from the recorded one."""

    path: str
    kind: str
    """`changed`, `added` or `gone`."""


def changed_inputs(
    lists: Mapping[str, Sequence[str]], digests: Mapping[str, str], workspace: Workspace
) -> tuple[tuple[ChangedInput, ...], RecordingWorkspace]:
    """Inputs of a workspace that differ from the recorded ones, in path order, and a record of its answers now.

    `digests` are the digests of recorded results by path, as `answer_digest` gives them.
    """
    recording = RecordingWorkspace(workspace)
    kinds: dict[str, str] = {}
    for pattern, old in lists.items():
        new = recording.list(pattern)
        kinds |= dict.fromkeys(set(new) - set(old), "added") | dict.fromkeys(set(old) - set(new), "gone")
    kinds |= dict(drift(digests, {path: answer_digest(recording.read(path)) for path in digests}))
    return tuple(ChangedInput(*item) for item in sorted(kinds.items())), recording


def drift(before: Mapping[str, str], now: Mapping[str, str]) -> Sequence[ChangedInput]:
    """The files of `now` whose digests differ from those before, in path order; an empty digest is that of no file."""
    pairs = {path: (before.get(path, ""), now[path]) for path in sorted(now)}
    return [
        ChangedInput(path, "changed" if old and new else "added" if new else "gone")
        for path, (old, new) in pairs.items()
        if old != new
    ]


def answer_digest(read: Read) -> str:
    """Text that differs if results of reading differ: a file's SHA-256, or its problem; empty for no file."""
    if isinstance(read, Problem):
        return f"{read.code}: {read.message}"
    return read.digest if read else ""
