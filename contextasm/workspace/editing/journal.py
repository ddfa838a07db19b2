"""Changes of several files that belong together: made as one, taken back as one, and recovered if they are interrupted.

The journal in `.tidy/` holds the content that each file had before, and the digests of every content that the changes
give it. It is on the disk before the first file changes. Whoever takes the workspace's lock next takes back what an
interrupted process has changed. The caller holds that lock.

A journal that came with a copy or a clone of the workspace is not believed: it names the inode and the change time of
`.tidy/.gitignore`, which no copy has.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from contextasm.model import ContextasmError
from contextasm.text.json_reader import load_json
from contextasm.workspace.atomic import write
from contextasm.workspace.reading import MISSING, file_bytes
from contextasm.workspace.state import make_state_folder

FOLDER = ".tidy"
"""Folder of the journals. `.ctxasm/` would not do: it may be deleted at any time."""

_UNFINISHED = "unfinished"
_LAST = "last"

_SCHEMA = "ctxasm.journal/1"
_ANY_SIZE = 1 << 40

_NO_FILE = ""
"""Digest of the content of a file that does not exist."""


class FileChange(NamedTuple):
    """The content of a file before and after; None for no file. Files of which this is not true are not changed."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int
    """Permission bits of the file, for when it is made."""


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


def make_changes(root: str, changes: Iterable[FileChange], earlier: Journal | None = None) -> Journal:
    """Change all the files, or none, and keep the journal by which `take_back` restores them.

    What grows changes first, and what goes comes last, so that each text stands in a file at every moment. `earlier` is
    the journal of the same application; both are then taken back as one. Raises `ContextasmError`; nothing is changed
    then, changes of `earlier` included.
    """
    ordered = sorted(changes, key=_rank)
    journal = _extended(earlier, ordered, _missing_folders(root, ordered))
    _save(root, journal)
    done = 0
    try:
        for change in ordered:
            _change_file(root, change)
            done += 1
    except BaseException:
        with suppress(ContextasmError, OSError):  # else whoever locks the workspace next takes it back
            made = [change for change in ordered[done : done + 1] if current_content(root, change.path) == change.after]
            whole = _extended(earlier, [*ordered[:done], *made], ())
            _close(root, journal, _restore(root, whole._replace(folders=journal.folders)))
        raise
    os.replace(f"{root}/{FOLDER}/{_UNFINISHED}", f"{root}/{FOLDER}/{_LAST}")
    return journal


def is_unfinished(root: str) -> bool:
    """Whether an application has begun and not ended; it runs, or was interrupted."""
    return os.path.lexists(f"{root}/{FOLDER}/{_UNFINISHED}")


def recover(root: str) -> tuple[str, ...]:
    """Take back an interrupted application, and name the files that stand in the way; empty where none does.

    If there are such files, because somebody else has changed them since, everything stays as it is. Each of its files
    is old or new, and each text stands in one of them. Raises `ContextasmError` where a file can't be written.
    """
    journal = _load(root, _UNFINISHED)
    if journal is None:
        return ()
    _remove_temporary_files(root, journal)
    changed = _restore(root, journal)
    _close(root, journal, changed)
    return changed


def take_back(root: str) -> Journal:
    """Restore every file that the last application changed, byte for byte.

    Raises `ContextasmError` where there is none, and, with code 1, where a file was changed since.
    """
    journal = _load(root, _LAST)
    if journal is None:
        raise ContextasmError("--undo", "there is no application to take back", "`ctxasm tidy` shows what it would do")
    changed = _changed_since(root, journal)
    if changed:
        files = f"{changed[0]} and {len(changed) - 1} more files were" if changed[1:] else f"{changed[0]} was"
        hint = "put back what was changed there, or keep everything as it is"
        raise ContextasmError("--undo", f"{files} changed since", hint, code=1)
    os.replace(f"{root}/{FOLDER}/{_LAST}", f"{root}/{FOLDER}/{_UNFINISHED}")
    _restore(root, journal)
    os.unlink(f"{root}/{FOLDER}/{_UNFINISHED}")
    return journal


def _rank(change: FileChange) -> tuple[int, str]:
    grows = change.after is not None and change.after.startswith(change.before or b"")
    return (0 if grows else 2 if change.after is None else 1), change.path


def _extended(earlier: Journal | None, changes: Sequence[FileChange], folders: tuple[str, ...]) -> Journal:
    """The journal with further changes."""
    entries = {entry.path: entry for entry in earlier.entries} if earlier else {}
    for change in changes:
        before, after = _digest(change.before), _digest(change.after)
        entry = entries.get(change.path) or JournalEntry(change.path, change.before, change.mode, (before,))
        entries[change.path] = entry._replace(states=(*entry.states, after))
    name = earlier.name if earlier else os.urandom(8).hex()
    return Journal(name, tuple(entries.values()), (*(earlier.folders if earlier else ()), *folders))


def _missing_folders(root: str, changes: Iterable[FileChange]) -> tuple[str, ...]:
    missing: dict[str, None] = {}
    for change in changes:
        folder = change.path.rpartition("/")[0]
        above = []
        while folder and folder not in missing and not os.path.lexists(f"{root}/{folder}"):
            above.append(folder)
            folder = folder.rpartition("/")[0]
        missing.update(dict.fromkeys(reversed(above)))
    return tuple(missing)


def _digest(content: bytes | None) -> str:
    return _NO_FILE if content is None else sha256(content).hexdigest()


def _change_file(root: str, change: FileChange) -> None:
    if current_content(root, change.path) != change.before:
        hint = "run the command again: nothing has been changed"
        raise ContextasmError(change.path, "has been changed meanwhile", hint)
    _put(root, change.path, change.after, change.mode)


def _put(root: str, path: str, content: bytes | None, mode: int) -> None:
    full = Path(root, path)
    try:
        if content is None:
            full.unlink(missing_ok=True)
            return
        full.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "make its folder one that can be written to"
        raise ContextasmError(path, f"can't be written: {error.strerror}", hint) from error
    write(full, content, mode)


def _changed_since(root: str, journal: Journal) -> tuple[str, ...]:
    """The files whose content is none that the changes gave them."""
    return tuple(
        entry.path for entry in journal.entries if _digest(current_content(root, entry.path)) not in entry.states
    )


def _restore(root: str, journal: Journal) -> tuple[str, ...]:
    """Give each file its first content, else the files that were changed since.

    What had grown goes last: it may hold what left the other files.
    """
    changed = _changed_since(root, journal)
    if changed:
        return changed
    grown: list[JournalEntry] = []
    for entry in journal.entries:
        if (current_content(root, entry.path) or b"").startswith(entry.before or b""):
            grown.append(entry)
        else:
            _put(root, entry.path, entry.before, entry.mode)
    for entry in grown:
        _put(root, entry.path, entry.before, entry.mode)
    for folder in reversed(journal.folders):
        with suppress(OSError):
            os.rmdir(f"{root}/{folder}")
    return ()


def _close(root: str, journal: Journal, changed: Sequence[str]) -> None:
    """End an application that was taken back, or could not be because of the files `changed`."""
    folder = f"{root}/{FOLDER}"
    if changed:
        os.replace(f"{folder}/{_UNFINISHED}", f"{folder}/{_LAST}")  # `--undo` names these files
        return
    last = _load(root, _LAST)
    if last and last.name == journal.name:
        os.unlink(f"{folder}/{_LAST}")
    os.unlink(f"{folder}/{_UNFINISHED}")


def _mark(root: str) -> list[int] | None:
    """Inode and change time of a file that stays as it is as long as the workspace is not copied."""
    with suppress(OSError):
        status = os.lstat(f"{root}/{FOLDER}/.gitignore")
        if stat.S_ISREG(status.st_mode):
            return [status.st_ino, status.st_ctime_ns]
    return None


def _save(root: str, journal: Journal) -> None:
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
    text = json.dumps({**header, "digest": _digest(contents), "entries": entries})
    target = folder / _UNFINISHED
    with suppress(FileNotFoundError):
        os.unlink(target)  # of a copied workspace: one that is believed was taken back when the lock was taken
    write(target, f"{text}\n".encode() + contents, 0o600)


def _load(root: str, name: str) -> Journal | None:
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
        if not mark or [header["mark"], header["schema"], header["digest"]] != [mark, _SCHEMA, _digest(contents)]:
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


def _remove_temporary_files(root: str, journal: Journal) -> None:
    """Remove what a killed process left of files that it was about to write."""
    names: dict[str, set[str]] = {FOLDER: {_UNFINISHED, _LAST}}
    for entry in journal.entries:
        folder, _, name = entry.path.rpartition("/")
        names.setdefault(folder, set()).add(name[:100])
    for folder, written in names.items():
        with suppress(OSError):
            for name in os.listdir(f"{root}/{folder}"):
                if name.startswith(".") and name.endswith(".tmp") and name[1:-4].rpartition(".")[0] in written:
                    os.unlink(f"{root}/{folder}/{name}")
