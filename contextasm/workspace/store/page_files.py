"""Files of a mirror: pages, written and removed, and the search indexes that were made of them.

All are for the owner alone, and nothing is written or removed through a link, which came from elsewhere.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from contextasm.model import ContextasmError, FileStamp
from contextasm.workspace.cache import index_database
from contextasm.workspace.reading import file_bytes
from contextasm.workspace.state import write_private

_FIELDS = re.compile(rb"^- \[[^\]\n]*\]|^-(?= )| \{(?:type=(?:\"[^\"]*\"|[^ ]+) )?id=[^{}]*\}$")
"""Type and fields at the ends of a memory's lines (`text.memory_writer.memory_bullet`)."""


def mirrored_homes(mirror: Path) -> set[str]:
    """The homes that have a folder in a mirror."""
    homes = set()
    for kind in ("agents", "teams"):
        with suppress(OSError):
            homes |= {f"{kind}/{name}" for name in os.listdir(mirror / kind)}
    return homes


def page_stamp(path: Path) -> FileStamp | None:
    """The stamp of a regular file; None for a link, for anything else and for nothing. Raises `OSError`."""
    with suppress(FileNotFoundError):
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode):
            return FileStamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
    return None


def page_stamps(folder: Path) -> dict[str, FileStamp]:
    """The regular files of a folder by name; links and others count as missing.

    Empty where there is no folder. Raises `OSError` where it can't be listed.
    """
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return {name: stamp for name in names if (stamp := page_stamp(folder / name))}


def write_page(path: Path, text: str) -> bool:
    """Write a page; False where the file had this text. Raises as `state.write_private`."""
    return write_private(path, text.encode())


def loses_text(path: Path, text: str) -> bool:
    """Whether the file of a page has a line that its new text lacks. Type and fields do not count."""
    before, after = file_bytes(str(path)), text.encode()
    if not isinstance(before, bytes):
        return True
    return not after.startswith(before) and bool(_lines(before) - _lines(after))


def _lines(page: bytes) -> set[bytes]:
    return {_FIELDS.sub(b"", line) for line in page.split(b"\n")}


def remove_pages(root: str, folder: Path, names: Collection[str]) -> Collection[str]:
    """Remove files of a home's folder and the search index; gives the files' names, none for a folder elsewhere.

    The index first: a pull that ends in between finds the files again, and nothing else tells that an index has them.
    Raises `ContextasmError` for a file that stays.
    """
    if not names or os.path.realpath(folder) != str(folder):
        return ()
    remove_indexes(root)
    try:
        for name in names:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise ContextasmError(str(folder), f"can't be changed: {error.strerror}", "make it writable") from error
    return names


def remove_indexes(root: str) -> None:
    """Remove the search index of a workspace, which holds texts that pages have lost; the next search makes a new one.

    All of it: what it was made of is known to nobody but the search.
    """
    from contextasm.retrieval.memory_index.database import remove_database  # here: it loads SQLite

    if path := index_database(root, {**os.environ, "CTXASM_NO_CACHE": ""}):
        remove_database(path)
