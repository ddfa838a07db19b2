"""Output files of a build, written whole or in a managed block.

All that a write needs is read and settled here, so that no file has to be refused once the first one is written. That
no build reads such a file is settled in `workspace/inputs.py`; the caller writes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, Self

from contextasm.model import ContextasmError
from contextasm.text.markdown.managed_block import find_block, with_block
from contextasm.workspace.reading import MISSING, file_bytes

BLOCK_SUFFIXES = (".md", ".mdc", ".markdown")
"""Ends of the names of files in which a managed block is a comment; of other inputs it would break the format."""

FileIdentity = tuple[object, ...]
"""Value that is equal for two paths of one file: device and inode, or for a missing file its folder's and its name."""


OutputKind = Literal["text", "block", "manifest", "metrics", "baseline", "page"]

OPTIONS: Mapping[OutputKind, str] = {
    "text": "-o",
    "block": "--into",
    "manifest": "--manifest",
    "metrics": "--metrics",
    "baseline": "--baseline",
    "page": "--html",
}
"""The option that names each kind of file."""


class OutputFile(NamedTuple):
    """A file to write."""

    kind: OutputKind
    path: Path
    """The path as the user named it."""
    full: str
    """The absolute path, whatever becomes of the current folder."""

    @classmethod
    def named(cls, kind: OutputKind, path: str) -> Self:
        """The file that an option names."""
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
"""Kinds of files that tell of a context and do not hold its text."""


class PendingWrite(NamedTuple):
    """A file and its new content."""

    target: OutputFile
    data: bytes

    @property
    def path(self) -> Path:
        """The path as the user named it."""
        return self.target.path


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
    """Whether two names in a folder that differ in case alone are one file."""
    other = folder.swapcase()
    return other != folder and os.path.exists(other) and os.path.samefile(folder, other)


def output_files(
    output: str | None, into: Iterable[str], manifest: str | None = None, metrics: str | None = None
) -> tuple[OutputFile, ...]:
    """The files that `-o`, `--into`, `--manifest` and `--metrics` name, in this order.

    `-` is standard output for all but `--into`, and no file. A file that `--into` names twice is written once.
    Raises `ContextasmError` for an empty name, and for a file that two options name.
    """
    named: list[tuple[OutputKind, str | None]] = [
        ("text", output),
        *(("block", path) for path in into),
        ("manifest", manifest),
        ("metrics", metrics),
    ]
    targets: list[OutputFile] = []
    for kind, path in named:
        if path is None or (path == "-" and kind != "block"):
            continue
        if path == "-":
            hint = "name a file, such as AGENTS.md"
            raise ContextasmError(OPTIONS[kind], "- is no file that could hold a block", hint)
        target = OutputFile.named(kind, path)
        first = next((other for other in targets if other.identity == target.identity), target)
        if first.managed and target.managed and first is not target and first.real == target.real:
            continue
        if first is not target and not _is_device(target.full):
            what = f"{target.path} is the {first.option} file {first.path} too"
            raise ContextasmError(target.option, what, "name two files")
        targets.append(target)
    return tuple(targets)


def _is_device(path: str) -> bool:
    try:
        return stat.S_ISCHR(os.stat(path).st_mode)
    except OSError:
        return False


def is_missing(target: OutputFile) -> bool:
    """Whether there is no such file, or no managed block in it. Raises `ContextasmError` for an unreadable file."""
    data = current_bytes(target.path)
    return data is None or (target.managed and find_block(data.decode("utf-8", "surrogateescape")) is None)


def pending_writes(targets: Iterable[OutputFile], data: bytes, *, force: bool = False) -> tuple[PendingWrite, ...]:
    """The new content of each target for `data`, a text in UTF-8.

    `force` replaces a managed block that was edited by hand. Raises `ContextasmError` for an edited block without
    `force`, for broken markers and for a file that can't be read.
    """
    return tuple(_pending_write(target, data, force=force) for target in targets)


def _pending_write(target: OutputFile, data: bytes, *, force: bool) -> PendingWrite:
    if not target.managed:
        return PendingWrite(target, data)
    if target.path.exists() and not target.path.is_file():
        raise ContextasmError(str(target.path), "is no file that could hold a block", "name a text file")
    old = current_bytes(target.path) or b""
    if old.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in old:
        raise ContextasmError(str(target.path), "is no UTF-8 text", "name a text file, or save it as UTF-8")
    # Bytes that are no UTF-8 stand outside the block, and stay unchanged.
    new = with_block(old.decode("utf-8", "surrogateescape"), data.decode(), str(target.path), force=force)
    return PendingWrite(target, new.encode("utf-8", "surrogateescape"))


def current_bytes(path: Path) -> bytes | None:
    """The content of a file; None where there is none. Raises `ContextasmError` where it can't be read."""
    data = file_bytes(str(path))
    if isinstance(data, bytes):
        return data
    if data.code in {MISSING, "not-a-folder"}:
        return None
    raise ContextasmError(str(path), data.message, "name a file that can be read")
