"""Writing: files whole or not at all, and streams to the last byte."""

from __future__ import annotations

import errno
import os
import select
import stat
from contextlib import suppress
from pathlib import Path

from contextasm.model import ContextasmError


def write(path: Path, data: bytes) -> bool:
    """Make `data` the content of a file, atomically; whether anything had to be written.

    A link's target is written, not the link. A new file gets the usual mode, an old one keeps its own. Devices and
    pipes are written to directly. Raises `ContextasmError`; the old content then still stands.
    """
    target = os.path.realpath(path)
    try:
        # Not of the real path: that of `/dev/stdout` in a pipeline is no path at all.
        status = os.stat(path)
    except FileNotFoundError:
        mode = 0o666 & ~_umask()
    except OSError as error:
        raise _failed(path, error) from error
    else:
        if stat.S_ISDIR(status.st_mode):
            raise ContextasmError(str(path), "is a folder", "name a file")
        if not stat.S_ISREG(status.st_mode):
            _write_directly(path, data)
            return True
        if status.st_size == len(data) and Path(target).read_bytes() == data:
            return False
        mode = stat.S_IMODE(status.st_mode)
    try:
        _replace(target, data, mode)
    except OSError as error:
        raise _failed(path, error) from error
    return True


def _replace(target: str, data: bytes, mode: int) -> None:
    """Write a neighbour of the file and give it the file's name."""
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
    """Write into a device or a pipe, waiting for its reader."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            emit(handle, data)
        finally:
            os.close(handle)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _failed(path, error) from error


def _failed(path: Path, error: OSError) -> ContextasmError:
    """What to tell of a file that could not be written."""
    hint = {
        errno.ENOSPC: "free some space; the old content still stands",
        errno.ENOENT: "make its folder first",
        errno.ENOTDIR: "make its folder first",
    }.get(error.errno or 0, "name a file that can be written")
    return ContextasmError(str(path), f"can't be written: {error.strerror}", hint)


def _umask() -> int:
    """The process's mask of permissions."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def as_bytes(text: str) -> bytes:
    """Text in UTF-8; what a file name holds that is none comes as an escape, which JSON can read back."""
    return text.encode(errors="backslashreplace")


def emit(handle: int, data: bytes) -> None:
    """Write all of `data` to an open file, however little it takes at a time, blocking or not. Raises `OSError`."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(handle, rest) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(handle, select.POLLOUT)
            poll.poll()


def emit_stdout(data: bytes) -> None:
    """Write to standard output. Raises `BrokenPipeError` where the reader has gone, else `ContextasmError`."""
    try:
        emit(1, data)
    except BrokenPipeError:
        raise
    except OSError as error:
        hint = "free some space" if error.errno == errno.ENOSPC else "give it somewhere to go, or use -o FILE"
        raise ContextasmError("standard output", f"can't be written: {error.strerror}", hint) from error


def tell(line: str) -> None:
    """Write a line to standard error; where nobody takes it, it is lost."""
    with suppress(OSError):
        emit(2, as_bytes(f"{line}\n"))
