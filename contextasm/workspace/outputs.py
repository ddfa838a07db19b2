"""Output files of a build, written whole or in a managed block, and the input files that none of them may replace.

Everything that a write needs is read and checked here, so that no file is refused after the first one is written. The
caller writes. Files are compared by what the disk holds, and not by their spelling: links, hard links, `./`, and the
case of letters on a disk that ignores it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Self

from contextasm.model import ContextasmError, Document, NamedTuple, grouped
from contextasm.text.markdown.managed_block import find_block, remove_block, with_block
from contextasm.text.names.glob import NamedEntry, TreeEntry, glob_matches, list_matching
from contextasm.workspace.folder import Folder, folders_above, is_below
from contextasm.workspace.reading import MISSING, file_bytes

if TYPE_CHECKING:
    from pathlib import Path

BLOCK_SUFFIXES = (".md", ".mdc", ".markdown")
"""Ends of the names of files in which a managed block is a comment; of other inputs it would break the format."""

FileIdentity = tuple[object, ...]
"""Value that is equal for two paths of one file: device and inode, or for a missing file its folder's and its name."""


OutputKind = Literal["text", "block", "manifest", "metrics", "baseline", "page", "receipt"]

OPTIONS: Mapping[OutputKind, str] = {
    "text": "-o",
    "block": "--into",
    "manifest": "--manifest",
    "metrics": "--metrics",
    "baseline": "--baseline",
    "page": "--html",
    "receipt": "--receipt",
}
"""The option that names each kind of file."""


class OutputFile(NamedTuple):
    """A file to write."""

    kind: OutputKind
    path: Path
    """The path as the user named it."""
    full: str
    """The absolute path; it stays valid if the current folder changes."""

    @classmethod
    def named(cls, kind: OutputKind, path: str) -> Self:
        """The file that an option names. Raises `ContextasmError` for `-`."""
        from pathlib import Path

        if path == "-":
            option = OPTIONS[kind]
            raise ContextasmError(option, "- is standard output, not a file", f"name a file with {option} FILE")
        return cls(kind, Path(path), os.path.abspath(path))

    @property
    def option(self) -> str:
        """The option that names it, for messages."""
        return OPTIONS[self.kind]

    @property
    def managed(self) -> bool:
        """Whether the text goes into a managed block, and not in place of the whole content."""
        return self.kind == "block"

    @property
    def real(self) -> str:
        """The file's path with all links followed."""
        return os.path.realpath(self.full)

    @property
    def identity(self) -> FileIdentity:
        """The same value for all paths of the file."""
        return file_identity(self.full)


REPORTS = {"manifest", "metrics"}
"""Kinds of files that describe a context and do not hold its text."""


PendingWrite = tuple[OutputFile, bytes | None]
"""A file and its new content; None for no file."""


def file_identity(path: str) -> FileIdentity:
    """The same value for all absolute paths of one file, whether it exists or not."""
    try:
        status = os.stat(path)
    except OSError:
        return _identity_of_missing_file(os.path.realpath(path))
    return status.st_dev, status.st_ino


def _identity_of_missing_file(real: str) -> FileIdentity:
    folder, name = os.path.split(real)
    try:
        status = os.stat(folder)
    except OSError:
        return (real,)
    return status.st_dev, status.st_ino, name.casefold() if _ignores_case(folder) else name


def _ignores_case(folder: str) -> bool:
    """Whether two names in a folder that differ only in case are one file."""
    other = folder.swapcase()
    return other != folder and os.path.exists(other) and os.path.samefile(folder, other)


def output_files(
    output: str | None, into: Iterable[str], manifest: str | None = None, metrics: str | None = None
) -> tuple[OutputFile, ...]:
    """The files that `-o`, `--into`, `--manifest` and `--metrics` name, in this order.

    A file that `--into` names twice is written once. Raises `ContextasmError` for `-`, and for a file that two options
    name.
    """
    named: list[tuple[OutputKind, str | None]] = [
        ("text", output),
        *(("block", path) for path in into),
        ("manifest", manifest),
        ("metrics", metrics),
    ]
    targets: list[OutputFile] = []
    for kind, path in named:
        if path is None:
            continue
        target = OutputFile.named(kind, path)
        first = next((other for other in targets if other.identity == target.identity), target)
        if first.managed and target.managed and first is not target and first.real == target.real:
            continue
        if first is not target and not _is_device(target.full):
            what = f"{target.path} is the same file as {first.option} {first.path}"
            raise ContextasmError(target.option, what, "name two files")
        targets.append(target)
    return tuple(targets)


def _is_device(path: str) -> bool:
    try:
        return stat.S_ISCHR(os.stat(path).st_mode)
    except OSError:
        return False


def is_missing(target: OutputFile) -> bool:
    """Whether the file, or the managed block in it, does not exist. Raises `ContextasmError` for an unreadable file."""
    text = current_text(target.path)
    return text is None or (target.managed and find_block(text) is None)


def pending_write(target: OutputFile, data: bytes | None, *, force: bool = False) -> PendingWrite:
    """The new content of a target for `data`, a text in UTF-8; for None, its content without the managed block.

    `force` replaces a managed block that was edited by hand. Raises `ContextasmError` for an edited block without
    `force`, for broken markers and for a file that can't be read.
    """
    if not target.managed:
        return target, data
    where = str(target.path)
    if target.path.exists() and not target.path.is_file():
        raise ContextasmError(where, "is not a file that can hold a block", "name a text file")
    text = current_text(target.path)
    if text and (text.startswith(("\udcff\udcfe", "\udcfe\udcff")) or "\0" in text):
        raise ContextasmError(where, "is not UTF-8 text", "name a text file, or save it as UTF-8")
    if data is not None:
        return target, with_block(text, data.decode(), where, force=force).encode("utf-8", "surrogateescape")
    rest = None if text is None else remove_block(text, where, force=force)
    return target, None if rest is None else rest.encode("utf-8", "surrogateescape")


def current_bytes(path: Path) -> bytes | None:
    """The content of a file; None if it does not exist. Raises `ContextasmError` if it can't be read."""
    data = file_bytes(str(path))
    if isinstance(data, bytes):
        return data
    if data.code in {MISSING, "not-a-folder"}:
        return None
    raise ContextasmError(str(path), data.message, "name a readable file")


def current_text(path: Path) -> str | None:
    """As `current_bytes`, as a text that gives all bytes back: they need not be UTF-8."""
    data = current_bytes(path)
    return None if data is None else data.decode("utf-8", "surrogateescape")


_ARCHIVE = "ctxasm tidy keeps archived text here"
_GIT = "git reads this file"

_KEPT_PLACES = (
    ("**/archive/*.txt", _ARCHIVE),
    ("**/daily/archive/**", _ARCHIVE),
    ("**/memories/archive/**", _ARCHIVE),
    ("**/.gitignore", _GIT),
    ("**/.gitattributes", _GIT),
)
"""Patterns of files below the workspace, as `text.names.glob.glob_matches` takes them, that no layer needs to read."""


class InputPattern(NamedTuple):
    """A pattern of the files that one part of a build reads."""

    pattern: str
    """Path or pattern below the workspace, as `text.names.glob.list_matching` takes it."""
    what: str
    """The reason why an output may not replace such a file."""
    takes_block: bool = False
    """Whether a file may hold a managed block: it is read as text, and the block is taken out on reading."""
    takes_new_file: bool = False
    """Whether a new file with nothing but a managed block changes no context."""
    except_paths: tuple[str, ...] = ()
    """Patterns of files that are not read although they match."""


class InputFiles(NamedTuple):
    """All files that builds of a workspace could read."""

    folder: Folder
    patterns: tuple[InputPattern, ...]
    others: tuple[tuple[str, str], ...]
    """Paths of files and folders in or outside the workspace, each with the reason why no output may replace it."""
    outputs: tuple[str, ...]
    """Paths of the files that `outputs:` lists."""


def refuse_inputs(targets: Sequence[OutputFile], inputs: InputFiles) -> None:
    """Raise `ContextasmError` for a target that a build could read; it need not exist.

    Also for one that a link in the workspace turns into a file outside: the person did not name that file.
    """
    refuse_links_out(targets, inputs.folder.root)
    for target, what in overwritten_inputs(targets, inputs):
        raise ContextasmError(f"{target.option} {target.path}", what, "name another file to write to")


def refuse_links_out(targets: Sequence[OutputFile], root: str) -> None:
    """Raise `ContextasmError` for a target that a link in the workspace at `root` turns into a file outside."""
    for target in targets:
        if _leads_out(target, root):
            what = f"leads to {target.real}, outside the workspace"
            raise ContextasmError(
                f"{target.option} {target.path}", what, f"to write that file, use {target.option} {target.real}"
            )


def refuse_cited(targets: Iterable[OutputFile], root: str, cited: Iterable[Document]) -> None:
    """Raise `ContextasmError` for a target that would replace a file which a memory of the context cites.

    `cited` are files of the workspace at `root`. A managed block only moves the lines.
    """
    cited_files = {file_identity(f"{root}/{document.path}") for document in cited}
    for target in targets:
        if target.identity in cited_files and not target.managed:
            what = "a memory of the context cites lines of this file"
            raise ContextasmError(f"{target.option} {target.path}", what, "name another file to write to")


def _leads_out(target: OutputFile, root: str) -> bool:
    """Whether the way to a file leads through the workspace and out of it again."""
    return not is_below(target.real, root) and any(
        is_below(os.path.realpath(folder), root) for folder in folders_above(target.full)
    )


def overwritten_inputs(targets: Sequence[OutputFile], inputs: InputFiles) -> Iterator[tuple[OutputFile, str]]:
    """Targets that a build could read, each with the reason why an output may not replace it."""
    if not targets:
        return
    by_identity = {target.identity: target for target in targets}
    for path, what in inputs.others:
        yield from ((target, what) for target in targets if _is_same_or_below(target, path))
    for path in inputs.outputs:
        output = by_identity.get(file_identity(path))
        if output and output.kind not in {"text", "block"}:
            yield output, "ctxasm.yaml lists this file as an output of a build"
    root = inputs.folder.root
    yield from _kept_targets(targets, root)
    tree = _TreeWithTargets(inputs.folder, targets)
    for pattern in dict.fromkeys(inputs.patterns):
        for path in list_matching(tree, pattern.pattern):
            match = by_identity.get(file_identity(f"{root}/{path}"))
            is_read = not any(glob_matches(each, path) for each in pattern.except_paths)
            if match and is_read and not _is_allowed_block(match, pattern):
                yield match, pattern.what


def _kept_targets(targets: Sequence[OutputFile], root: str) -> Iterator[tuple[OutputFile, str]]:
    """Targets in archives, and files that other tools read; they need not exist."""
    for target in targets:
        if is_below(target.real, root):
            path = os.path.relpath(target.real, root).casefold()  # a disk may ignore the case of letters
            yield from ((target, what) for pattern, what in _KEPT_PLACES if glob_matches(pattern, path))


def _is_allowed_block(target: OutputFile, pattern: InputPattern) -> bool:
    if not (target.managed and pattern.takes_block and target.real.endswith(BLOCK_SUFFIXES)):
        return False
    return pattern.takes_new_file or os.path.exists(target.full)


def _is_same_or_below(target: OutputFile, path: str) -> bool:
    if target.identity == file_identity(path):
        return True
    return os.path.isdir(path) and is_below(target.real, os.path.realpath(path))


class _TreeWithTargets:
    """The workspace as if all targets existed already, under each name that links to folders give them."""

    def __init__(self, folder: Folder, targets: Sequence[OutputFile]) -> None:
        self._folder = folder
        self._identities = {target.identity for target in targets}
        self._names = grouped(
            (file_identity(os.path.dirname(each.real)), os.path.basename(each.real)) for each in targets
        )

    def holds(self, folder: str) -> bool:
        return self._folder.holds(folder)

    def exists(self, path: str) -> bool:
        return self._folder.exists(path) or file_identity(f"{self._folder.root}/{path}") in self._identities

    def entries(self, folder: str) -> Iterator[TreeEntry]:
        yield from self._folder.entries(folder) or ()  # of a folder that can't be listed, a build reads nothing
        names = self._names.get(file_identity(f"{self._folder.root}/{folder}"), ())
        yield from (NamedEntry(name) for name in names if not name.startswith("."))
