"""The file of a journal: what `workspace/editing/journal.py` keeps of the files that it changes.

Its first line is the digest of the rest, its second one a JSON object, and the contents of the files follow. A journal
that came with a copy or a clone of the workspace is not believed: it names the inode and the change time of
`.tidy/.gitignore`, which no copy has.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from contextasm.model import ContextasmError
from contextasm.text.json_reader import load_json
from contextasm.workspace.reading import file_bytes
from contextasm.workspace.state import make_state_folder, write_private

FOLDER = ".tidy"
"""Folder of the journals. `.ctxasm/` would not do: it may be deleted at any time."""

UNFINISHED = "unfinished"
"""Name of the journal of an application that has not ended."""

LAST = "last"
"""Name of the journal of the last application."""

_SCHEMA = "ctxasm.journal/1"
_ANY_SIZE = 1 << 40

_NO_FILE = ""
"""Digest of the content of a file that does not exist."""


class JournalEntry(NamedTuple):
    """A file that was changed, once or several times."""

    path: str
    before: bytes | None
    """Its first content; None for no file."""
    mode: int
    states: tuple[str, ...]
    """The digest of each content that it has had, in hexadecimal; empty for no file."""


class Journal(NamedTuple):
    """One application of upkeep."""

    name: str
    """Hexadecimal; the same for all changes of one application."""
    entries: tuple[JournalEntry, ...]
    folders: tuple[str, ...]
    """Folders that the changes made, each above those in it."""


def content_digest(content: bytes | None) -> str:
    """Digest of a content, in hexadecimal; empty for no file."""
    return _NO_FILE if content is None else sha256(content).hexdigest()


def _mark(root: str) -> list[int] | None:
    """Inode and change time of a file that stays as it is as long as the workspace is not copied."""
    with suppress(OSError):
        status = os.lstat(f"{root}/{FOLDER}/.gitignore")
        if stat.S_ISREG(status.st_mode):
            return [status.st_ino, status.st_ctime_ns]
    return None


def save_journal(root: str, journal: Journal) -> None:
    """Write the journal of an application that begins. Raises `ContextasmError` and `OSError`."""
    try:
        folder = make_state_folder(root, FOLDER)
    except OSError as error:
        hint = "make the workspace a folder that can be written to"
        raise ContextasmError(f"{root}/{FOLDER}", f"can't be made: {error.strerror}", hint) from error
    mark = _mark(root)
    if mark is None:
        hint = "make it a regular file: the journal, by which changes are taken back, names it"
        raise ContextasmError(f"{root}/{FOLDER}/.gitignore", "is missing, or no regular file", hint)
    entries = [
        {
            "path": entry.path,
            "size": None if entry.before is None else len(entry.before),
            "mode": entry.mode,
            "states": entry.states,
        }
        for entry in journal.entries
    ]
    header = {"schema": _SCHEMA, "mark": mark, "name": journal.name, "folders": journal.folders, "entries": entries}
    body = b"".join((json.dumps(header).encode(), b"\n", *(entry.before or b"" for entry in journal.entries)))
    write_private(folder / UNFINISHED, f"{content_digest(body)}\n".encode() + body)


def load_journal(root: str, name: str) -> Journal | None:
    """A journal of this workspace; None for none.

    Raises `ContextasmError`, with code 1, for one that is not believed: it came with a copy, or is damaged, or the mark
    has changed, as by `chmod -R`.
    """
    where, path = f"{FOLDER}/{name}", f"{root}/{FOLDER}/{name}"
    if not os.path.lexists(path):
        return None
    if os.path.islink(f"{root}/{FOLDER}") or os.path.islink(path):
        raise _disbelieved(where, "lies behind a link")
    data = file_bytes(path, limit=_ANY_SIZE)
    if not isinstance(data, bytes):
        raise _disbelieved(where, data.message)
    digest, _, body = data.partition(b"\n")
    line, _, contents = body.partition(b"\n")
    if digest != content_digest(body).encode():
        raise _disbelieved(where, "is damaged")
    try:
        header = load_json(line.decode(), path, takes_halves=True)
        journal = _parsed(header, contents)
    except (ContextasmError, ValueError, TypeError) as error:
        raise _disbelieved(where, "is damaged") from error
    if not isinstance(header, dict) or header.get("mark") != _mark(root):
        raise _disbelieved(
            where, f"is not believed: it came with a copy, or {FOLDER}/.gitignore has been touched since"
        )
    return journal


def _disbelieved(where: str, what: str) -> ContextasmError:
    hint = f"make sure that the files of the workspace are as they should be, and remove {where}"
    return ContextasmError(where, what, hint, code=1)


def _parsed(header: object, contents: bytes) -> Journal:
    """The journal of a header. Raises `ValueError` or `TypeError` for a header of another form."""
    if not isinstance(header, dict) or header.get("schema") != _SCHEMA:
        raise ValueError("another schema")
    name, folders, listed = (header.get(key) for key in ("name", "folders", "entries"))
    if not isinstance(name, str) or not isinstance(listed, list):
        raise TypeError("no journal")
    entries: list[JournalEntry] = []
    at = 0
    for values in listed:
        entry = _parsed_entry(values, memoryview(contents)[at:])
        entries.append(entry)
        at += len(entry.before or b"")
    if at != len(contents):
        raise ValueError("more contents than entries")
    return Journal(name, tuple(entries), _strings(folders))


def _parsed_entry(values: object, contents: memoryview) -> JournalEntry:
    """The entry whose content, if it has one, is at the beginning of `contents`."""
    if not isinstance(values, dict):
        raise TypeError("no entry")
    path, size, mode = values.get("path"), values.get("size"), values.get("mode")
    if not isinstance(path, str) or not isinstance(mode, int):
        raise TypeError("no path or mode")
    if size is None:
        return JournalEntry(path, None, mode, _strings(values.get("states")))
    if not isinstance(size, int) or not 0 <= size <= len(contents):
        raise ValueError("a size that the contents do not have")
    return JournalEntry(path, bytes(contents[:size]), mode, _strings(values.get("states")))


def _strings(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("no list of strings")
    return tuple(values)
