"""A folder of new files, made whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from contextasm.model import ContextasmError
from contextasm.workspace.atomic import emit


def refuse_filled_folder(path: str) -> None:
    """Raise `ContextasmError` for a path at which something else than an empty folder stands."""
    try:
        filled = bool(os.listdir(path))
    except FileNotFoundError:
        return
    except OSError as error:
        raise ContextasmError(path, f"can't be written: {error.strerror}", "name a new folder") from error
    if filled:
        raise ContextasmError(path, "is a folder with files in it", "name a new folder, or remove the files first")


def write_folder(path: str, files: Iterable[tuple[str, bytes]], *, private: bool) -> None:
    """Make a folder of these files, by name, in place of nothing or of an empty folder.

    They are written beside it first, and then the folder gets its name. A private one is for its owner alone. Raises
    `ContextasmError`, and nothing is left then.
    """
    import tempfile

    refuse_filled_folder(path)
    full = os.path.realpath(path)
    try:
        temporary = tempfile.mkdtemp(
            dir=os.path.dirname(full), prefix=f".{os.path.basename(full)[:100]}.", suffix=".tmp"
        )
    except OSError as error:
        raise ContextasmError(path, f"can't be written: {error.strerror}", "make the folder above it first") from error
    try:
        for name, data in files:
            _write_new(f"{temporary}/{name}", data)
        if not private:
            mask = os.umask(0o077)
            os.umask(mask)
            os.chmod(temporary, 0o777 & ~mask)
        os.rename(temporary, full)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            what = f"can't be written: {error.strerror}"
            raise ContextasmError(path, what, "free some space, or name another folder") from error
        raise


def _write_new(path: str, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        emit(handle, data)
    finally:
        os.close(handle)
