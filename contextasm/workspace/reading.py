"""Reading: the one way to the bytes of a file, in the workspace or named by a person.

A pipe, a socket, a device or a folder is never opened for its content, so nothing here waits. The exception is a pipe
that a shell passes to this process as a file: what a person types as `<(command)`.
`text/cleaning/clean.py` decides what the bytes mean.
"""

import errno
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from contextasm.model import MAX_FILE, ContextasmError, FileStamp, NamedTuple
from contextasm.workspace import reads

MISSING = "missing"
"""Code of the failure if no file exists at a path."""

_FILE_TYPES = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))


class ReadFailure(NamedTuple):
    """The reason why a file was not read."""

    code: str
    """As of a `Problem`; `MISSING` for no file, and `not-a-folder` for a path below a file."""
    message: str
    """Text that follows the name of the file in a message."""


def file_bytes(path: str, limit: int = MAX_FILE, holds: Callable[[str], bool] | None = None) -> bytes | ReadFailure:
    """The bytes of a regular file, or the reason why they can't be read.

    `limit` is in bytes. `holds` says whether the real path of a link may be read; None for any.
    """
    data = _file_bytes(path, limit, holds)
    if isinstance(data, ReadFailure) and data.code != MISSING:
        reads.note_other_input()  # such a failure is rare, and need not be the same again
    return data


def named_bytes(path: str, limit: int = MAX_FILE) -> bytes | ReadFailure:
    """The bytes of a file that a person named, as of `file_bytes`; also of a pipe that a shell has opened."""
    handle = shell_pipe(path)
    if handle is None:
        return file_bytes(path, limit)
    reads.note_other_input()
    try:
        data = _piped_bytes(handle, os.fstat(handle).st_ino)
    except OSError as error:
        return failure_of_error(error)
    return too_large(len(data), limit) if len(data) > limit else data


def shell_pipe(path: str) -> int | None:
    """The handle of the pipe that is open at a path such as `/dev/fd/63`; None for any other path."""
    match = re.fullmatch(r"/dev/stdin|/(?:dev|proc/self)/fd/([0-9]{1,9})", path)
    with suppress(OSError):
        handle = int(match[1] or 0) if match else -1
        return handle if stat.S_ISFIFO(os.fstat(handle).st_mode) else None
    return None


@cache
def _piped_bytes(handle: int, _inode: int) -> bytes:
    # Once for each pipe, which has nothing left to read afterwards.
    return reads.piped_bytes(handle, MAX_FILE)


def required_bytes(path: str, hint: str, where: str = "", limit: int = MAX_FILE) -> bytes:
    """The bytes of `named_bytes`. Raises `ContextasmError`, at `where` or at the file, if they can't be read."""
    data = named_bytes(path, limit)
    if isinstance(data, bytes):
        return data
    raise ContextasmError(where or path, data.message, hint)


def _file_bytes(path: str, limit: int, holds: Callable[[str], bool] | None) -> bytes | ReadFailure:
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            path = reads.real_path(path)
            if holds and not holds(path):
                return ReadFailure("outside-workspace", "is a link that leads out of the workspace")
            if not os.path.lexists(path):
                return ReadFailure("not-a-file", "is a link to a file that does not exist")
            status = os.lstat(path)
        return _regular_bytes(path, status, limit)
    except OSError as error:
        reads.note_failure(path, error)
        return failure_of_error(error)
    except ValueError:  # a NUL, or half a character, in the path
        return ReadFailure("unreadable", "is not a path")
    except MemoryError:
        return ReadFailure("unreadable", "can't be read: not enough memory")


def file_stamp(path: str | os.PathLike[str]) -> FileStamp | None:
    """The stamp of a regular file; None for a link, for anything else and for nothing. Raises `OSError`."""
    try:
        status = os.lstat(path)
    except FileNotFoundError as error:
        reads.note_failure(os.fspath(path), error)
        return None
    stamp = FileStamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
    reads.note_read(reads.file_stamp, os.fspath(path), stamp)
    return stamp if stat.S_ISREG(status.st_mode) else None


def _regular_bytes(path: str, status: os.stat_result, limit: int) -> bytes | ReadFailure:
    # To open a link fails; one is what `realpath` leaves of links that lead to themselves.
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        return _failure_of_type(status.st_mode)
    status, data = reads.regular_bytes(path, limit)  # something else may have been at the path before
    if not stat.S_ISREG(status.st_mode):
        return _failure_of_type(status.st_mode)
    if (size := max(status.st_size, len(data))) > limit:
        return too_large(size, limit)
    reads.note_read(reads.file_content, path, data)
    return data


def too_large(size: int, limit: int) -> ReadFailure:
    """The failure of a file of `size` bytes if at most `limit` are read."""
    return ReadFailure("too-large", f"is too large: it has {size:,} bytes, and the limit is {limit:,}")


def _failure_of_type(mode: int) -> ReadFailure:
    file_type = next((words for test, words in _FILE_TYPES if test(mode)), "a device")
    return ReadFailure("not-a-file", f"is {file_type}, not a file")


def failure_of_error(error: OSError) -> ReadFailure:
    """The failure of a file whose status or content the system does not give."""
    if isinstance(error, FileNotFoundError):
        return ReadFailure(MISSING, error.strerror or "does not exist")
    code = "not-a-folder" if isinstance(error, NotADirectoryError) else "unreadable"
    code = "not-a-file" if error.errno == errno.ELOOP else code
    return ReadFailure(code, f"can't be read: {error.strerror}")
