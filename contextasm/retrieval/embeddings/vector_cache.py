"""Vectors remembered between builds, of one model, by the SHA-256 of their texts.

A convenience, like the counts of tokens: without a folder, with a damaged file or on a full disk everything goes on as
if there were none. Texts themselves are not kept.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from sys import byteorder
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

if TYPE_CHECKING:
    from sqlite3 import Connection

PackedVector: TypeAlias = "array[float]"
"""Numbers of 32 bits."""

_FILE = "vectors.db"
_VERSION = "1"
"""Goes up when the same model and text may give other vectors."""

_LIMIT = 256 << 20
"""Bytes: some 150,000 vectors of 384 numbers. A file above it is started afresh."""

_AT_ONCE = 500
"""Texts asked for in one statement; SQLite takes 999."""

_WAIT = 1.0
"""Seconds that another build may hold the file."""

_TABLE = "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL)"


def _digest(*parts: str) -> bytes:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


class VectorCache:
    """The vectors of one model, in a file that holds those of others too, and in this process."""

    def __init__(self, folder: Path | None, model: str) -> None:
        """Remembered in `folder`; None remembers them for this process alone."""
        self._path = folder / _FILE if folder else None
        self._model = model
        self._here: dict[str, PackedVector] = {}

    def get(self, texts: Sequence[str]) -> dict[str, PackedVector]:
        """The vectors of those texts that are remembered."""
        missing = [text for text in texts if text not in self._here]
        if missing and self._path and os.path.exists(self._path):
            self._here |= self._read({self._key(text): text for text in missing})
        return {text: self._here[text] for text in texts if text in self._here}

    def put(self, vectors: Mapping[str, PackedVector]) -> None:
        """Remember vectors; one that is there already is replaced."""
        self._here |= vectors
        if not vectors or not self._path:
            return
        import sqlite3

        rows = [(self._key(text), _packed(vector)) for text, vector in vectors.items()]
        # The second time is for a file that is none of ours, or damaged, and has been thrown away.
        for _ in range(2):
            try:
                self._write(rows)
            except (sqlite3.OperationalError, OSError):
                return  # busy, full or not ours to write: the next build asks again, and that is all
            except sqlite3.DatabaseError:
                with suppress(OSError):
                    self._path.unlink()
            else:
                return

    def _key(self, text: str) -> bytes:
        return _digest(_VERSION, byteorder, self._model) + _digest(text)

    def _read(self, texts: Mapping[bytes, str]) -> dict[str, PackedVector]:
        import sqlite3

        found: dict[str, PackedVector] = {}
        keys = list(texts)
        try:
            with self._open() as store:
                for start in range(0, len(keys), _AT_ONCE):
                    part = keys[start : start + _AT_ONCE]
                    marks = ",".join("?" * len(part))
                    statement = f"SELECT text, vector FROM vectors WHERE text IN ({marks})"  # noqa: S608 - marks alone
                    for key, data in store.execute(statement, part):
                        if (vector := _unpacked(data)) is not None:
                            found[texts[key]] = vector
        except (sqlite3.Error, OSError):
            return found
        return found

    def _write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        assert self._path
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size > _LIMIT:
            self._path.unlink()
        # SQLite would make it as readable as any file: what vectors stand for can be guessed from them.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with self._open() as store, store:
            store.execute(_TABLE)
            store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    @contextmanager
    def _open(self) -> Iterator[Connection]:
        """The file, opened as a database for as long as it is needed."""
        import sqlite3

        with closing(sqlite3.connect(str(self._path), timeout=_WAIT)) as store:
            yield store


def _packed(vector: PackedVector) -> bytes:
    data = vector.tobytes()
    return data + crc32(data).to_bytes(4, "big")


def _unpacked(data: object) -> PackedVector | None:
    """The vector; None for what is damaged."""
    if not isinstance(data, bytes) or len(data) < 8 or len(data) % 4:
        return None
    if crc32(data[:-4]) != int.from_bytes(data[-4:], "big"):
        return None
    return array("f", data[:-4])
