"""Files of the workspace that are edited, and the lock that an editor holds.

Every byte that is not meant to change is written as it was read. Nothing outside the workspace is written.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from contextasm.model import ContextasmError, Document, system_errors
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.markdown.literals import open_literal
from contextasm.workspace.atomic import STATE_FOLDER, make_state_folder, remove_empty_folder, remove_torn, write
from contextasm.workspace.editing.journal import Recovery, is_unfinished, recover
from contextasm.workspace.folder import Folder
from contextasm.workspace.reading import file_bytes

LOCK = f"{STATE_FOLDER}/lock"

_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}

_RETRY_SECONDS = 0.02
"""Seconds between two attempts to take a lock for which one waits a limited time."""

_BYTE_ORDER_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))


class EditableFile:
    """The bytes of a file, their encoding and their text."""

    def __init__(self, data: bytes) -> None:
        """`data` is empty for a file that does not exist yet."""
        self.data = data
        marks = (pair for pair in _BYTE_ORDER_MARKS if data.startswith(pair[0]))
        self.mark, self.encoding = next(marks, (b"", "utf-8"))

    @cached_property
    def text(self) -> str:
        """The text, with line ends unchanged. Raises `UnicodeDecodeError`, but never for a `Document` that was read."""
        return self.data[len(self.mark) :].decode(self.encoding)

    def encoded(self, text: str) -> bytes:
        """A text of LF lines as bytes for this file, with the line ends of its first line."""
        first, end, _ = self.text.partition("\n")
        if end and first.endswith("\r"):
            text = text.replace("\n", "\r\n")
        return text.encode(self.encoding)


@contextmanager
def locked(workspace: Folder, *, edits: bool = True, patience: float | None = None) -> Iterator[Recovery]:
    """Wait for the workspace's lock and hold it. The system releases it however the process ends.

    What an interrupted application of upkeep has changed is taken back first (`workspace/editing/journal.py`), and the
    value of the context says what became of it, for a person (`cli/owner.py`). Without
    `edits`, for a command that may write outside of the workspace, it is not held if the workspace can't
    be written to: nobody can edit there. Raises `ContextasmError` if it can't be held, or not after waiting for
    `patience` seconds; None is for any time.
    """
    with hold_lock_file(writable_path(workspace, LOCK), patience=patience, needed=edits) as is_held:
        is_interrupted = is_held and is_unfinished(workspace.root)
        yield recover(workspace.root) if is_interrupted else None


@contextmanager
def hold_lock_file(path: Path, *, patience: float | None, needed: bool = True) -> Iterator[bool]:
    """Wait for a lock file below the state of a workspace and hold it, as `locked` does with the workspace's.

    The value of the context is whether it is held: False if it is not `needed` and can't be made. Raises as `locked`.
    """
    while True:
        handle = _open_lock_file(path, needed=needed)
        if handle is None:
            yield False
            return
        with open(handle, "rb", buffering=0):
            if _take_lock(handle, path, patience):
                yield True
                return


def _open_lock_file(path: Path, *, needed: bool) -> int | None:
    """The lock file, open; None if it is not `needed` and can't be made in a workspace that is read-only."""
    try:
        make_state_folder(path.parent.parent)
        remove_empty_folder(path)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        if error.errno in _READ_ONLY:
            with suppress(OSError):  # the one who made it may hold it
                return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            if not needed:
                return None
        hint = "make the workspace writable"
        raise ContextasmError(str(path), f"can't be made: {error.strerror}", hint) from error


def _take_lock(handle: int, path: Path, patience: float | None) -> bool:
    """Wait for the lock and sign it; False if the file was deleted meanwhile, so that another process may hold another.

    The number of this process in the file is for processes that wait; a read-only file stays unsigned.
    """
    import fcntl

    end = time.monotonic() + (patience or 0)
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if patience is None else fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if time.monotonic() > end:
                holder = _holder(path)
                hint = f"wait until {f'process {holder}' if holder else 'it'} has ended"
                raise ContextasmError(str(path), "another ctxasm writes in the workspace", hint) from error
            time.sleep(_RETRY_SECONDS)
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    with suppress(OSError):
        return os.path.samestat(path.stat(), os.fstat(handle))
    return False


def _holder(path: Path) -> str:
    """The number of the process that holds the lock, as it signed; empty if it did not."""
    signed = file_bytes(str(path), limit=20)
    number = signed.strip().decode("ascii", "replace") if isinstance(signed, bytes) else ""
    return number if number.isdecimal() else ""


def writable_path(workspace: Folder, path: str) -> Path:
    """The path on disk of a path of the workspace. Raises `ContextasmError` if links lead out of it."""
    full = Path(workspace.root, path)
    real = os.path.realpath(full)
    if not real.startswith(workspace.root.rstrip("/") + "/"):
        raise ContextasmError(path, f"leads through a link out of the workspace, to {real}", "remove the link")
    return full


def open_document(workspace: Folder, path: str) -> Document:
    """The file at `path`, without bytes if it does not exist. Raises `ContextasmError` if it can't be read as text."""
    writable_path(workspace, path)
    read = workspace.read(path) or decode_document(path, b"")
    if isinstance(read, Document):
        return read
    raise ContextasmError(path, read.message, "correct the file; nothing has been written")


def open_file(workspace: Folder, path: str) -> EditableFile:
    """The bytes of the file at `path`, as `open_document` reads it. Raises `ContextasmError`."""
    return EditableFile(open_document(workspace, path).data)


def save_file(workspace: Folder, path: str, data: bytes) -> None:
    """Make `data` the content of a file, and make its folder if it is missing. The caller holds the lock.

    Raises `ContextasmError` if it can't be written, and for a file of a shared store.
    """
    refuse_store(workspace, path)
    full = writable_path(workspace, path)
    with system_errors(path, "can't be written", "make its folder writable"):
        full.parent.mkdir(parents=True, exist_ok=True)
        remove_torn(full.parent, [full.name])
    write(full, data)


def refuse_store(workspace: Folder, path: str) -> None:
    """Raise `ContextasmError` for a file of memories of a shared store."""
    if workspace.kept_elsewhere(path):
        hint = "store a memory that replaces it, with `ctxasm remember --supersedes ID`"
        raise ContextasmError(path, "is in the shared store, so it can't be edited here", hint)


def append_log(workspace: Folder, path: str, text: str) -> bool:
    """Add a text of LF lines to the end of a log; True if the log is new. Raises `ContextasmError`.

    A text that begins with `---` is put below a blank line: as the first lines of a file it would be front matter.
    What the text above leaves open, such as a code fence, is closed first.
    """
    with locked(workspace):
        old = open_file(workspace, path)
        above = old.text.replace("\r\n", "\n").rstrip("\n")
        if (left_open := open_literal(above)) and left_open.closing:
            line_end = "" if old.text.endswith("\n") else "\n"
            old = EditableFile(old.data + old.encoded(f"{line_end}{left_open.closing}\n"))
        is_rule_first = not old.text.strip() and text.startswith("---")
        separator = _missing_line_ends(old.text) + ("\n" if is_rule_first else "")
        save_file(workspace, path, old.data + old.encoded(f"{separator}{text}\n"))
    return not old.data


def append_line(workspace: Folder, path: str, line: str) -> int:
    """Add a line, given without its end, to a file of lines; gives its number, from 1. Raises `ContextasmError`.

    A last line that has no end, as one that was torn, gets one first.
    """
    with locked(workspace):
        old = open_file(workspace, path)
        separator = "\n" if old.text and not old.text.endswith("\n") else ""
        save_file(workspace, path, old.data + old.encoded(f"{separator}{line}\n"))
    return old.text.count("\n") + len(separator) + 1


def _missing_line_ends(old: str) -> str:
    """Line ends to add to a text so that it ends in a blank line; empty for an empty text."""
    if not old.strip():
        return "" if not old or old.endswith("\n") else "\n"
    lines = old.replace("\r\n", "\n").split("\n")
    if lines[-1].strip():
        return "\n\n"
    return "\n" if lines[-1] or lines[-2].strip() else ""
