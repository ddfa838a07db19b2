"""Paths that a person typed, as paths of the workspace: one function for every flag and argument that takes one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from contextasm.text.templates import is_pattern


def workspace_path(root: str, typed: str, exists: Callable[[str], bool]) -> str:
    """The path in the workspace at `root` that a person means by `typed`; a pattern stays one.

    It may be relative to the current folder or to the workspace, or absolute, and may hold `./`, `..` and `//`. The
    current folder counts first; `exists` decides between the two for a path that exists in one of them only. A pattern
    is found by its first folders, those without a wildcard. The workspace itself is an empty path. A path that leads
    out of the workspace comes back as typed.
    """
    fixed, pattern = ("", typed) if not typed else (typed, "") if exists(typed) else _split_pattern(typed)
    if not fixed:
        return typed
    in_current, in_root = _below(root, _current_folder(), fixed), _below(root, root, fixed)
    candidates = [path for path in (in_current, None if os.path.isabs(fixed) else in_root) if path is not None]
    if not candidates:
        return typed
    path = next((path for path in candidates if not path or exists(path)), None)
    if path is None:
        folders = [(candidate, os.path.dirname(candidate)) for candidate in candidates]
        path = next((candidate for candidate, folder in folders if not folder or exists(folder)), candidates[-1])
    return "/".join(filter(None, (path, pattern)))


def _split_pattern(typed: str) -> tuple[str, str]:
    """The folders before the first wildcard, and the rest; all of a path without one is fixed.

    The name of a folder on the disk is no wildcard, whatever characters it has.
    """
    names = typed.split("/")
    wildcards = (number for number, name in enumerate(names) if is_pattern(name))
    first = next((number for number in wildcards if not os.path.lexists("/".join(names[: number + 1]))), len(names))
    fixed = "/".join(names[:first]) or ("/" if first and names[0] == "" else "")
    return fixed, "/".join(name for name in names[first:] if name not in {"", "."})


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def _below(root: str, folder: str, typed: str) -> str | None:
    """The path below `root` of a path typed in `folder`; None where it lies elsewhere. Links keep their names."""
    if not folder and not os.path.isabs(typed):
        return None
    full = os.path.join(folder, typed)
    if ".." in full.split("/"):  # what lies above a link is what lies above its target
        parent, name = os.path.split(full.rstrip("/"))
        full = os.path.realpath(full) if name == ".." else os.path.join(os.path.realpath(parent), name)
    full = os.path.normpath(full)
    for path in (full, os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))):
        for ancestor in (path, *map(str, Path(path).parents)):
            if ancestor == root or os.path.realpath(ancestor) == root:
                return path[len(ancestor) :].strip("/")
    return None
