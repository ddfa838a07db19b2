"""Files of other programs to import memories from, and folders of files to export memories to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from hashlib import sha256

from contextasm.model import ContextasmError, system_errors, utf8_text
from contextasm.text.exchange.entry import SourceFile
from contextasm.text.markdown.managed_block import without_block
from contextasm.workspace.atomic import create, temporary_path
from contextasm.workspace.reading import file_bytes, named_bytes


def read_import_files(path: str, folder_files: Sequence[str]) -> Sequence[SourceFile]:
    """The file at a path; for a folder, its files whose names match `folder_files`, in the order of their names.

    Raises `ContextasmError` if no file matches, and if one is a link out of the folder or can't be read as UTF-8.
    """
    if not os.path.isdir(path):
        return [source_file(path, _file_data(path))]
    if not folder_files:
        raise ContextasmError(path, "is a folder", "name the file in it")
    files = folder_sources(path, folder_files)
    if not files:
        raise ContextasmError(path, f"has no file {' or '.join(folder_files)}", "name the folder or the file to import")
    return [*files.values()]


def folder_sources(path: str, patterns: Sequence[str]) -> dict[str, SourceFile]:
    """The files of a folder whose names match, by name and in the order of their names; raises `ContextasmError`."""
    with system_errors(path, "can't be listed", "name a readable folder"):
        names = sorted(os.listdir(path))
    root, folder = os.path.realpath(path), path.rstrip("/")

    def holds(real: str) -> bool:
        return os.path.commonpath([root, real]) == root

    matching = (name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns))
    return {name: source_file(f"{folder}/{name}", _file_data(f"{folder}/{name}", holds)) for name in matching}


def _file_data(path: str, holds: Callable[[str], bool] | None = None) -> bytes:
    """The bytes of a file; `holds` is as in `file_bytes`, for the folder that was named."""
    data = file_bytes(path, holds=holds) if holds else named_bytes(path)
    if not isinstance(data, bytes) and data.code == "outside-workspace":
        hint = "import the target of the link, or remove the link"
        raise ContextasmError(path, "is a link to a file outside the folder", hint)
    if not isinstance(data, bytes):
        raise ContextasmError(path, data.message, "name a readable file")
    return data


def source_file(name: str, data: bytes) -> SourceFile:
    """A file of these bytes, as formats read it. Raises `ContextasmError` if they are not UTF-8."""
    text = utf8_text(data, name, "save it as UTF-8").replace("\r\n", "\n")
    return SourceFile(name, without_block(text)[0], sha256(data).hexdigest())


def refuse_filled_folder(path: str) -> None:
    """Raise `ContextasmError` for a path that exists and is not an empty folder."""
    filled = False
    with system_errors(path, "can't be written", "name a new folder"), suppress(FileNotFoundError):
        filled = bool(os.listdir(path))
    if filled:
        raise ContextasmError(path, "is a folder with files in it", "name a new folder, or remove the files first")


def write_folder(path: str, files: Iterable[tuple[str, bytes]], *, private: bool) -> None:
    """Make a folder of these files, by name; at the path, nothing or an empty folder may exist.

    The files are written to a temporary folder first, and then it gets its name. Only the owner can open a private one.
    Raises `ContextasmError`, and then leaves nothing.
    """
    refuse_filled_folder(path)
    full = os.path.realpath(path)
    temporary = temporary_path(full)
    with system_errors(path, "can't be written", "make its parent folder first"):
        os.mkdir(temporary, 0o700 if private else 0o777)
    try:
        with system_errors(path, "can't be written", "free some space, or name another folder"):
            for name, data in files:
                create(f"{temporary}/{name}", data)
            os.rename(temporary, full)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
