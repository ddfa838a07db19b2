"""Replacement of a file of an index: a new file is written under a temporary name, and takes its name when whole.

So builds at the same time do not meet, and one that is killed leaves the old file as it was.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

_ABANDONED = 3600
"""Seconds after which a temporary file belongs to no process any more."""


class Replacement(NamedTuple):
    """An empty file beside the one that it is to replace."""

    name: str
    """Its temporary path."""
    handle: int
    """The open file; it is closed after every other user of the file, since its end would end their locks."""

    def put_in_place(self, path: Path) -> None:
        """Give the file its name, after all of it is on the disk: a page that is not there need not look damaged."""
        os.fsync(self.handle)
        os.replace(self.name, path)


@contextmanager
def replacement(path: Path) -> Iterator[Replacement]:
    """A replacement of the file at `path`, which is removed at the end if it was not put in place."""
    handle, name = tempfile.mkstemp(".tmp", f".{path.name}.", path.parent)
    try:
        yield Replacement(name, handle)
    finally:
        os.close(handle)
        with suppress(OSError):
            os.unlink(name)


def remove_abandoned(path: Path, now: float) -> None:
    """Remove replacements of `path` that killed builds left; `now` is in seconds since 1970."""
    for name in path.parent.glob(f".{path.name}.*.tmp"):
        with suppress(OSError):
            if name.lstat().st_mtime < now - _ABANDONED:
                name.unlink()
