"""Vectors remembered between builds, by their model and the SHA-256 of their texts. Texts are not stored.

A cache, as for counts of tokens: without a folder, with a damaged file or on a full disk builds go on without it.
"""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from sys import byteorder
from typing import TypeAlias
from zlib import crc32

PackedVector: TypeAlias = "array[float]"
"""Numbers of 32 bits."""

_FILE = "vectors.db"
_VERSION = "1"
"""Part of every key; raised when the same model and text may give other vectors."""

_MAX_FILE = 256 << 20
"""Bytes: some 150,000 vectors of 384 numbers. A larger file is replaced by a new one."""

_WAIT = 1.0
"""Seconds to wait for another build that writes the file."""

_TABLE = "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB NOT NULL)"


def _digest(*parts: str) -> bytes:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


class VectorCache:
    """The vectors of one model: in memory, and in a file that is shared with other models."""

    def __init__(self, folder: Path | None, model: str) -> None:
        """Remember vectors in `folder`; None keeps them in memory."""
        self._path = folder / _FILE if folder else None
        self._model = model
        self._in_memory: dict[str, PackedVector] = {}

    def get(self, texts: Sequence[str]) -> dict[str, PackedVector]:
        """Remembered vectors by their texts; a text without one is left out."""
        missing = [text for text in texts if text not in self._in_memory]
        if missing and self._path and os.path.exists(self._path):
            self._in_memory |= self._read({self._key(text): text for text in missing})
        return {text: self._in_memory[text] for text in texts if text in self._in_memory}

    def put(self, vectors: Mapping[str, PackedVector]) -> None:
        """Remember vectors by their texts, in place of those remembered before."""
        self._in_memory |= vectors
        if not vectors or not self._path:
            return
        rows = [(self._key(text), _pack(vector)) for text, vector in vectors.items()]
        # The second attempt follows the removal of a file that is damaged or no database.
        for _ in range(2):
            try:
                self._write(rows)
            except (sqlite3.OperationalError, OSError):
                return  # busy, full or read-only: the next build makes these vectors again
            except sqlite3.DatabaseError:
                with suppress(OSError):
                    self._path.unlink()
            else:
                return

    def _key(self, text: str) -> bytes:
        return _digest(_VERSION, byteorder, self._model) + _digest(text)

    def _read(self, texts: Mapping[bytes, str]) -> dict[str, PackedVector]:
        vectors: dict[str, PackedVector] = {}
        with suppress(sqlite3.Error, OSError), closing(self._open()) as store:
            for key, text in texts.items():
                found = store.execute("SELECT vector FROM vectors WHERE text = ?", (key,)).fetchone()
                if found and (vector := _unpack(found[0])) is not None:
                    vectors[text] = vector
        return vectors

    def _write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        assert self._path
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size > _MAX_FILE:
            self._path.unlink()
        # SQLite would let everybody read the file, and texts can be guessed from their vectors.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with closing(self._open()) as store, store:
            store.execute(_TABLE)
            store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(str(self._path), timeout=_WAIT)


def _pack(vector: PackedVector) -> bytes:
    data = vector.tobytes()
    return data + crc32(data).to_bytes(4, "big")


def _unpack(data: object) -> PackedVector | None:
    """The vector; None for damaged data."""
    if not isinstance(data, bytes) or len(data) < 8 or len(data) % 4:
        return None
    if crc32(data[:-4]) != int.from_bytes(data[-4:], "big"):
        return None
    return array("f", data[:-4])
