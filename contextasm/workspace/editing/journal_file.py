"""The file of a journal: what `workspace/editing/journal.py` keeps of the files that it changes.

A journal that came with a copy or a clone of the workspace is not believed: it names the inode and the change time of
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
from contextasm.workspace.atomic import write
from contextasm.workspace.reading import file_bytes
from contextasm.workspace.state import make_state_folder

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
    entries = [
        {
            "path": entry.path,
            "size": None if entry.before is None else len(entry.before),
            "mode": entry.mode,
            "states": entry.states,
        }
        for entry in journal.entries
    ]
    header = {"schema": _SCHEMA, "mark": _mark(root), "name": journal.name, "folders": journal.folders}
    contents = b"".join(entry.before or b"" for entry in journal.entries)
    text = json.dumps({**header, "digest": content_digest(contents), "entries": entries})
    target = folder / UNFINISHED
    with suppress(FileNotFoundError):
        os.unlink(target)  # of a copied workspace: one that is believed was taken back when the lock was taken
    write(target, f"{text}\n".encode() + contents, 0o600)


def load_journal(root: str, name: str) -> Journal | None:
    """A journal of this workspace; None for none, and for one that came with a copy or is damaged."""
    path = f"{root}/{FOLDER}/{name}"
    if os.path.islink(f"{root}/{FOLDER}") or os.path.islink(path):
        return None
    data = file_bytes(path, limit=_ANY_SIZE)
    if not isinstance(data, bytes):
        return None
    line, _, contents = data.partition(b"\n")
    try:
        header = load_json(line.decode(), path, takes_file_names=True)
        assert isinstance(header, dict)
        mark = _mark(root)
        if not mark or [header["mark"], header["schema"], header["digest"]] != [
            mark,
            _SCHEMA,
            content_digest(contents),
        ]:
            return None
        return _parsed(header, contents)
    except (ContextasmError, UnicodeDecodeError, KeyError, AssertionError):
        return None


def _parsed(header: dict[str, object], contents: bytes) -> Journal:
    entries: list[JournalEntry] = []
    at = 0
    listed, folders = header["entries"], header["folders"]
    assert isinstance(listed, list)
    assert isinstance(folders, list)
    for values in listed:
        size = values["size"]
        before = None if size is None else contents[at : at + size]
        entries.append(JournalEntry(values["path"], before, values["mode"], tuple(values["states"])))
        at += size or 0
    return Journal(str(header["name"]), tuple(entries), tuple(folders))
