"""Output files of a build, written whole or in a managed block.

All files are read and checked here, so that no file has to be refused once the first one is written. The caller writes
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from contextasm.model import Context, ContextasmError
from contextasm.text.managed_block import with_block


class OutputFile(NamedTuple):
    """A file to write."""

    path: Path
    """The path as the user named it."""
    managed: bool
    """Whether the text goes into a managed block, and not in place of the whole content."""

    @property
    def real(self) -> str:
        """The file's path with all links followed."""
        return os.path.realpath(self.path)


class PendingWrite(NamedTuple):
    """A file and its new content."""

    path: Path
    data: bytes


def output_files(output: str | None, into: Iterable[str]) -> tuple[OutputFile, ...]:
    """The files that `-o` and `--into` name, each real file once.

    `-` for `-o` is standard output and no file. Raises `ContextasmError` for a file that both name.
    """
    whole = (OutputFile(Path(output), managed=False),) if output and output != "-" else ()
    managed = (OutputFile(Path(path), managed=True) for path in reversed([*into]))
    blocks = {target.real: target for target in managed}
    for target in whole:
        if target.real in blocks:
            raise ContextasmError("--into", f"{blocks[target.real].path} is the -o file too", "name two files")
    return (*whole, *reversed(blocks.values()))


def refuse_inputs(targets: Sequence[OutputFile], root: str, context: Context) -> None:
    """Raise `ContextasmError` for a target that is an input of the context, too: each build would change the next."""
    inputs = {os.path.realpath(f"{root}/{document.path}") for document in context.documents} if targets else set()
    for target in targets:
        if target.real in inputs:
            what = "the context is made of this file, too"
            raise ContextasmError(str(target.path), what, "name another file to write to")


def pending_writes(targets: Iterable[OutputFile], data: bytes, *, force: bool = False) -> tuple[PendingWrite, ...]:
    """The new content of each target for `data`, a text in UTF-8.

    `force` replaces a managed block that was edited by hand. Raises `ContextasmError` for an edited block without
    `force`, for broken markers and for a file that can't be read.
    """
    return tuple(_pending_write(target, data, force=force) for target in targets)


def _pending_write(target: OutputFile, data: bytes, *, force: bool) -> PendingWrite:
    if not target.managed:
        return PendingWrite(target.path, data)
    if target.path.exists() and not target.path.is_file():
        raise ContextasmError(str(target.path), "is no file that could hold a block", "name a text file")
    old = current_bytes(target.path) or b""
    if old.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in old:
        raise ContextasmError(str(target.path), "is no UTF-8 text", "name a text file, or save it as UTF-8")
    # Bytes that are no UTF-8 stand outside the block, and stay unchanged.
    new = with_block(old.decode("utf-8", "surrogateescape"), data.decode(), str(target.path), force=force)
    return PendingWrite(target.path, new.encode("utf-8", "surrogateescape"))


def current_bytes(path: Path) -> bytes | None:
    """The content of a file; None where there is none. Raises `ContextasmError` where it can't be read."""
    try:
        return path.read_bytes() if path.exists() else None
    except OSError as error:
        raise ContextasmError(str(path), f"can't be read: {error.strerror}", "make it readable") from error
