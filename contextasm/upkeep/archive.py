"""Archives: text files that have what left a file, with its place, the day and the reason.

The archive of `agents/luna/memories/2025-03.md` is `agents/luna/memories/archive/2025-03.md.txt`. No build reads such a
file as memories; `ctxasm search --archive` does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from contextasm.model import Document, NamedTuple, Problem, Workspace
from contextasm.retrieval.pool import read_pool
from contextasm.retrieval.reading.files import read_files
from contextasm.retrieval.search.bm25 import similarities
from contextasm.retrieval.search.inverted_index import IndexEntry, build_index
from contextasm.retrieval.sources.log_search import line_entry, log_lines
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.memories.parser import parse_memories
from contextasm.text.names.dates import dated_name
from contextasm.text.names.places import archived_path
from contextasm.text.names.templates import ARCHIVE

ARCHIVE_SUFFIX = ".txt"

_HEADING = re.compile(r"## (\S.*):([0-9]+), ([0-9]{4}-[0-9]{2}-[0-9]{2}), ([^:\n]*): (.*?)( \{private=true\})?")
_PRIVATE = " {private=true}"
"""After the heading of a private text: in a shared context, this hides all that is below it, too."""

_QUOTE = ">"


class ArchivedText(NamedTuple):
    """Lines that left a file."""

    path: str
    line: int
    """The first of their lines in that file, counted from 1."""
    day: str
    """The day on which they left it, YYYY-MM-DD."""
    verb: str
    """The verb of the action that took them away."""
    reason: str
    text: str
    """As it was there, with LF line ends, without one at its end."""
    is_private: bool = False
    """Whether it was private, or in a private part of its file."""
    place: int = 0
    """Line of the archive at which the text begins, counted from 1; 0 if it is not in one yet."""


def archive_path(path: str) -> str:
    """The archive of a file of the workspace."""
    return f"{archived_path(path)}{ARCHIVE_SUFFIX}"


def line_ends(data: bytes, encoding: str) -> Sequence[int]:
    """The offset after each line feed of a file, in order; `encoding` is UTF-8 or UTF-16, in one of its orders."""
    feed = "\n".encode(encoding)
    return [found.end() for found in re.finditer(re.escape(feed), data) if not found.start() % len(feed)]


def archived_text(ends: Sequence[int], start: int, removed: bytes, encoding: str) -> tuple[int, str]:
    """The line at which removed bytes begin, counted from 1, and their text; a byte that is not text becomes an escape.

    `ends` are the `line_ends` of the file, and `start` is an offset in it.
    """
    text = removed.decode(encoding, "backslashreplace").replace("\r\n", "\n").replace("\r", "\n")
    return bisect_right(ends, start) + 1, text.rstrip("\n")


def format_archive(old: bytes, texts: Iterable[ArchivedText]) -> bytes:
    """An archive with further texts at its end."""
    parts = [b"" if not old or old.endswith(b"\n") else b"\n"]
    for archived in texts:
        where = f"{_one_line(archived.path)}:{archived.line}, {archived.day}"
        heading = f"## {where}, {_one_line(archived.verb)}: {_one_line(archived.reason)}"
        heading += _PRIVATE if archived.is_private else ""
        quoted = (f"{_QUOTE} {line}" if line else _QUOTE for line in archived.text.split("\n"))
        parts.append(("\n".join([heading, "", *quoted]) + "\n\n").encode("utf-8", "backslashreplace"))
    return old + b"".join(parts)


def parse_archive(text: str) -> Iterator[ArchivedText]:
    """The texts of an archive in their order; text in another form is left out."""
    heading: re.Match[str] | None = None
    lines: list[str] = []
    place = 0
    for number, line in enumerate([*text.split("\n"), "## "], 1):
        if line.startswith("## "):
            if heading and lines:
                path, at, day, verb, reason, mark = heading.groups()
                yield ArchivedText(path, int(at), day, verb, reason, "\n".join(lines), bool(mark), place)
            heading, lines = _HEADING.fullmatch(line), []
        elif line.startswith(_QUOTE):
            place = place if lines else number
            lines.append(line.removeprefix(_QUOTE).removeprefix(" "))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def archived_memory_ids(workspace: Workspace, folder: str) -> frozenset[str]:
    """The ids of the memories that left a folder of memories for its archive, as list items or as whole files."""
    return frozenset(
        memory.id for document in _archived_documents(workspace, folder) for memory in parse_memories(document)[0]
    )


def _archived_documents(workspace: Workspace, folder: str) -> Iterator[Document]:
    """A document for each text and file in the archive, with the path that it had."""
    for read in read_files(workspace, workspace.list(f"{folder}/archive/*.md{ARCHIVE_SUFFIX}"), []):
        for archived in parse_archive(read.whole):
            document = decode_document(archived.path, archived.text.encode(errors="surrogatepass"))
            if isinstance(document, Document):
                yield document
    for read in read_files(workspace, workspace.list(f"{folder}/archive/*.md"), []):
        yield read._replace(path=f"{folder}/{read.path.rpartition('/')[2]}")


_PAGES = (".md", ".md.gz", ".txt", ".txt.gz", "/")
"""Endings of archived files that are searched, and of a folder that can't be listed, which is a problem."""


class ArchiveHit(NamedTuple):
    """A text in an archive that answers a topic."""

    path: str
    line: int
    """Line of `path` at which the text begins, counted from 1."""
    day: str
    """The day of the log, or that on which the text was archived, YYYY-MM-DD; empty for none."""
    source: str
    """The file and line of the text before; empty for a line of a log or page, whose file moved as a whole."""
    text: str
    similarity: float
    """1 for the best hit."""


_Entry = tuple[IndexEntry, ArchiveHit | None]
"""The words of a text in an archive, and the hit that it is; a heading is not a hit."""


def search_archives(
    workspace: Workspace, folders: Sequence[str], topic: str
) -> tuple[Sequence[ArchiveHit], int, Sequence[Problem]]:
    """All texts that answer a topic, in the archives in and below these folders, and the number of texts there.

    The best are first; of equally good ones the newest, then by place. The last item has the problems of files that
    can't be read. `folders` are such as `agents/luna`; an empty one is the workspace.
    """
    problems: list[Problem] = []
    texts: list[_Entry] = []
    pages: list[str] = []
    for path in _paths(workspace, folders):
        read = workspace.read(path) if path.endswith(ARCHIVE_SUFFIX) else None
        if isinstance(read, Document) and (archived := [*parse_archive(read.text)]):
            texts += (_text_entry(path, read.line - 1, text) for text in archived)
        else:
            pages.append(path)
    entries = [*_lines(workspace, pages, problems), *texts]
    found = similarities(topic, build_index([words for words, _ in entries])) if entries else {}
    hits = [hit._replace(similarity=round(share, 4)) for row, share in found.items() if (hit := entries[row][1])]
    hits.sort(key=lambda hit: (hit.path, hit.line))
    hits.sort(key=lambda hit: (hit.similarity, hit.day), reverse=True)
    return hits, sum(hit is not None for _, hit in entries), problems


def _paths(workspace: Workspace, folders: Sequence[str]) -> list[str]:
    """The files in and below the folders called `archive`."""
    places = [f"{folder}/**/{ARCHIVE}/**/*".lstrip("/") for folder in folders]
    return sorted({path for place in places for path in workspace.list(place) if path.endswith(_PAGES)})


def _lines(workspace: Workspace, paths: Sequence[str], problems: list[Problem]) -> Iterator[_Entry]:
    """The lines of logs and pages that moved to an archive as a whole."""
    pool = read_pool(workspace, log_lines({}), paths)
    problems += pool.problems
    for line in pool.active:
        entry = line_entry(line, dated_name(line.path)[0])
        yield entry, None if line.is_heading else ArchiveHit(line.path, line.line, entry.day, "", line.text, 0.0)


def _text_entry(path: str, above: int, archived: ArchivedText) -> _Entry:
    entry = IndexEntry(archived.text, archived.path, archived.day, kernel=0.5)
    place = f"{archived.path}:{archived.line}"
    return entry, ArchiveHit(path, above + archived.place, archived.day, place, archived.text, 0.0)
