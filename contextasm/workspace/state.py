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

    Raises as `state_folder`.
    """
    folder = state_folder(root, names[0])
    for name in names[1:]:
        folder /= name
        try:
            _make_folder(folder, 0o700)
        except OSError as error:
            hint = "make the workspace writable"
            raise ContextasmError(str(folder), f"can't be made: {error.strerror}", hint) from error
    return folder


def _make_folder(folder: Path, mode: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(folder, mode)
    file_mode = os.lstat(folder).st_mode
    if stat.S_ISLNK(file_mode):
        raise ContextasmError(str(folder), "leads elsewhere through a link", "take the link away")
    if not stat.S_ISDIR(file_mode):
        hint = "make it a folder"
        raise ContextasmError(str(folder), f"can't be made: {os.strerror(errno.EEXIST)}", hint)
