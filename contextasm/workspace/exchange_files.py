"""Files of other programs that a person names to import memories from: read, never written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from contextasm.model import ContextasmError
from contextasm.text.exchange.entry import SourceFile
from contextasm.workspace.atomic import create, permission_mask
from contextasm.workspace.reading import file_bytes


def read_import_files(path: str, folder_files: Sequence[str]) -> list[SourceFile]:
    """The file at a path, or of a folder those with the names `folder_files`, in the order of their names.

    Raises `ContextasmError` where there is nothing to read, or anything can't be read as UTF-8.
    """
    if not os.path.isdir(path):
        return [source_file(path, _file_text(path))]
    if not folder_files:
        raise ContextasmError(path, "is a folder", "name the file in it")
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise ContextasmError(path, f"can't be listed: {error.strerror}", "name a folder that can be read") from error
    matching = [name for name in names if any(fnmatchcase(name, pattern) for pattern in folder_files)]
    if not matching:
        raise ContextasmError(path, f"has no file {' or '.join(folder_files)}", "name the folder or the file to import")
    files = [(f"{path.rstrip('/')}/{name}", _file_text(f"{path.rstrip('/')}/{name}")) for name in matching]
    # An empty file among others has nothing to lose; where all are empty, the first is refused.
    return [source_file(*file) for file in files if file[1].strip()] or [source_file(*files[0])]


def _file_text(path: str) -> str:
    data = file_bytes(path)
    if not isinstance(data, bytes):
        raise ContextasmError(path, data.message, "name a file that can be read")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContextasmError(path, f"byte {error.start} is not UTF-8", "save it as UTF-8") from error


def source_file(name: str, text: str) -> SourceFile:
    """A file of a text that is read already. Raises `ContextasmError` for an empty one."""
    if not text.strip():
        raise ContextasmError(name, "is empty", "name a file with memories")
    return SourceFile(name, text.replace("\r\n", "\n"))


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
            create(f"{temporary}/{name}", data)
        if not private:
            os.chmod(temporary, 0o777 & ~permission_mask())
        os.rename(temporary, full)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            what = f"can't be written: {error.strerror}"
            raise ContextasmError(path, what, "free some space, or name another folder") from error
        raise
