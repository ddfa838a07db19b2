"""Write files whole or not at all.

Standard streams are written in `cli/output.py`.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from pathlib import Path

from contextasm.model import ContextasmError
from contextasm.workspace.reading import file_bytes


def write(path: Path, data: bytes, *, private: bool = False) -> bool:
    """Make `data` the content of a file, atomically; False where the file had this content already.

    A link's target is written, not the link. A new file gets the usual mode, or with `private` one that is its owner's
    alone; an old one keeps its own. Devices and pipes are written to directly. Raises `ContextasmError`; the file then
    still has its old content.
    """
    target = os.path.realpath(path)
    try:
        # Not of the real path: that of `/dev/stdout` in a pipeline is no path at all.
        status = os.stat(path)
    except FileNotFoundError:
        mode = 0o600 if private else 0o666 & ~_permission_mask()
    except OSError as error:
        raise _write_error(path, error) from error
    else:
        if stat.S_ISDIR(status.st_mode):
            raise ContextasmError(str(path), "is a folder", "name a file")
        if not stat.S_ISREG(status.st_mode):
            _write_directly(path, data)
            return True
        if status.st_size == len(data) and file_bytes(target, limit=len(data)) == data:
            return False
        mode = stat.S_IMODE(status.st_mode)
    try:
        _replace_file(target, data, mode)
    except OSError as error:
        raise _write_error(path, error, replaced=os.path.exists(target)) from error
    return True


def refuse_unwritable(path: Path) -> None:
    """Raise `ContextasmError` for a file that `write` could not write, as far as can be said without trying."""
    folder = os.path.dirname(os.path.realpath(path))
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if not os.path.isdir(folder):
            raise _write_error(path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))) from None
        writable = os.access(folder, os.W_OK | os.X_OK)
    except OSError as error:
        raise _write_error(path, error) from error
    else:
        if stat.S_ISDIR(status.st_mode):
            raise ContextasmError(str(path), "is a folder", "name a file")
        writable = os.access(folder if stat.S_ISREG(status.st_mode) else path, os.W_OK)
    if not writable:
        raise _write_error(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def _replace_file(target: str, data: bytes, mode: int) -> None:
    """Write a temporary file beside the file and give it the file's name."""
    import tempfile

    folder, name = os.path.split(target)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name[:100]}.", suffix=".tmp")
    try:
        try:
            emit(handle, data)
            os.fchmod(handle, mode)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_directly(path: Path, data: bytes) -> None:
    """Write into a device or a pipe; this waits for a reader."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            emit(handle, data)
        finally:
            os.close(handle)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _write_error(path, error) from error


def _write_error(path: Path, error: OSError, *, replaced: bool = False) -> ContextasmError:
    hint = {
        errno.ENOSPC: "free some space; the old content still stands" if replaced else "free some space",
        errno.ENOENT: "make its folder first",
        errno.ENOTDIR: "make its folder first",
    }.get(error.errno or 0, "name a file that can be written")
    return ContextasmError(str(path), f"can't be written: {error.strerror}", hint)


def _permission_mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def as_bytes(text: str) -> bytes:
    """The text in UTF-8; a byte of a file name that is no UTF-8 becomes an escape, which JSON can read back."""
    return text.encode(errors="backslashreplace")


def emit(handle: int, data: bytes) -> None:
    """Write all of `data` to an open file, in as many steps as it takes, blocking or not. Raises `OSError`."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(handle, rest) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(handle, select.POLLOUT)
            poll.poll()
