"""The cache folder, and values of texts that are kept in it: token counts, vectors and summaries of earlier builds.

A cache may be lost: without a folder, with a damaged file or on a full disk, a build makes the values again.
"""

from __future__ import annotations

import os
from binascii import a2b_base64, b2a_base64, crc32
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b

from contextasm.workspace.reads import cache_base


def cache_folder(environment: Mapping[str, str]) -> str | None:
    """The folder for counts, vectors and memory indexes (XDG base directories); None if storing is not allowed."""
    if environment.get("CTXASM_NO_CACHE", "0") not in {"", "0"}:
        return None
    base = cache_base(environment)
    return f"{base}/ctxasm" if base else None


def index_database(root: str, environment: Mapping[str, str]) -> str | None:
    """The file for the memory index of the workspace at `root`; None if storing is not allowed."""
    folder = cache_folder(environment)
    name = blake2b(os.fsencode(os.path.realpath(root)), digest_size=16).hexdigest()
    return folder and f"{folder}/memories/{name}.sqlite"


_KEY, _CHECKSUM = 24, 8
"""Lengths in a line: of the digest, and of the checksum after it."""


class DiskCache:
    """Values of texts in one file that grows at its end (`model.Cache`), for one version of the values.

    A line has a digest of the version and the text, a checksum, and the value. A line that is damaged, half written or
    of another version is never found. Builds at the same time are safe: each appends with one write.
    """

    def __init__(self, folder: str | None, name: str, version: str, limit: int = 256 << 20) -> None:
        """Store values in the file `name` of `folder`; None keeps them only in this process.

        `version` is everything that a value depends on, apart from its text. A file of more than `limit` bytes is
        replaced by a new one.
        """
        self._path = f"{folder}/{name}.cache" if folder else os.devnull
        self._limit = limit
        self._version = blake2b(version.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        self._added: dict[bytes, bytes] = {}
        self.lookups = self.hits = 0

    def get(self, text: str) -> bytes | None:
        """The value of a text; None if none is stored."""
        key = self._key(text)
        line = self._lines.get(key, b"")
        self.lookups += 1
        if line[:_CHECKSUM] != _checksum(key, line[_CHECKSUM:]):
            return None
        self.hits += 1
        return a2b_base64(line[_CHECKSUM:])

    def put(self, text: str, value: bytes) -> None:
        """Store the value of a text, in place of an earlier one; on disk only after `save`."""
        key, encoded = self._key(text), b2a_base64(value)
        self._lines[key] = self._added[key] = _checksum(key, encoded) + encoded

    def save(self) -> None:
        """Add the new values to the file. If that fails, the next build makes them again."""
        if not self._added or self._path == os.devnull:
            return
        # The first line ends one that another build has left half written.
        data = b"\n" + b"".join(key + line for key, line in self._added.items())
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
            with open(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab", buffering=0) as file:
                os.write(file.fileno(), data)
            self._added = {}

    def _key(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=_KEY // 2, person=self._version).hexdigest().encode()

    @cached_property
    def _lines(self) -> dict[bytes, bytes]:
        """The rest of each line, by its digest."""
        with suppress(OSError), open(self._path, "rb") as file:
            if os.fstat(file.fileno()).st_size <= self._limit:
                return {line[:_KEY]: line[_KEY:] for line in file}
            os.unlink(self._path)
        return {}


def _checksum(key: bytes, encoded: bytes) -> bytes:
    return b"%08x" % crc32(key + encoded)
