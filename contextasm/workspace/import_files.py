"""Files of other programs that a person names to import memories from: read, never written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase

from contextasm.model import ContextasmError
from contextasm.text.exchange.entry import SourceFile
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
