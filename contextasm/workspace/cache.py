"""Cache on disk: its folder, and the token counts of earlier builds.

A cache may be lost: without a folder, with a damaged file or on a full disk, a build counts again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from struct import Struct

from contextasm.model import ContextasmError
from contextasm.selection.tokens import ENCODINGS
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


_RECORD = Struct(">12sI")
"""The digest of a text, and its tokens. A record never crosses two blocks of a disk, so none is half lost."""

_MAGIC = b"ctxcnt\x00\x01"
"""The last byte is the version: it increases when the same table can give other counts."""

_LIMIT = 4 << 20
"""Bytes: a quarter of a million counts, read in about 60 ms. A larger file is replaced by a new one."""


class TokenCountCache:
    """Token counts of one encoding, in one file that grows at its end.

    Builds at the same time are safe: each appends with one write, and a count that both add is stored twice. The
    header has the length of a record, so a second header among the records is a count of no text.
    """

    def __init__(self, folder: str | None, name: str) -> None:
        """Counts of the encoding `name`, stored in `folder`; None keeps them only in this process."""
        self._path = f"{folder}/{name}.counts" if folder else os.devnull
        self._header = _MAGIC + bytes.fromhex(ENCODINGS[name].sha256)[: _RECORD.size - len(_MAGIC)]
        self._counts: dict[bytes, int] | None = None
        self._added: dict[bytes, int] = {}
        self.lookups = 0
        """Number of texts that were asked for."""
        self.hits = 0
        """Number of these that had a count, from an earlier build or from this process."""
        self._can_append = False
        """Whether a record that is appended to the file will be found again."""

    def get(self, text: str) -> int | None:
        """The tokens of a text; None if no count is stored."""
        count = self._loaded_counts().get(self._digest(text))
        self.lookups += 1
        self.hits += count is not None
        return count

    def put(self, text: str, count: int) -> None:
        """Store the tokens of a text; on disk only after `save`."""
        digest = self._digest(text)
        self._loaded_counts()[digest] = self._added[digest] = count

    def save(self) -> None:
        """Add the new counts to the file, or replace a file that is damaged, foreign or too large."""
        from pathlib import Path

        if not self._added or self._path == os.devnull:
            return
        try:
            Path(self._path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._can_append:
                self._append()
            else:
                from contextasm.workspace.atomic import write  # here: most builds only append

                write(Path(self._path), self._header + _pack(self._loaded_counts()))
                self._can_append = True
        except (OSError, ContextasmError):
            # The next build only has to count again.
            return
        self._added = {}

    def _digest(self, text: str) -> bytes:
        # The header is part of the digest, so that a count of another table or version is never found.
        data = text.encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=12, person=self._header).digest()

    def _loaded_counts(self) -> dict[bytes, int]:
        if self._counts is None:
            self._counts = self._load()
        return self._counts

    def _load(self) -> dict[bytes, int]:
        try:
            with open(self._path, "rb") as file:
                data = file.read(_LIMIT + 1)
        except OSError as error:
            self._can_append = isinstance(error, FileNotFoundError)
            return {}
        if not data:  # another build has made the file, and writes to it next
            self._can_append = True
            return {}
        if len(data) > _LIMIT or not data.startswith(self._header):
            return {}
        excess = len(data) % _RECORD.size
        # After half a record, no appended record would be at the place at which it is read.
        self._can_append = not excess
        return dict(_RECORD.iter_unpack(data[_RECORD.size : len(data) - excess]))

    def _append(self) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(handle, "ab", buffering=0) as file:
            os.write(handle, (b"" if file.tell() else self._header) + _pack(self._added))


def _pack(counts: dict[bytes, int]) -> bytes:
    return b"".join(_RECORD.pack(digest, count) for digest, count in counts.items())
