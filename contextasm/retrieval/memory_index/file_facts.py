"""Facts that earlier runs found in the files of memories in a folder: who looks for one memory opens its file alone.

Derived data in small databases of their own: what is stored of a file is believed only if the file has the inode and
the times that it was stored with. The caller opens the file of a memory that is found here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Generic

from contextasm.model import ContextasmError, FactsT, FileIds, FileTexts, FolderFacts, StampedWorkspace
from contextasm.retrieval.memory_index.database import hardened, is_regular_file, open_for_writing, settled_stamps
from contextasm.retrieval.memory_index.index import INDEX_FOLDER
from contextasm.retrieval.memory_index.layers import read_only
from contextasm.retrieval.memory_index.replacement import remove_abandoned, replacement
from contextasm.retrieval.memory_index.schema import UNUSABLE, VERSION, DamagedIndex, as_blob, load_blob

_TABLE = "CREATE TABLE files (path TEXT PRIMARY KEY, stamp TEXT, held BLOB)"


def folder_facts(
    workspace: StampedWorkspace, folder: str, now: Callable[[], float], make_folder: Callable[[], Path]
) -> FolderFacts:
    """Facts of the files in `folder`. `now` gives seconds since 1970.

    `make_folder` makes the workspace's `INDEX_FOLDER`, and raises `ContextasmError` where it can't.
    """
    name = sha256(folder.encode(errors="surrogatepass")).hexdigest()[:16]
    path = Path(workspace.root, INDEX_FOLDER, name)
    return FolderFacts(
        FileFacts(workspace, path.with_suffix(".texts"), FileTexts, now, make_folder),
        FileFacts(workspace, path.with_suffix(".ids"), FileIds, now, make_folder),
    )


class FileFacts(Generic[FactsT]):
    """Facts of one kind about the files in one folder (`model.StoredFacts`)."""

    def __init__(
        self,
        workspace: StampedWorkspace,
        path: Path,
        kind: Callable[..., FactsT],
        now: Callable[[], float],
        make_folder: Callable[[], Path],
    ) -> None:
        """Facts in the database at `path`; `kind` makes those of a file of its values, which JSON can hold."""
        self._workspace = workspace
        self._path = path
        self._kind = kind
        self._now = now
        self._make_folder = make_folder
        self._stamps: Mapping[str, str] = {}

    def load(self, paths: Sequence[str]) -> Mapping[str, FactsT]:
        """The facts of those files among `paths` that have not changed since they were stored."""
        self._stamps = settled_stamps(self._workspace, self._now(), paths)
        if not is_regular_file(self._path):
            return {}
        with suppress(*UNUSABLE), closing(_open(self._path)) as connection:
            return dict(self._believed(connection))
        return {}

    def _believed(self, connection: sqlite3.Connection) -> Iterator[tuple[str, FactsT]]:
        query = "SELECT held FROM files WHERE path = ? AND stamp = ?"
        for path, stamp in self._stamps.items():
            if stamp and (row := connection.execute(query, (path, stamp)).fetchone()):
                yield path, self._kind(*load_blob(row[0]))

    def store(self, facts: Mapping[str, FactsT]) -> None:
        """Store the facts of these files, read since `load` was called, in place of all others, where that can be done.

        Those of files that have changed a moment ago are left out.
        """
        rows = (
            (path, self._stamps[path], as_blob([*of_file]))  # type: ignore[misc]
            for path, of_file in facts.items()
            if self._stamps.get(path)
        )
        with suppress(*UNUSABLE, ContextasmError):
            self._make_folder()
            remove_abandoned(self._path, self._now())
            with replacement(self._path) as made:
                with closing(open_for_writing(made.name)) as connection:
                    connection.execute("BEGIN")
                    connection.execute(_TABLE)
                    connection.executemany("INSERT INTO files VALUES (?, ?, ?)", rows)
                    connection.execute(f"PRAGMA user_version = {VERSION}")
                    connection.execute("COMMIT")
                made.put_in_place(self._path)


def _open(path: Path) -> sqlite3.Connection:
    """The stored facts. Raises `sqlite3.DatabaseError` where this version of the program did not make the file."""
    connection = hardened(sqlite3.connect(read_only(path), uri=True))
    with ExitStack() as on_error:
        on_error.callback(connection.close)
        schema = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
        if schema != [_TABLE] or connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            raise DamagedIndex("the facts are those of another version")
        on_error.pop_all()
    return connection
