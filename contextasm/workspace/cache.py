"""What is kept on disk beside the workspace: the token tables of this package, and counts from earlier builds.

The counts are a convenience: without a folder, with a damaged file or on a full disk everything goes on as if
there were none. Nothing here decides where the folder is, and nothing is counted here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from struct import Struct

from contextasm.selection.tokens import ENCODINGS


def is_cache_allowed(environment: Mapping[str, str]) -> bool:
    """Whether anything may be kept from one build to the next."""
    return environment.get("CTXASM_NO_CACHE", "0") in {"", "0"}


def cache_folder(environment: Mapping[str, str]) -> Path | None:
    """Where counts and vectors are remembered (XDG base directories); None where they are not to be."""
    if not is_cache_allowed(environment):
        return None
    base = environment.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        home = environment.get("HOME", "")
        if not home.startswith("/"):
            return None
        base = f"{home}/.cache"
    return Path(base) / "ctxasm"


_RECORD = Struct(">12sI")
"""The digest of a text, and its tokens. Records never straddle two blocks of a disk, so none is lost by half."""

_MAGIC = b"ctxcnt\x00\x01"
"""The last byte is the version: it goes up when the same table may give other counts."""

_LIMIT = 4 << 20
"""Bytes: a quarter of a million counts, read in about 60 ms. A file above it is started afresh."""


class TokenCountCache:
    """The counts of one encoding, remembered in one file that grows at its end.

    Builds at once are safe: each appends with one write, and what both add stands there twice with the same count.
    The header is as long as a record, so a second one among the records is a count that no text asks for.
    """

    def __init__(self, folder: Path | None, name: str) -> None:
        """Counts kept in `folder`; None keeps them for this process alone."""
        self._path = folder / f"{name}.counts" if folder else Path(os.devnull)
        self._header = _MAGIC + bytes.fromhex(ENCODINGS[name].sha256)[: _RECORD.size - len(_MAGIC)]
        self._counts: dict[bytes, int] | None = None
        self._added: dict[bytes, int] = {}
        self._sound = False
        """Whether the file may be appended to."""

    def get(self, text: str) -> int | None:
        """The tokens of a text; None where it was never counted."""
        return self._loaded().get(self._digest(text))

    def put(self, text: str, count: int) -> None:
        """Remember the tokens of a text; on disk only after `save`."""
        digest = self._digest(text)
        self._loaded()[digest] = self._added[digest] = count

    def save(self) -> None:
        """Add the new counts to the file, or write it afresh where it is damaged, foreign or too large."""
        if not self._added or self._path == Path(os.devnull):
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._sound:
                self._append()
            else:
                self._replace()
        except OSError:
            # The next build counts again, and that is all.
            return
        self._added = {}

    def _digest(self, text: str) -> bytes:
        # The header is part of it: a count of another table or version, however it came into the file, is never found.
        data = text.encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=12, person=self._header).digest()

    def _loaded(self) -> dict[bytes, int]:
        if self._counts is None:
            self._counts = self._load()
        return self._counts

    def _load(self) -> dict[bytes, int]:
        try:
            with self._path.open("rb") as file:
                data = file.read(_LIMIT + 1)
        except OSError as error:
            self._sound = isinstance(error, FileNotFoundError)
            return {}
        if len(data) > _LIMIT or not data.startswith(self._header):
            return {}
        torn = len(data) % _RECORD.size
        # After a torn record nothing that is appended would lie where it is looked for.
        self._sound = not torn
        return dict(_RECORD.iter_unpack(data[_RECORD.size : len(data) - torn]))

    def _append(self) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            header = b"" if os.fstat(handle).st_size else self._header
            os.write(handle, header + _pack(self._added))
        finally:
            os.close(handle)

    def _replace(self) -> None:
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            temporary.write_bytes(self._header + _pack(self._loaded()))
            temporary.replace(self._path)
        finally:
            temporary.unlink(missing_ok=True)
        self._sound = True


def _pack(counts: dict[bytes, int]) -> bytes:
    return b"".join(_RECORD.pack(digest, count) for digest, count in counts.items())
