"""Path matching: patterns of paths and of plain texts, and the files of a tree that match a pattern.

Three forms of pattern exist, each as its users know it elsewhere:

- `list_matching` lists files as a shell does: `*`, `?` and `[...]` stay within one name, `**` matches any folders,
  hidden names match no wildcard, and links to folders are not followed below `**`; one that leads out is listed itself.
  A name with brackets that exists means itself.
  A folder that can't be listed is listed with a `/` at its end, and a folder that has the name of a file as a file.
  Layers' paths are such patterns.
- `glob_matches` compares one path with a pattern of a rule: `*` stays within one name, `**` means any folders,
  hidden names match, and `?` and brackets are plain characters.
- `wildcard_matches` compares texts that need not be paths: `*` matches any characters, `/` included. Filters and
  keys of memories use it.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import filter as filter_names
from fnmatch import fnmatchcase
from typing import Protocol

from contextasm.model import NamedTuple
from contextasm.text.names.templates import is_pattern


class TreeEntry(Protocol):
    """One name of a folder; `os.DirEntry` is one."""

    @property
    def name(self) -> str:
        """Name without its folder."""

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether the entry is a folder, or a link to one if links are followed."""


class Tree(Protocol):
    """Folders with their entries. Paths are relative to the topmost folder, whose own path is empty."""

    def entries(self, folder: str) -> Iterable[TreeEntry] | None:
        """The entries of a folder, hidden names left out; none if the folder does not exist.

        None if the folder can't be listed.
        """

    def exists(self, path: str) -> bool:
        """Whether a path exists, be it a link that leads nowhere."""

    def holds(self, folder: str) -> bool:
        """Whether a folder, links followed, is in the tree."""


def list_matching(tree: Tree, pattern: str) -> Sequence[str]:
    """The files that match, in code point order; a folder on the way that leads out is listed in their stead.

    So is a folder that can't be listed, with a `/` at its ends path.
    """
    search = _Search(tree)
    folders = {""}
    *folder_parts, last = re.sub(r"(?<![^/])(?:\*\*/)+", "**/", pattern).split("/")
    for part in folder_parts:
        folders = search.folders(folders, part)
    takes_folders = "**" not in folder_parts and names_file(last)
    files = search.files(folders, last, takes_folders=takes_folders)
    return sorted(files | search.found)


def names_file(pattern: str) -> bool:
    """Whether a pattern fits only names of files, as `daily/*.md` does; of `**/*.js` and `docs/*`, folders have some.

    A folder of such a name is in place of a file.
    """
    folders, _, name = pattern.rpartition("/")
    return bool(re.search(r"[*?\]][^*?\[\]]*\.\w+$", name)) and "**" not in folders.split("/")


class NamedEntry(NamedTuple):
    """One name of a folder that is not on a disk (`TreeEntry`)."""

    name: str
    is_folder: bool = False
    leads_to_folder: bool = False
    """Whether it is a link to a folder."""

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether this is a folder, or with `follow_symlinks` a link to one."""
        return self.is_folder or (follow_symlinks and self.leads_to_folder)


class PathTree:
    """The tree that a list of paths spells."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.folders: dict[str, dict[str, bool]] = {}
        """The names in each folder, and whether each is a folder itself."""
        for path in paths:
            folder, _, name = path.rpartition("/")
            self.folders.setdefault(folder, {})[name] = False
            while folder:
                parent, _, name = folder.rpartition("/")
                self.folders.setdefault(parent, {})[name] = True
                folder = parent

    def entries(self, folder: str) -> Iterator[NamedEntry]:
        """The entries of a folder, hidden names left out."""
        names = self.folders.get(folder, {}).items()
        yield from (NamedEntry(name, is_folder) for name, is_folder in names if not name.startswith("."))

    def exists(self, path: str) -> bool:
        """Whether it is one of the paths, or a folder on the way to one."""
        folder, _, name = path.rpartition("/")
        return name in self.folders.get(folder, {})

    def holds(self, folder: str) -> bool:  # noqa: ARG002 - as the protocol has it
        """Nothing leads out of it."""
        return True


def matching_paths(paths: Iterable[str], pattern: str) -> Sequence[str]:
    """The paths that a tree of nothing but them would list for a pattern, in code point order."""
    return list_matching(PathTree(paths), pattern)


class _Search:
    """The way of a pattern down a tree, part by part.

    Without recursion: a tree may be deeper than Python's stack.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.found: set[str] = set()
        """Folders that can't be searched."""

    def folders(self, above: set[str], part: str) -> set[str]:
        """The folders that a part of the pattern leads to from the ones above, if another part follows it."""
        held = self._held(above)
        if part == "**":
            return self._all_below(held)
        if is_pattern(part):
            return {path for path, entry in self._matching(held, part) if _is_folder(entry, follow_symlinks=True)}
        return {_joined(folder, part) for folder in held}

    def files(self, folders: set[str], last: str, *, takes_folders: bool) -> set[str]:
        """The files in folders that the last part of the pattern fits."""
        held = self._held(folders)
        if last == "**":
            self._all_below(held)
            return set()
        if is_pattern(last):
            entries = self._matching(held, last)
            return {path for path, entry in entries if takes_folders or not _is_folder(entry)}
        return {path for folder in held if self._tree.exists(path := _joined(folder, last))}

    def _held(self, folders: set[str]) -> set[str]:
        """The folders that do not lead out."""
        outside = {folder for folder in folders if not self._tree.holds(folder)}
        self.found |= outside
        return folders - outside

    def _all_below(self, folders: set[str]) -> set[str]:
        """The folders with all folders below them."""
        entered, left = {*folders}, [*folders]
        while left:
            for path, entry in self._matching([left.pop()], "*"):
                if _is_folder(entry):
                    if path not in entered:
                        entered.add(path)
                        left.append(path)
                elif _is_folder(entry, follow_symlinks=True) and not self._tree.holds(path):
                    self.found.add(path)  # as a named folder that leads out: whoever reads it learns why
        return entered

    def _matching(self, folders: Iterable[str], name_pattern: str) -> Sequence[tuple[str, TreeEntry]]:
        """The entries of folders whose names match, each with its path; a folder that can't be listed is found."""
        matching: list[tuple[str, TreeEntry]] = []
        for folder in folders:
            entries = self._tree.entries(folder)
            if entries is None:
                self.found.add(f"{folder or '.'}/")
            start, by_name = _joined(folder, ""), {entry.name: entry for entry in entries or ()}
            is_name = "[" in name_pattern and name_pattern in by_name
            names = [name_pattern] if is_name else filter_names(by_name, name_pattern)
            matching += [(start + name, by_name[name]) for name in names]
        return matching


def _is_folder(entry: TreeEntry, *, follow_symlinks: bool = False) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow_symlinks)
    except OSError:  # it is gone, its disk fails, or it is a link that leads to itself
        return False


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def plain_pattern(path: str) -> str:
    """The pattern that fits only this path, which may have the signs of patterns and templates."""
    return re.sub(r"[*?[{]", r"[\g<0>]", path)


def wildcard_matches(pattern: str, text: str) -> bool:
    """Whether a pattern fits a whole text: `*` any characters, `/` included, `?` one, `[...]` one of a set."""
    return fnmatchcase(text, pattern)


def glob_matches(pattern: str, path: str) -> bool:
    """Whether a pattern fits a whole path: `*` any name or part of one, `**` any folders, also none."""
    return _starred_match(path.split("/"), pattern.split("/"), "**", _name_matches)


def _name_matches(name: str, pattern: str) -> bool:
    return _starred_match(name, pattern, "*", operator.eq)


def _starred_match(items: Sequence[str], pattern: Sequence[str], star: str, same: Callable[[str, str], bool]) -> bool:
    """Whether items match a pattern whose stars match any characters. Only the last star is tried again: no blow-up."""
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
    return all(item == star for item in pattern[part:])
