"""Search in archives: lines of archived logs, and texts that left files of memories, by their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contextasm.model import Document, Problem, Workspace
from contextasm.retrieval.pools.entries import read_pool
from contextasm.retrieval.pools.log_pool import line_entry, log_day, log_lines
from contextasm.retrieval.search.bm25 import similarities
from contextasm.retrieval.search.inverted_index import IndexEntry, build_index
from contextasm.upkeep.archives.archive import ARCHIVE_SUFFIX, parse_archive

LOG_ARCHIVES = ("daily/archive/*.md", "daily/archive/*.md.gz", "daily/archive/**/*.md", "daily/archive/**/*.md.gz")
"""Patterns of archived logs below the folder of an owner."""

TEXT_ARCHIVES = (f"archive/*{ARCHIVE_SUFFIX}", f"*/archive/*{ARCHIVE_SUFFIX}")
"""Patterns of the archives of other files below the folder of an owner."""


PROJECT = "."
"""In place of an owner's folder: the files that belong to no owner."""

EVERY_OWNER = ("agents/*", "teams/*", PROJECT)


class ArchiveHit(NamedTuple):
    """A text in an archive that answers a topic."""

    path: str
    line: int
    """Line of `path` at which the text begins, counted from 1."""
    day: str
    """The day of the log, or that on which the text was archived, YYYY-MM-DD; empty for none."""
    source: str
    """The file and line that the text stood at before; empty for a line of a log, whose file moved as a whole."""
    text: str
    similarity: float
    """1 for the best hit."""


class ArchiveSearch(NamedTuple):
    """Result of a search."""

    hits: tuple[ArchiveHit, ...]
    """The best first; of equal ones the newest, then by place."""
    searched: int
    """Number of texts in the archives."""
    problems: tuple[Problem, ...]
    """Problems of files that can't be read."""


class _Entry(NamedTuple):
    words: IndexEntry
    hit: ArchiveHit
    is_heading: bool = False


def search_archives(workspace: Workspace, owners: Sequence[str], topic: str) -> ArchiveSearch:
    """All texts that answer a topic, in the archives of these owners.

    `owners` holds folders such as `agents/luna`, patterns of them, or `PROJECT`.
    """
    problems: list[Problem] = []
    entries = [*_log_lines(workspace, owners, problems), *_texts(workspace, owners, problems)]
    found = similarities(topic, build_index([entry.words for entry in entries])) if entries else {}
    hits = [
        entries[row].hit._replace(similarity=round(similarity, 4))
        for row, similarity in found.items()
        if not entries[row].is_heading
    ]
    hits.sort(key=lambda hit: (hit.path, hit.line))
    hits.sort(key=lambda hit: (hit.similarity, hit.day), reverse=True)
    return ArchiveSearch(tuple(hits), sum(not entry.is_heading for entry in entries), tuple(problems))


def _paths(workspace: Workspace, owners: Sequence[str], patterns: Sequence[str]) -> list[str]:
    wanted = [pattern if owner == PROJECT else f"{owner}/{pattern}" for owner in owners for pattern in patterns]
    return sorted({path for pattern in wanted for path in workspace.list(pattern)})


def _log_lines(workspace: Workspace, owners: Sequence[str], problems: list[Problem]) -> Iterator[_Entry]:
    logs = read_pool(workspace, log_lines({}), _paths(workspace, owners, LOG_ARCHIVES))
    problems += logs.problems
    for line in logs.active:
        entry = line_entry(line, log_day(line.path))
        yield _Entry(entry, ArchiveHit(line.path, line.line, entry.day, "", line.text, 0.0), line.is_heading)


def _texts(workspace: Workspace, owners: Sequence[str], problems: list[Problem]) -> Iterator[_Entry]:
    for path in _paths(workspace, owners, TEXT_ARCHIVES):
        read = workspace.read(path)
        if isinstance(read, Document):
            for archived in parse_archive(read.text):
                place = f"{archived.path}:{archived.line}"
                entry = IndexEntry(archived.text, archived.path, archived.day, kernel=0.5)
                line = read.line - 1 + archived.place
                yield _Entry(entry, ArchiveHit(path, line, archived.day, place, archived.text, 0.0))
        elif read:
            problems.append(read)
