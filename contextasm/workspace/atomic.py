"""Write files whole or not at all, also the ones that ctxasm stores for itself in the folder `.ctxasm` of a workspace.

`.ctxasm` may have come with the workspace, so nothing is written through a link in its place. `cli/output.py` writes
the standard streams.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from contextasm.model import ContextasmError, system_errors
from contextasm.workspace.reading import file_bytes
from contextasm.workspace.reads import emit

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def write(path: Path, data: bytes | None, new_mode: int | None = None) -> bool:
    """Make `data` the content of a file, atomically, or for None remove it; False if that is so already.

    A link's target is written, not the link. A new file gets `new_mode`, None for the usual one, and with a mode the
    owner and group of its folder; an old one keeps its own, as far as the process may set them.
    Devices and pipes are written to directly. Raises `ContextasmError`; the file then still has its old content.
    """
    target = os.path.realpath(path)
    status = _status(path)
    if data is None:
        with system_errors(str(path), "can't be removed", "name a writable file"):
            if status:
                os.unlink(target)
        return status is not None
    if status is None:
        mode = new_mode
        owner = None if new_mode is None else _owner(os.path.dirname(target))
    elif not stat.S_ISREG(status.st_mode):
        _write_directly(path, data)
        return True
    elif status.st_size == len(data) and file_bytes(target, limit=len(data)) == data:
        return False
    else:
        mode = stat.S_IMODE(status.st_mode)
        owner = (status.st_uid, status.st_gid)
    try:
        _replace_file(target, data, mode, owner)
    except OSError as error:
        raise _write_error(path, error, replaced=os.path.exists(target)) from error
    return True


def refuse_unwritable(path: Path) -> None:
    """Raise `ContextasmError` for a file that `write` can't write, as far as this is known without writing."""
    folder = os.path.dirname(os.path.realpath(path))
    status = _status(path)
    if status is None and not os.path.isdir(folder):
        raise _write_error(path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
    is_replaced = status is None or stat.S_ISREG(status.st_mode)
    if not (os.access(folder, os.W_OK | os.X_OK) if is_replaced else os.access(path, os.W_OK)):
        raise _write_error(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def _status(path: Path) -> os.stat_result | None:
    """The status of a file to write; None for no file. Raises `ContextasmError` for a folder, and without a status."""
    try:
        # Not of the real path: that of `/dev/stdout` in a pipeline does not exist.
        status = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _write_error(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise ContextasmError(str(path), "is a folder", "name a file")
    return status


def _owner(folder: str) -> tuple[int, int] | None:
    """Owner and group of a folder; None if the system does not give them."""
    with suppress(OSError):
        status = os.stat(folder)
        return status.st_uid, status.st_gid
    return None


def make_folders(folder: Path) -> None:
    """Make a folder and those above it that are missing, each with the owner of the one above it. Raises `OSError`."""
    if folder.is_dir():
        return
    make_folders(folder.parent)
    folder.mkdir(exist_ok=True)
    owner = _owner(str(folder.parent))
    if owner and os.geteuid() == 0:
        os.chown(folder, *owner)


def create(path: str | Path, data: bytes, mode: int = 0o666) -> None:
    """Make a new file; an existing one is never opened, even if it came a moment ago. Raises `OSError`."""
    handle = os.open(path, _NEW_FILE, mode)
    with open(handle, "wb", buffering=0):
        try:
            emit(handle, data)
        except BaseException:
            # The next run would take half a file for one that somebody has written.
            os.unlink(path)
            raise


def _replace_file(target: str, data: bytes, mode: int | None, owner: tuple[int, int] | None) -> None:
    """Write a temporary file in the same folder and give it the file's name; None is the usual mode."""
    temporary = temporary_path(target)
    handle = os.open(temporary, _NEW_FILE, 0o666 if mode is None else 0o600)
    try:
        with open(handle, "wb", buffering=0):
            emit(handle, data)
            if owner and owner != (os.geteuid(), os.getegid()):
                with suppress(OSError):  # only root may give a file away
                    os.fchown(handle, *owner)
            if mode is not None:
                os.fchmod(handle, mode)
            os.fsync(handle)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def temporary_path(target: str) -> str:
    """A new hidden name next to a file or a folder, for what is to get its name once it is complete."""
    folder, name = os.path.split(target)
    return f"{folder}/.{name[:100]}.{os.urandom(4).hex()}.tmp"


def remove_torn(folder: str | Path, names: Iterable[str]) -> None:
    """Remove what a killed process left of writing these files. Raises `OSError`."""
    lead = {f".{name[:100]}" for name in names}  # as `temporary_path` names it
    for name in os.listdir(folder):
        if name.endswith(".tmp") and name.rsplit(".", 2)[0] in lead:
            os.unlink(f"{folder}/{name}")


def _write_directly(path: Path, data: bytes) -> None:
    """Write into a device or a pipe; this waits for a reader."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CLOEXEC), "wb", buffering=0) as file:
            emit(file.fileno(), data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _write_error(path, error) from error


def _write_error(path: Path, error: OSError, *, replaced: bool = False) -> ContextasmError:
    hint = {
        errno.ENOSPC: "free some space; the file keeps its old content" if replaced else "free some space",
        errno.ENOENT: "make its folder first",
        errno.ENOTDIR: "a part of the path is a file: choose another path",
    }.get(error.errno or 0, "name a writable file")
    return ContextasmError(str(path), f"can't be written: {error.strerror}", hint)


def as_bytes(text: str) -> bytes:
    """The text in UTF-8; a byte of a file name that is not UTF-8 becomes an escape, which JSON can read back."""
    return text.encode(errors="backslashreplace")


STATE_FOLDER = ".ctxasm"


def make_state_folder(root: str | Path, name: str = STATE_FOLDER, *, needs_ignore: bool = False) -> Path:
    """The state of the workspace at `root`, or another folder of ctxasm's own; it is made if it is missing.

    A `.gitignore` makes git ignore the folder. Raises `OSError` if the folder can't be made, or, with `needs_ignore`,
    its `.gitignore`, and `ContextasmError` if something else is in its place.
    """
    from pathlib import Path

    state = Path(os.path.realpath(root), name)
    _make_folder(state, 0o777)
    with suppress(FileExistsError if needs_ignore else OSError):  # whoever made one: it stays, no link is followed
        create(state / ".gitignore", b"*\n")
    return state


def state_folder(root: str | Path, *names: str) -> Path:
    """The folder below the state of the workspace at `root` that these names lead to; missing ones are made.

    Raises `ContextasmError` if one can't be made, and if something else is in its place.
    """
    try:
        folder = make_state_folder(root)
        for name in names:
            folder /= name
            _make_folder(folder, 0o700)
    except OSError as error:
        where = str(error.filename or root)
        raise ContextasmError(where, f"can't be made: {error.strerror}", "make the workspace writable") from error
    return folder


def private_folder(root: str | Path, *names: str) -> Path:
    """As `state_folder`; afterwards only the owner can open these folders, even if they came with the workspace."""
    for depth in range(1, len(names) + 1):
        _close_to_others(state_folder(root, *names[:depth]))
    return state_folder(root, *names)


def write_private(path: Path, data: bytes) -> bool:
    """Make `data` the content of a file below the state that only the owner can read; False if it has it already.

    A link, a pipe, a device or an empty folder in its place came from elsewhere: it is replaced, and nothing is written
    through it. Raises as `atomic.write`, and `OSError` if what is in its place can't be removed.
    """
    with suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            remove_empty_folder(path)
        elif not stat.S_ISREG(mode) or not _close_to_others(path):
            os.unlink(path)
    return write(path, data, new_mode=0o600)


def remove_empty_folder(path: Path) -> None:
    """Take an empty folder out of the place of a file of the state; anything else that is there stays."""
    with suppress(OSError):
        os.rmdir(path)


def _close_to_others(path: Path) -> bool:
    """Remove all rights of group and others to a file or folder; False if some can't be removed."""
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    if mode & 0o077:
        try:
            os.chmod(path, mode & 0o700)
        except PermissionError:  # another user owns it, or its file system has no rights
            return False
    return True


def _make_folder(folder: Path, mode: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(folder, mode)
    file_mode = os.lstat(folder).st_mode
    if stat.S_ISLNK(file_mode):
        raise ContextasmError(str(folder), "is a link", "remove the link")
    if not stat.S_ISDIR(file_mode):
        hint = "make it a folder"
        raise ContextasmError(str(folder), f"can't be made: {os.strerror(errno.EEXIST)}", hint)
