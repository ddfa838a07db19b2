"""Files of entries as they are now, and facts that earlier runs found in them.

What is stored of a file is used only if the file has the inode, the times and the size that it was stored with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from contextasm.model import Document, FolderFacts, Problem, StampedWorkspace
from contextasm.retrieval.memory_index.database import IndexConnection, from_json, to_json, use_database
from contextasm.retrieval.pool import EntryKind
from contextasm.text.cleaning.clean import hidden_problems

_YOUNG = 2
"""Seconds in which a changed file may change again without new times."""


def settled_stamps(workspace: StampedWorkspace, now: float, paths: Sequence[str]) -> dict[str, str]:
    """Stamp of each file; empty if an equal stamp would not prove it unchanged. `now` is in seconds since 1970."""
    stamps = {}
    newest = (now - _YOUNG) * 10**9
    for path in paths:
        stamp = workspace.stamp(path)
        is_settled = stamp is not None and stamp.modified < newest and stamp.changed < newest
        stamps[path] = " ".join(map(str, stamp)) if stamp and is_settled else ""
    return stamps


class CurrentFile:
    """A file as it is now; its entries are parsed when they are asked for."""

    def __init__(self, read: Document | Problem | None, kind: EntryKind[Any]) -> None:
        """The file as it was read."""
        self._read = read
        self._kind = kind
        self.digest = read.digest if isinstance(read, Document) else str(read)
        """Digest of its bytes; of an unreadable file, its problem as text."""
        self.problems: Sequence[Problem] = (read,) if isinstance(read, Problem) else ()

    @cached_property
    def entries(self) -> Sequence[Any]:
        """Its entries, in order; its problems are complete after that."""
        if not isinstance(self._read, Document):
            return ()
        entries, problems = self._kind.parse(self._read)
        self.problems = (*problems, *hidden_problems(self._read))
        return entries


class CurrentFiles:
    """The files of a pool as they are now."""

    def __init__(
        self,
        workspace: StampedWorkspace,
        now: float,
        kind: EntryKind[Any],
        paths: Sequence[str],
        unfit: Mapping[str, Problem],
    ) -> None:
        """The files at `paths`, in the order of the pool. `now` is in seconds since 1970.

        `unfit` has the problem of each path that is a name with escapes.
        """
        self.stamps: Mapping[str, str] = settled_stamps(workspace, now, paths)
        """Stamp of each path (`settled_stamps`)."""
        self._workspace = workspace
        self._kind = kind
        self._unfit = unfit
        self._files: dict[str, CurrentFile] = {}

    def read(self, path: str) -> CurrentFile:
        """The content of a file; it is opened once at most until it is forgotten."""
        if path not in self._files:
            self._files[path] = CurrentFile(self._unfit.get(path) or self._workspace.read(path), self._kind)
        return self._files[path]

    def has_changed(self, path: str, digest: str) -> bool:
        """Whether a file has another digest than this one; only then is its content held."""
        if is_same := self.read(path).digest == digest:
            self.forget(path)
        return not is_same

    def forget(self, path: str) -> None:
        """Hold the content of a file no longer."""
        self._files.pop(path, None)


def folder_facts(workspace: StampedWorkspace, folder: str, now: Callable[[], float], database: Path) -> FolderFacts:
    """Facts of the files in `folder`, stored in the file `database`. `now` gives seconds since 1970."""
    return FolderFacts(
        FileFacts(workspace, folder, "texts", now, database), FileFacts(workspace, folder, "ids", now, database)
    )


class FileFacts:
    """Facts of one kind about the files in one folder (`model.StoredFacts`)."""

    def __init__(
        self, workspace: StampedWorkspace, folder: str, kind: str, now: Callable[[], float], database: Path
    ) -> None:
        """Facts in the file `database`, which JSON can hold; a tuple comes back as a list."""
        self._workspace = workspace
        self._key = (kind, folder)
        self._now = now
        self._database = database
        self._stamps: Mapping[str, str] = {}

    def load(self, paths: Sequence[str]) -> Mapping[str, Any]:
        """The facts of those files among `paths` that have not changed since they were stored."""
        self._stamps = settled_stamps(self._workspace, self._now(), paths)

        def loaded(connection: IndexConnection) -> dict[str, object]:
            query = "SELECT path, stamp, held FROM facts WHERE kind = ? AND folder = ?"
            return {
                path: from_json(held)
                for path, stamp, held in connection.execute(query, self._key)
                if stamp == self._stamps.get(path)
            }

        return use_database(self._database, self._now(), loaded, new=False) or {}

    def store(self, facts: Mapping[str, object]) -> None:
        """Store the facts of these files, read since `load` was called, in place of all others, if that can be done.

        Those of files that have changed a moment ago are left out.
        """

        def stored(connection: IndexConnection) -> None:
            with connection:
                connection.begin_writing()
                connection.execute("DELETE FROM facts WHERE kind = ? AND folder = ?", self._key)
                rows = (
                    (*self._key, path, stamp, to_json(of_file))
                    for path, of_file in facts.items()
                    if (stamp := self._stamps.get(path))
                )
                connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?)", rows)

        use_database(self._database, self._now(), stored, new=True)
