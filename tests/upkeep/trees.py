"""Workspaces on the disk as dicts, and planners that propose what a test wants."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

OWN = {".tidy", ".ctxasm"}


def tree(root: Path) -> Mapping[str, tuple[bytes, tuple[int, int]]]:
    """The bytes, mode and time of change of every file, but for those of ctxasm's own; an empty folder is an entry."""
    found: dict[str, tuple[bytes, tuple[int, int]]] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in OWN]
        if not folders and not files:
            found[os.path.relpath(folder, root) + "/"] = (b"", (0, 0))
        for name in files:
            path = Path(folder, name)
            status = path.stat()
            found[os.path.relpath(path, root)] = path.read_bytes(), (stat.S_IMODE(status.st_mode), status.st_mtime_ns)
    return found


def all_text(root: Path) -> bytes:
    """Everything that stands in the workspace's files, archives included; no compressed file is opened."""
    return b"\n".join(content for content, _ in tree(root).values())
