"""Files that memories name: the ones that are gone, or were moved, and cites whose text has changed.

In doubt nothing is said. A name in a text counts as a file only if git knew one of this path; a path in `files` or
`cites` counts in any case.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from contextasm.model import ContextasmError, Document, Memory, Problem, grouped
from contextasm.text.memories.cites import CitedFile, cite_place, cited_file, file_lines, parse_cite
from contextasm.text.memories.parser import ACTIVE_STATUSES
from contextasm.workspace.folder import Folder, folders_above, repository_top
from contextasm.workspace.git.commands import ignored_paths, left_places, repository_files

_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_FILE = re.compile(r"(?:\./)?((?:[\w@+.-]+/)*[\w@+.-]*\.[A-Za-z]\w{0,9})(?::([0-9]{1,9})(?:-[0-9]+)?)?")
_FOLDER = re.compile(r"(?:\./)?(?:[\w@+.-]+/)+")
_PLAIN = re.compile(r"(?:\./)?([^\s*?{}\[\]<>$~/:][^*?{}\[\]<>$:]*?)/?(?::[0-9-]+)?")
_TELLS_OF_PAST = re.compile(
    r"\b(?:remov|delet|renam|replac|moved|drop(?:ped|s)\b|gone\b|former|no longer|instead of|deprecat|legacy|obsolete"
    r"|used to\b|previous|old\b|retire|supersed|migrat|merged into|split into|extracted)",
    re.IGNORECASE,
)
"""Words of a text that may name a file because it is gone."""

Fault = tuple[Memory, str, str]
"""A memory, what is wrong with a file that it names, and what to do about it."""


def file_faults(memories: Iterable[Memory], folder: Folder, environment: Mapping[str, str]) -> Iterator[Fault]:
    """The faults of the files that active memories name; git is asked only if a file is not there."""
    active = [memory for memory in memories if memory.status in ACTIVE_STATUSES]
    missing: dict[tuple[Memory, str], bool] = {}
    cited: dict[str, CitedFile | None] = {}
    for memory in active:
        for path, line, is_stated in _named_files(memory, folder):
            if not _is_there(memory, path, folder):
                missing.setdefault((memory, path), is_stated)
            elif line and (count := _line_count(folder, path)) and line > count:
                hint = "correct the line; a cite (`ctxasm remember --cites`) finds lines that moved"
                yield memory, f"the memory names line {line} of {path}, which has fewer lines", hint
        yield from _cite_faults(memory, folder, cited)
    if missing:
        yield from _missing_faults(missing, folder.root, environment)


def _named_files(memory: Memory, folder: Folder) -> Iterator[tuple[str, int, bool]]:
    """Path, line (0 for none) and whether a field states it, of each file that a memory names.

    A line that names a folder which is not there may speak of another repository.
    """
    for written in memory.files:
        if match := _PLAIN.fullmatch(written.strip()):
            yield match[1], 0, True
    for cite in filter(None, map(parse_cite, memory.cites)):
        yield cite[0], 0, True
    for text_line in memory.text.split("\n"):
        quoted = _CODE.findall(text_line)
        is_elsewhere = any(_FOLDER.fullmatch(each) and not _is_there(memory, each, folder) for each in quoted)
        if not (is_elsewhere or _TELLS_OF_PAST.search(_CODE.sub("", text_line))):
            for match in filter(None, map(_FILE.fullmatch, quoted)):
                yield match[1], int(match[2] or 0), False


def _is_there(memory: Memory, path: str, folder: Folder) -> bool:
    """Whether the path exists, from the workspace or from a folder above the memory."""
    plain = path.removeprefix("./").rstrip("/")
    return any(folder.exists(f"{above}/{plain}" if above else plain) for above in folders_above(memory.path))


def _line_count(folder: Folder, path: str) -> int:
    read = folder.read(path) if folder.is_file(path) else None
    return len(file_lines(read.data)) if isinstance(read, Document) else 0


def _cite_faults(memory: Memory, folder: Folder, files: dict[str, CitedFile | None]) -> Iterator[Fault]:
    for written in memory.cites:
        cite = parse_cite(written)
        if not cite or not cite[3]:
            hint = "write FILE:FIRST-LAST; `ctxasm memory verify` adds the digest"
            yield memory, f"the memory cites `{written}`, which is not FILE:FIRST-LAST@DIGEST", hint
        elif file := cited_file(cite[0], folder, files):
            if not file.find(cite):
                hint = "correct the memory, or confirm it with `ctxasm memory verify`"
                yield memory, f"the memory cites {cite_place(cite)}, whose text has changed", hint
        elif isinstance(read := folder.read(cite[0]), Problem) and folder.exists(cite[0]):
            yield (
                memory,
                f"the memory cites {cite_place(cite)}, which {read.message}",
                "cite lines of a text file of the workspace",
            )


def _missing_faults(
    missing: Mapping[tuple[Memory, str], bool], root: str, environment: Mapping[str, str]
) -> Iterator[Fault]:
    files: Sequence[str] = ()
    left: Mapping[str, tuple[str, str]] = {}
    with suppress(ContextasmError):  # what git can't tell is not known
        files, left = repository_files(root, environment), left_places(root, environment)
    here, before = _by_name(files), _by_name(left)
    known, kinds = {*files}, {path.rpartition(".")[2] for path in files}
    below_top = os.path.relpath(root, repository_top(root) or root)
    gone: list[tuple[Memory, str, list[str]]] = []
    for (memory, path), is_stated in missing.items():
        # A name without a folder may mean the only such file of any folder, if the repository has files of its kind. A
        # path with folders begins in the folder of the memory, or in one above that.
        around = os.path.normpath(f"{below_top}/{memory.path}")
        is_name = "/" not in path and (is_stated or path.rpartition(".")[2] in kinds)
        old = [each for each in _ends_with(before, path) if is_name or around.startswith(each.removesuffix(path))]
        is_known = _ends_with(here, path) or (is_stated and any(f"/{path}/" in f"/{each}" for each in files))
        is_later = any(left[each][0] >= max(memory.created, memory.verified) for each in old)
        is_vague = "/" not in path and not is_stated and len(old) > 1
        if not is_known and not is_vague and (is_later if old else is_stated):
            gone.append((memory, path, old))
    ignored = {*ignored_paths(root, environment, sorted({each for _, _, old in gone for each in old}))}
    for memory, path, old in gone:
        places = {_place_now(each, left, known) for each in old}
        if len(places) == 1 and (place := places.pop()):
            yield memory, f"the memory names {path}, which was moved to {place}", "write the new path"
        elif not ignored.issuperset(old) or not old:
            what = "is gone" if old else "does not exist"
            yield memory, f"the memory names {path}, which {what}", "correct the path, or remove the memory"


def _by_name(paths: Iterable[str]) -> Mapping[str, Sequence[str]]:
    return grouped((path.rpartition("/")[2], path) for path in paths)


def _ends_with(by_name: Mapping[str, Sequence[str]], path: str) -> Sequence[str]:
    """The paths that are this one, or end with it."""
    same = by_name.get(path.rpartition("/")[2], ())
    return [each for each in same if f"/{each}".endswith(f"/{path}")]


def _place_now(path: str, left: Mapping[str, tuple[str, str]], known: Collection[str]) -> str:
    """The place of a file after all its moves; empty if it was deleted."""
    seen: set[str] = set()
    while path not in known and path in left and path not in seen:
        seen.add(path)
        path = left[path][1]
    return path if path in known else ""
