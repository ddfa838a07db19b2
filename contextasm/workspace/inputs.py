"""Input files: the files that a build reads or could read, none of which an output may replace.

Files are compared by what the disk holds, whatever their spelling: links, hard links, `./`, and the case of letters
where the disk ignores it. Nothing is read or written here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from contextasm.model import ContextasmError
from contextasm.text.names.glob import NamedEntry, TreeEntry, glob_matches, list_matching
from contextasm.workspace.folder import Folder
from contextasm.workspace.outputs import BLOCK_SUFFIXES, FileIdentity, OutputFile, file_identity

_ARCHIVE = "ctxasm tidy keeps here what left other files, and searches find it"
_GIT = "git reads this file"

_KEPT_PLACES = (
    ("**/archive/*.txt", _ARCHIVE),
    ("**/daily/archive/**", _ARCHIVE),
    ("**/memories/archive/**", _ARCHIVE),
    ("**/.gitignore", _GIT),
    ("**/.gitattributes", _GIT),
)
"""Patterns of files below the workspace, as `text.glob.glob_matches` takes them, that no layer needs to read."""


class InputPattern(NamedTuple):
    """A pattern of the files that one part of a build reads."""

    pattern: str
    """Path or pattern below the workspace, as `text.glob.list_matching` takes it."""
    what: str
    """The reason why no output may replace such a file."""
    takes_block: bool = False
    """Whether a file may hold a managed block: it is read as text, and the block is taken out on reading."""
    takes_new_file: bool = False
    """Whether a new file with nothing but a managed block changes no context."""


class InputFiles(NamedTuple):
    """All files that builds of a workspace could read."""

    folder: Folder
    patterns: tuple[InputPattern, ...]
    others: tuple[tuple[str, str], ...]
    """Paths of files and folders in or outside the workspace, each with the reason why no output may replace it."""
    outputs: tuple[str, ...]
    """Paths of the files that `outputs:` lists."""


def refuse_inputs(targets: Sequence[OutputFile], inputs: InputFiles) -> None:
    """Raise `ContextasmError` for a target that a build could read, whether it exists or not.

    Also for one that a link in the workspace turns into a file outside: the person did not name that file.
    """
    for target in targets:
        if _leads_out(target, inputs.folder.root):
            what = f"a link in the workspace leads out of it, to {target.real}"
            raise ContextasmError(f"{target.option} {target.path}", what, "name that file itself to write it")
    for target, what in overwritten_inputs(targets, inputs):
        raise ContextasmError(f"{target.option} {target.path}", what, "name another file to write to")


def _leads_out(target: OutputFile, root: str) -> bool:
    """Whether the way to a file leads through the workspace and out of it again."""
    return not _is_below(target.real, root) and any(
        _is_below(os.path.realpath(folder), root) for folder in PurePath(target.full).parents
    )


def _is_below(real: str, root: str) -> bool:
    return real == root or real.startswith(root.rstrip("/") + "/")


def overwritten_inputs(targets: Sequence[OutputFile], inputs: InputFiles) -> Iterator[tuple[OutputFile, str]]:
    """Targets that a build could read, each with the reason why it is no place for an output."""
    if not targets:
        return
    by_identity = {target.identity: target for target in targets}
    for path, what in inputs.others:
        yield from ((target, what) for target in targets if _is_same_or_below(target, path))
    for path in inputs.outputs:
        output = by_identity.get(file_identity(path))
        if output and output.kind not in {"text", "block"}:
            yield output, "ctxasm.yaml lists this file as an output of a build"
    yield from _kept_targets(targets, inputs.folder.root)
    tree = _TreeWithTargets(inputs.folder, targets)
    for pattern in dict.fromkeys(inputs.patterns):
        for path in list_matching(tree, pattern.pattern):
            match = by_identity.get(file_identity(f"{inputs.folder.root}/{path}"))
            if match and not _is_allowed_block(match, pattern):
                yield match, pattern.what


def _kept_targets(targets: Sequence[OutputFile], root: str) -> Iterator[tuple[OutputFile, str]]:
    """Targets in archives, and files that other tools read, whether they exist or not."""
    for target in targets:
        if _is_below(target.real, root):
            path = os.path.relpath(target.real, root).casefold()  # a disk may ignore the case of letters
            yield from ((target, what) for pattern, what in _KEPT_PLACES if glob_matches(pattern, path))


def _is_allowed_block(target: OutputFile, pattern: InputPattern) -> bool:
    if not (target.managed and pattern.takes_block and target.real.endswith(BLOCK_SUFFIXES)):
        return False
    return pattern.takes_new_file or os.path.exists(target.full)


def _is_same_or_below(target: OutputFile, path: str) -> bool:
    if target.identity == file_identity(path):
        return True
    return os.path.isdir(path) and target.real.startswith(os.path.realpath(path).rstrip("/") + "/")


class _TreeWithTargets:
    """The workspace as if all targets existed already (`text.glob.Tree`)."""

    def __init__(self, folder: Folder, targets: Sequence[OutputFile]) -> None:
        self._folder = folder
        self._identities = {target.identity for target in targets}
        self._names: dict[FileIdentity, list[str]] = {}
        for target in targets:
            parent, name = os.path.split(target.real)
            self._names.setdefault(file_identity(parent), []).append(name)

    def holds(self, folder: str) -> bool:
        """Whether a folder lies in the workspace, once links are followed."""
        return self._folder.holds(folder)

    def exists(self, path: str) -> bool:
        """Whether there is a file at `path`, or a target would make one."""
        return self._folder.exists(path) or file_identity(f"{self._folder.root}/{path}") in self._identities

    def entries(self, folder: str) -> Iterator[TreeEntry]:
        """Names in a folder, those of targets included; hidden ones are left out, as in any folder."""
        names: set[str] = set()
        for entry in self._folder.entries(folder) or ():  # of a folder that can't be listed, a build reads nothing
            names.add(entry.name)
            yield entry
        for name in self._names.get(file_identity(f"{self._folder.root}/{folder}"), ()):
            if name not in names and not name.startswith("."):
                yield NamedEntry(name)
