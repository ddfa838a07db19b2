"""Changes of several files that belong together: made as one, taken back as one, and recovered if they are interrupted.

The journal in `.tidy/` holds the content that each file had before, and the digests of every content that the changes
give it. It is on the disk before the first file changes. Whoever takes the workspace's lock next takes back what an
interrupted process has changed. The caller holds that lock. A journal that can't be followed, because somebody else has
changed one of the files, stays, and no application begins until it is removed. No file that is hidden, outside
of the workspace or reached through a link is read or written.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from contextasm.model import ContextasmError, NamedTuple, grouped, system_errors
from contextasm.text.json_reader import load_json
from contextasm.workspace.atomic import make_folders, make_state_folder, remove_torn, write, write_private
from contextasm.workspace.reading import MISSING, file_bytes

_WRITE_HINT = "make its folder writable"


def refuse_path(root: str, path: str) -> None:
    """Raise `ContextasmError` for a path that upkeep does not write: hidden, outside, or through a link."""
    parts = path.split("/")
    if any(part.startswith(".") or not part for part in parts) or "\0" in path:
        raise ContextasmError(path, "is not a file that upkeep writes", "leave it as it is")
    if os.path.realpath(f"{root}/{path}") != f"{root}/{path}":
        raise ContextasmError(path, "leads elsewhere through a link", "remove the link")


def current_content(root: str, path: str) -> bytes | None:
    """The bytes of a file; None without a file. Raises `ContextasmError` for a link, and if it can't be read."""
    refuse_path(root, path)
    read = file_bytes(f"{root}/{path}")
    if isinstance(read, bytes):
        return read
    if read.code == MISSING:
        return None
    raise ContextasmError(path, read.message, "replace it with a readable file")


def changeable_content(root: str, path: str) -> bytes | None:
    """The bytes of a file that is to change; None without a file.

    Raises `ContextasmError` as `current_content`, and for a file that `make_changes` could not write, as far as can be
    said without trying. Missing folders are made.
    """
    content = current_content(root, path)
    folder = f"{root}/{path}".rpartition("/")[0]
    while not os.path.lexists(folder):
        folder = folder.rpartition("/")[0]
    number = 0
    if not os.path.isdir(folder):
        number = errno.ENOTDIR
    elif not os.access(folder, os.W_OK | os.X_OK):
        number = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
    if number:
        raise ContextasmError(path, f"can't be written: {os.strerror(number)}", _WRITE_HINT)
    return content


def put_content(root: str, path: str, content: bytes | None, mode: int, modified: int = 0) -> None:
    """Make bytes the content of a file, None for no file; folders that are missing are made. Raises `ContextasmError`.

    `mode` has the permission bits for a file that is new, and `modified` the time of its change in nanoseconds; 0: now.
    """
    full = Path(root, path)
    with system_errors(path, "can't be written", _WRITE_HINT):
        if content is None:
            full.unlink(missing_ok=True)
            return
        make_folders(full.parent)
    write(full, content, mode)
    if modified:
        with suppress(OSError):
            os.utime(full, ns=(modified, modified))


FOLDER = ".tidy"
"""Folder of the journals. `.ctxasm/` would not do: it may be deleted at any time."""

UNFINISHED = "unfinished"
"""Name of the journal of an application that has not ended."""

LAST = "last"
"""Name of the journal of the last application."""

_SCHEMA = "ctxasm.journal/1"
_ANY_SIZE = 1 << 40


class JournalEntry(NamedTuple):
    """A file that was changed, once or several times."""

    path: str
    before: bytes | None
    """Its first content; None for no file."""
    mode: int
    states: tuple[str, ...]
    """The digest of each content that it has had, in hexadecimal; empty for no file."""
    modified: int = 0
    """Time of its change before, in nanoseconds; 0 for no file."""


class Journal(NamedTuple):
    """One application of upkeep."""

    entries: tuple[JournalEntry, ...]
    folders: tuple[str, ...]
    """Folders that the changes made, each above those in it."""


def content_digest(content: bytes | None) -> str:
    """Digest of a content, in hexadecimal; empty for no file."""
    return "" if content is None else sha256(content).hexdigest()


def _mark(root: str) -> list[int] | None:
    """Inode and change time of a file that stays as it is as long as the workspace is not copied."""
    with suppress(OSError):
        status = os.lstat(f"{root}/{FOLDER}/.gitignore")
        if stat.S_ISREG(status.st_mode):
            return [status.st_ino, status.st_ctime_ns]
    return None


def save_journal(root: str, journal: Journal) -> None:
    """Write the journal of an application that begins. Raises `ContextasmError` and `OSError`."""
    hint = "free some space, or make the workspace writable"
    with system_errors(f"{root}/{FOLDER}", "can't be made", hint):
        folder = make_state_folder(root, FOLDER, needs_ignore=True)
    mark = _mark(root)
    if mark is None:
        hint = "replace it with a regular file, so that changes can be undone"
        raise ContextasmError(f"{root}/{FOLDER}/.gitignore", "is missing or not a regular file", hint)
    sizes = (None if entry.before is None else len(entry.before) for entry in journal.entries)
    entries = [{**entry._replace(before=None)._asdict(), "size": next(sizes)} for entry in journal.entries]
    header = {"schema": _SCHEMA, "mark": mark, "folders": journal.folders, "entries": entries}
    body = b"".join((json.dumps(header).encode(), b"\n", *(entry.before or b"" for entry in journal.entries)))
    write_private(folder / UNFINISHED, f"{content_digest(body)}\n".encode() + body)


def load_journal(root: str, name: str) -> Journal | None:
    """A journal of this workspace; None for none.

    Raises `ContextasmError`, with code 1, for one that is not trusted: it came with a copy, or is damaged, or the mark
    has changed, as by `chmod -R`.
    """
    where, path = f"{FOLDER}/{name}", f"{root}/{FOLDER}/{name}"
    if not os.path.lexists(path):
        return None
    if os.path.islink(f"{root}/{FOLDER}") or os.path.islink(path):
        raise _disbelieved(where, "is reached through a link")
    data = file_bytes(path, limit=_ANY_SIZE)
    if not isinstance(data, bytes):
        raise _disbelieved(where, data.message)
    digest, _, body = data.partition(b"\n")
    if digest != content_digest(body).encode():
        raise _disbelieved(where, "is damaged")
    line, _, contents = body.partition(b"\n")
    try:
        header: Any = load_json(line.decode(), path, takes_halves=True)
        journal = _parsed(header, contents) if header["mark"] == _mark(root) else None
    except (ContextasmError, LookupError, ValueError, TypeError) as error:
        raise _disbelieved(where, "is damaged") from error
    if journal is None:
        what = f"is not trusted, because the folder was copied or {FOLDER}/.gitignore was changed"
        raise _disbelieved(where, what)
    return journal


def _disbelieved(where: str, what: str) -> ContextasmError:
    hint = f"check that the files of the workspace are as you want them, and remove {where}"
    return ContextasmError(where, what, hint, code=1)


def _parsed(header: Any, contents: bytes) -> Journal:
    """The journal of a header, as `save_journal` wrote it. Raises `LookupError`, `ValueError` or `TypeError`."""
    if header["schema"] != _SCHEMA:
        raise ValueError("another schema")
    entries: list[JournalEntry] = []
    at = 0
    for values in header["entries"]:
        size = values["size"]
        before = None if size is None else contents[at : at + size]
        if before is not None and len(before) != size:
            raise ValueError("a size that the contents do not have")
        at += len(before or b"")
        numbers = int(values["mode"]), int(values.get("modified", 0))
        entries.append(JournalEntry(str(values["path"]), before, numbers[0], tuple(values["states"]), numbers[1]))
    return Journal(tuple(entries), tuple(header["folders"]))


Recovery = Journal | ContextasmError | None
"""The end of an application that was interrupted: its journal if it was taken back, else why it could not be."""


def recovery_text(recovery: Recovery) -> str:
    """The message, for a person, about an application that was interrupted; empty if none was."""
    if not isinstance(recovery, Journal):
        return str(recovery or "")
    count = len(recovery.entries)
    files = f"{count:,} files are" if count > 1 else "1 file is"
    return f"an interrupted `ctxasm tidy` was undone: {files} as before"


class FileChange(NamedTuple):
    """The content of a file before and after; None for no file. Files of which this is not true are not changed."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int
    """Permission bits of the file, for when it is made."""


def make_changes(
    root: str, changes: Iterable[FileChange], earlier: Journal | None = None, *, is_last: bool = True
) -> Journal:
    """Change all the files, or none, and keep the journal by which `take_back` restores them.

    What grows changes first, and what goes comes last, so that each text is in a file at every moment. `earlier` is
    the journal of the same application; both are then taken back as one. If these changes are not its last ones, the
    application goes on and ends with `finish`: if it is killed before, all of it is taken back. Raises
    `ContextasmError`; nothing is changed then, changes of `earlier` included, unless the error says so.
    """
    if is_unfinished(root) and not earlier:
        where = f"{FOLDER}/{UNFINISHED}"
        raise ContextasmError(where, "is of an interrupted tidy that was not undone", "run `ctxasm tidy` to see why")
    ordered = sorted(changes, key=_rank)
    journal = _extended(root, earlier, ordered)
    done = 0
    try:
        if earlier and not is_unfinished(root):  # whoever is interrupted from now on has both taken back
            os.replace(f"{root}/{FOLDER}/{LAST}", f"{root}/{FOLDER}/{UNFINISHED}")
        save_journal(root, journal)
        for change in ordered:
            _change_file(root, change)
            done += 1
        if is_last:
            finish(root)
    except BaseException as error:
        is_restored = False
        with suppress(ContextasmError, OSError):  # else whoever locks the workspace next takes it back
            made = [change for change in ordered[done : done + 1] if current_content(root, change.path) == change.after]
            paths = {entry.path for entry in earlier.entries} if earlier else set()
            paths |= {change.path for change in (*ordered[:done], *made)}
            changed = tuple(entry for entry in journal.entries if entry.path in paths)
            is_restored = not _restore(root, journal._replace(entries=changed))
            if is_restored:
                _close(root)
        if not is_restored and isinstance(error, ContextasmError):
            raise _half_done(error) from error
        raise
    return journal


def finish(root: str) -> None:
    """End an application; its journal becomes that of the last one."""
    os.replace(f"{root}/{FOLDER}/{UNFINISHED}", f"{root}/{FOLDER}/{LAST}")


def withdraw(root: str, error: BaseException) -> None:
    """Take back what an application that can't go on because of `error` has done; nothing if `make_changes` did that.

    Raises `ContextasmError` if its changes stay, because a file was changed since.
    """
    try:
        stays = isinstance(recover(root), ContextasmError)
    except (ContextasmError, OSError):
        stays = True
    if stays and isinstance(error, ContextasmError):
        raise _half_done(error) from error


def _half_done(error: ContextasmError) -> ContextasmError:
    """The error of an application whose changes could not be taken back."""
    what = f"{error.what}, and the earlier changes can't be undone now"
    hint = "run `ctxasm tidy --undo`, which undoes them or says why it can't"
    return ContextasmError(error.where, what, hint, code=error.code)


def is_unfinished(root: str) -> bool:
    """Whether an application has begun and not ended; it runs, or was interrupted."""
    return os.path.lexists(f"{root}/{FOLDER}/{UNFINISHED}")


def recover(root: str) -> Recovery:
    """Take back an interrupted application.

    If somebody else has changed one of its files since, or its journal is not believed, everything stays as it is. Each
    of its files is old or new, and each text is in one of them. Raises `ContextasmError` if a file can't be
    written.
    """
    try:
        journal = load_journal(root, UNFINISHED)
    except ContextasmError as error:
        return error
    if journal is None:
        return None
    _remove_temporary_files(root, journal)
    changed = _restore(root, journal)
    if changed:
        where = f"{FOLDER}/{UNFINISHED}"
        what = f"an interrupted `ctxasm tidy` can't be undone: {_files_were(changed)} changed since"
        hint = f"restore the files that were changed, or remove {where} to keep everything as it is"
        return ContextasmError(where, what, hint, code=1)
    _close(root)
    return journal


def take_back(root: str) -> Journal:
    """Restore every file that the last application changed, byte for byte and with the time of its change.

    Raises `ContextasmError` if none was applied, and, with code 1, if a file was changed since, or if the journal
    is not believed. No application is unfinished: the lock was taken.
    """
    journal = load_journal(root, LAST)
    if journal is None:
        hint = "run `ctxasm tidy` to see a plan"
        raise ContextasmError("--undo", "there is no --apply to undo", hint)
    changed = _changed_since(root, journal)
    if not changed:
        os.replace(f"{root}/{FOLDER}/{LAST}", f"{root}/{FOLDER}/{UNFINISHED}")
        changed = _restore(root, journal)
        if not changed:
            _close(root)
            return journal
        os.replace(f"{root}/{FOLDER}/{UNFINISHED}", f"{root}/{FOLDER}/{LAST}")
    hint = "restore the files that were changed, or keep everything as it is"
    raise ContextasmError("--undo", f"{_files_were(changed)} changed since", hint, code=1)


def _files_were(changed: Sequence[str]) -> str:
    return f"{changed[0]} and {len(changed) - 1} more files were" if changed[1:] else f"{changed[0]} was"


def _rank(change: FileChange) -> tuple[int, str]:
    grows = change.after is not None and change.after.startswith(change.before or b"")
    return (0 if grows else 2 if change.after is None else 1), change.path


def _extended(root: str, earlier: Journal | None, changes: Sequence[FileChange]) -> Journal:
    """The journal with further changes."""
    entries = {entry.path: entry for entry in earlier.entries} if earlier else {}
    for change in changes:
        before, after = content_digest(change.before), content_digest(change.after)
        if change.path not in entries:
            modified = 0
            with suppress(OSError):
                modified = os.lstat(f"{root}/{change.path}").st_mtime_ns
            entries[change.path] = JournalEntry(change.path, change.before, change.mode, (before,), modified)
        entry = entries[change.path]
        entries[change.path] = entry._replace(states=(*entry.states, after))
    folders = _missing_folders(root, changes)
    return Journal(tuple(entries.values()), (*(earlier.folders if earlier else ()), *folders))


def _missing_folders(root: str, changes: Iterable[FileChange]) -> tuple[str, ...]:
    folders = {str(folder) for change in changes for folder in PurePosixPath(change.path).parents}
    return tuple(sorted(folder for folder in folders if not os.path.lexists(f"{root}/{folder}")))


def _change_file(root: str, change: FileChange) -> None:
    if current_content(root, change.path) != change.before:
        hint = "run the command again; nothing has been changed"
        raise ContextasmError(change.path, "was changed by another program", hint)
    put_content(root, change.path, change.after, change.mode)


def _changed_since(root: str, journal: Journal) -> tuple[str, ...]:
    """The files whose content is not one that the changes gave them."""
    return tuple(
        entry.path for entry in journal.entries if content_digest(current_content(root, entry.path)) not in entry.states
    )


def _restore(root: str, journal: Journal) -> tuple[str, ...]:
    """Give each file its first content, else the files that were changed since.

    What had grown goes last: it may hold what left the other files.
    """
    changed = _changed_since(root, journal)
    if changed:
        return changed

    def has_grown(entry: JournalEntry) -> bool:
        return (current_content(root, entry.path) or b"").startswith(entry.before or b"")

    for entry in sorted(journal.entries, key=has_grown):
        put_content(root, entry.path, entry.before, entry.mode, entry.modified)
    for folder in reversed(journal.folders):
        with suppress(OSError):
            os.rmdir(f"{root}/{folder}")
    return ()


def _close(root: str) -> None:
    """End an application that was taken back."""
    with suppress(FileNotFoundError):
        os.unlink(f"{root}/{FOLDER}/{UNFINISHED}")


def _remove_temporary_files(root: str, journal: Journal) -> None:
    """Remove what a killed process left of files that it was about to write."""
    paths = (f"{FOLDER}/{UNFINISHED}", f"{FOLDER}/{LAST}", *(entry.path for entry in journal.entries))
    for folder, names in grouped(map(os.path.split, paths)).items():
        with suppress(OSError):
            remove_torn(f"{root}/{folder}", names)
