"""Which paths of a tree of folders match a pattern, whether the tree lies on a disk or in a git revision.

Hidden names match no wildcard, and links to folders are not followed below `**`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import translate
from typing import Protocol

from contextasm.text.templates import is_pattern


class TreeEntry(Protocol):
    """One name of a folder; `os.DirEntry` is one."""

    @property
    def name(self) -> str:
        """Without its folder."""

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder, or a link to one if those are followed."""


class Tree(Protocol):
    """Folders and what they hold. Paths are relative to the topmost one, whose own is empty."""

    def entries(self, folder: str) -> Iterable[TreeEntry]:
        """What a folder holds, hidden names aside; nothing where there is no such folder."""

    def exists(self, path: str) -> bool:
        """Whether there is anything of this name, be it a link that leads nowhere."""

    def holds(self, folder: str) -> bool:
        """Whether a folder, links followed, lies in the tree."""


def list_matching(tree: Tree, pattern: str) -> Sequence[str]:
    """The files that match, in code point order; a folder on the way that leads out is listed in their stead."""
    return sorted(set(_matching(tree, "", pattern.split("/"))))


def _matching(tree: Tree, folder: str, parts: Sequence[str]) -> Iterator[str]:
    """The paths below a folder that match the rest of a pattern."""
    if not parts:
        return
    first, rest = parts[0], parts[1:]
    if not tree.holds(folder):
        yield folder
    elif first == "**":
        yield from _anywhere(tree, folder, rest)
    elif is_pattern(first):
        yield from _alike(tree, folder, first, rest)
    elif rest:
        yield from _matching(tree, _joined(folder, first), rest)
    elif tree.exists(_joined(folder, first)):
        yield _joined(folder, first)


def _anywhere(tree: Tree, folder: str, rest: Sequence[str]) -> Iterator[str]:
    """The paths in a folder and in the folders below it; links to folders are not followed."""
    yield from _matching(tree, folder, rest)
    for entry in tree.entries(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _anywhere(tree, _joined(folder, entry.name), rest)


def _alike(tree: Tree, folder: str, name: str, rest: Sequence[str]) -> Iterator[str]:
    """The paths in a folder that begin with a name like this one."""
    matches = re.compile(translate(name)).match
    for entry in tree.entries(folder):
        if not matches(entry.name):
            continue
        if rest and entry.is_dir():
            yield from _matching(tree, _joined(folder, entry.name), rest)
        elif not rest and not entry.is_dir(follow_symlinks=False):
            yield _joined(folder, entry.name)


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def glob_matches(pattern: str, path: str) -> bool:
    """Whether a pattern means a whole path: `*` any name or part of one, `**` any folders, also none."""
    return _wild(path.split("/"), pattern.split("/"), "**", lambda name, part: _wild(name, part, "*", operator.eq))


def _wild(items: Sequence[str], pattern: Sequence[str], star: str, same: Callable[[str, str], bool]) -> bool:
    """Whether items match a pattern whose stars stand for any run. Only the last star is tried again: no blow-up."""
    at = part = tried = 0
    back = -1
    while at < len(items):
        if part < len(pattern) and pattern[part] == star:
            back, tried = part, at
            part += 1
        elif part < len(pattern) and same(items[at], pattern[part]):
            at, part = at + 1, part + 1
        elif back >= 0:
            tried += 1
            at, part = tried, back + 1
        else:
            return False
    return all(each == star for each in pattern[part:])
