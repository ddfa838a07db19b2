"""The folder `.ctxasm` of a workspace, where ctxasm stores data of its own.

It may have come with the workspace, so nothing is written through a link in its place.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from contextasm.model import ContextasmError
from contextasm.workspace.atomic import write

STATE_FOLDER = ".ctxasm"


def make_state_folder(root: str | Path, name: str = STATE_FOLDER) -> Path:
    """The state of the workspace at `root`, or another folder of ctxasm's own; it is made where it is missing.

    A `.gitignore` has git leave the folder alone. Raises `OSError` where the folder can't be made, and
    `ContextasmError` where something else is in its place.
    """
    state = Path(os.path.realpath(root), name)
    _make_folder(state, 0o777)
    with suppress(OSError):  # of anybody: it is not written over, and no link is followed
        handle = os.open(state / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        os.write(handle, b"*\n")
        os.close(handle)
    return state


def state_folder(root: str | Path, name: str) -> Path:
    """The folder `name` of the state of the workspace at `root`; it is made where it is missing.

    Raises `ContextasmError` where it can't be made, and where something else is in its place.
    """
    try:
        folder = make_state_folder(root) / name
        _make_folder(folder, 0o700)
    except OSError as error:
        where = str(error.filename or root)
        raise ContextasmError(where, f"can't be made: {error.strerror}", "make the workspace writable") from error
    return folder


def private_folder(root: str | Path, *names: str) -> Path:
    """The folder below the state of a workspace that these names lead to, each made where it is missing.

    All of them are for the owner alone afterwards, also those that came with the workspace. Raises as `state_folder`.
    """
    folder = state_folder(root, names[0])
    _close_to_others(folder)
    for name in names[1:]:
        folder /= name
        try:
            _make_folder(folder, 0o700)
        except OSError as error:
            hint = "make the workspace writable"
            raise ContextasmError(str(folder), f"can't be made: {error.strerror}", hint) from error
        _close_to_others(folder)
    return folder


def write_private(path: Path, data: bytes) -> bool:
    """Make `data` the content of a file below the state, for the owner alone; False where the file had it already.

    A link, a pipe or a device in its place came from elsewhere: it is replaced, and nothing is written through it.
    Raises as `atomic.write`, and `OSError` where what is in its place can't be taken away.
    """
    with suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or not _close_to_others(path):
            os.unlink(path)
    return write(path, data, new_mode=0o600)


def _close_to_others(path: Path) -> bool:
    """Take all rights to a file or folder from group and others; False where they have some that can't be taken."""
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    if mode & 0o077:
        try:
            os.chmod(path, mode & 0o700)
        except PermissionError:  # it is somebody else's, or its file system has no rights
            return False
    return True


def _make_folder(folder: Path, mode: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(folder, mode)
    file_mode = os.lstat(folder).st_mode
    if stat.S_ISLNK(file_mode):
        raise ContextasmError(str(folder), "leads elsewhere through a link", "take the link away")
    if not stat.S_ISDIR(file_mode):
        hint = "make it a folder"
        raise ContextasmError(str(folder), f"can't be made: {os.strerror(errno.EEXIST)}", hint)
