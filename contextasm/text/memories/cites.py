"""Cites: the lines of a file that a memory rests on, as `FILE:FIRST-LAST@DIGEST`.

A cite holds as long as the file has these lines, wherever they are in it. The digest is of bytes, so that neither masks
nor an audience decides; only line ends of two characters count as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from contextasm.model import Document, Workspace

Cite = tuple[str, int, int, str]
"""Path in the workspace, first and last line, counted from 1, and digest; an empty digest says nothing of the text."""

_NUMBER = "([1-9][0-9]{0,8})"
_CITE = re.compile(rf"([^\n]+?):{_NUMBER}(?:-{_NUMBER})?(?:@([0-9a-f]{{12}}))?")

MOST_HASHED = 1 << 25
"""Bytes that the search for lines which have moved may take a digest of; longer ones are looked for in their place."""


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


def file_lines(data: bytes) -> list[bytes]:
    """The lines of a file's bytes, without line ends."""
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    return lines if lines[-1] else lines[:-1]


def written_cite(path: str, first: int, last: int, data: bytes) -> str:
    """A cite of these lines of a file with these bytes, as a memory states it."""
    digest = lines_digest(file_lines(data)[first - 1 : last])
    return f"{path}:{first}-{last}@{digest}"


def lines_digest(lines: Iterable[bytes]) -> str:
    """The digest of some lines, twelve hexadecimal digits."""
    return sha256(b"\n".join(lines)).hexdigest()[:12]


def find_cited(cite: Cite, data: bytes) -> int:
    """The line, counted from 1, at which a file has the cited lines now: where they were, if possible; 0 for nowhere.

    For a cite without a digest, where they were.
    """
    _, first, last, digest = cite
    lines, count = file_lines(data), last - first + 1
    if last <= len(lines) and digest in {"", lines_digest(lines[first - 1 : last])}:
        return first
    starts = range(len(lines) - count + 1) if digest and len(data) * count <= MOST_HASHED else ()
    return next((at + 1 for at in starts if lines_digest(lines[at : at + count]) == digest), 0)


def cited_paths(cites: Iterable[str]) -> set[str]:
    """The paths of the files that are cited."""
    return {cite[0] for cite in map(parse_cite, cites) if cite}


def changed_cite(cites: Iterable[str], workspace: Workspace) -> str:
    """File and lines of the first cite whose text is not in its file any more; empty if each is.

    A file that is gone, can't be read or is outside of the workspace has no text. What is not a cite is left out.
    """
    for cite in filter(None, map(parse_cite, cites)):
        read = workspace.read(cite[0])
        if not (isinstance(read, Document) and find_cited(cite, read.data)):
            return cite_place(cite)
    return ""
