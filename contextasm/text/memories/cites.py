"""Cites: the lines of a file that a memory rests on, as `FILE:FIRST-LAST@DIGEST`.

A cite holds as long as the file has these lines, wherever they are in it. The digest is of bytes, so that neither masks
nor an audience decides; only line ends of two characters count as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import islice

from contextasm.model import Document, Workspace, grouped

Cite = tuple[str, int, int, str]
"""Path in the workspace, first and last line, counted from 1, and digest; an empty digest says nothing of the text."""

_NUMBER = "([1-9][0-9]{0,8})"
_CITE = re.compile(rf"([^\n]+?):{_NUMBER}(?:-{_NUMBER})?(?:@([0-9a-f]{{12}}))?")

_MOST_COMPARED = 100_000
"""Lines of which the search for lines that have moved may take a digest."""


def parse_cite(written: str) -> Cite | None:
    """The cite in a text such as `src/a.py:3-5@0123456789ab` or `src/a.py:3`; None for any other text."""
    match = _CITE.fullmatch(written)
    if not match:
        return None
    first, last = int(match[2]), int(match[3] or match[2])
    return (match[1], first, last, match[4] or "") if first <= last else None


def cite_place(cite: Cite) -> str:
    """File and lines of a cite, as it is written without its digest."""
    return f"{cite[0]}:{cite[1]}-{cite[2]}"


def cited_paths(cites: Iterable[str]) -> set[str]:
    """The paths of the files that are cited."""
    return {cite[0] for cite in map(parse_cite, cites) if cite}


def written_cite(path: str, first: int, last: int, lines: Sequence[bytes]) -> str:
    """A cite of these lines of a file that has these `lines`, as a memory states it."""
    return f"{path}:{first}-{last}@{_digest(lines[first - 1 : last])}"


def file_lines(data: bytes) -> Sequence[bytes]:
    """The lines of a file's bytes, without line ends."""
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _digest(lines: Sequence[bytes]) -> str:
    """Four digits of the digest of the first line, by which lines that moved are found, and eight of that of all."""
    return _mark(lines[0]) + sha256(b"\n".join(lines)).hexdigest()[:8]


def _mark(line: bytes) -> str:
    return sha256(line).hexdigest()[:4]


class CitedFile:
    """The lines of a file in which cites are looked for."""

    def __init__(self, data: bytes) -> None:
        """Take the bytes of the file."""
        self.lines = file_lines(data)

    def find(self, cite: Cite) -> int:
        """The line, counted from 1, at which the cited lines are now: where they were, if possible; 0 for nowhere.

        For a cite without a digest, where they were.
        """
        _, first, last, digest = cite
        count = last - first + 1
        if last <= len(self.lines) and digest in {"", _digest(self.lines[first - 1 : last])}:
            return first
        starts = islice(self._starts.get(digest[:4], ()), _MOST_COMPARED // count + 1)
        return next((at + 1 for at in starts if _digest(self.lines[at : at + count]) == digest), 0)

    @cached_property
    def _starts(self) -> Mapping[str, Sequence[int]]:
        """The numbers of the lines, counted from 0, by the first digits of their digests."""
        return grouped((_mark(line), number) for number, line in enumerate(self.lines))


def changed_cite(cites: Iterable[str], workspace: Workspace, files: dict[str, CitedFile | None]) -> str:
    """File and lines of the first cite whose text is not in its file any more; empty if each is.

    A file that is gone, can't be read or is outside of the workspace has no text. What is not a cite is left out.
    `files` has the files that were read before, by path; new ones are added.
    """
    for cite in filter(None, map(parse_cite, cites)):
        if not ((file := cited_file(cite[0], workspace, files)) and file.find(cite)):
            return cite_place(cite)
    return ""


def cited_file(path: str, workspace: Workspace, files: dict[str, CitedFile | None]) -> CitedFile | None:
    """The file at a path, which is read once; None for one that is gone or can't be read. `files` is as above."""
    if path not in files:
        read = workspace.read(path)
        files[path] = CitedFile(read.data) if isinstance(read, Document) else None
    return files[path]
