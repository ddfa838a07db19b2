"""The files that upkeep changes: paths it writes to, what stands there, and new content.

Nothing hidden, outside of the workspace or behind a link is read or written.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from contextasm.model import ContextasmError
from contextasm.workspace.atomic import make_folders, write
from contextasm.workspace.reading import MISSING, file_bytes


def refuse_path(root: str, path: str) -> None:
    """Raise `ContextasmError` for a path that upkeep does not write: hidden, no inner path, or behind a link."""
    parts = path.split("/")
    if any(part.startswith(".") or not part for part in parts) or "\0" in path:
        raise ContextasmError(path, "is no file that upkeep writes", "leave it as it is")
    if os.path.realpath(f"{root}/{path}") != f"{root}/{path}":
        raise ContextasmError(path, "leads elsewhere through a link", "take the link away")


def current_content(root: str, path: str) -> bytes | None:
    """The bytes of a file; None for no file. Raises `ContextasmError` for a link, and where it can't be read."""
    refuse_path(root, path)
    read = file_bytes(f"{root}/{path}")
    if isinstance(read, bytes):
        return read
    if read.code == MISSING:
        return None
    raise ContextasmError(path, read.message, "make it a file that can be read")


def refuse_unwritable_path(root: str, path: str) -> None:
    """Raise `ContextasmError` for a file that `make_changes` could not write, as far as can be said without trying.

    Folders that are missing are no hindrance: they are made.
    """
    folder = f"{root}/{path}".rpartition("/")[0]
    while not os.path.lexists(folder):
        folder = folder.rpartition("/")[0]
    if not os.path.isdir(folder):
        raise _write_error(path, errno.ENOTDIR)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _write_error(path, errno.EROFS if _is_read_only(folder) else errno.EACCES)


def put_content(root: str, path: str, content: bytes | None, mode: int) -> None:
    """Make bytes the content of a file, None for no file; folders that are missing are made. Raises `ContextasmError`.

    `mode` has the permission bits for a file that is new.
    """
    full = Path(root, path)
    try:
        if content is None:
            full.unlink(missing_ok=True)
            return
        make_folders(full.parent)
    except OSError as error:
        raise _write_error(path, error.errno) from error
    write(full, content, mode)


def _is_read_only(folder: str) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _write_error(path: str, number: int | None) -> ContextasmError:
    hint = "make its folder one that can be written to"
    return ContextasmError(path, f"can't be written: {os.strerror(number or 0)}", hint)
