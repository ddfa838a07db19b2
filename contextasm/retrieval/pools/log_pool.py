"""Lines of dated logs as entries of a pool, headings among them.

A heading is an entry with a mark: the lines below it share its matches, and it is no line itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from contextasm.model import Document, Location, Problem, ScoreInputs
from contextasm.retrieval.pools.entries import EntryKind, Settled
from contextasm.text.markdown.logs import LogLine, long_log_problem, parse_log
from contextasm.text.names.dates import split_dated_name

if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import IndexEntry


def log_lines(days: Mapping[str, str]) -> EntryKind[LogLine]:
    """Lines of logs; `days` has the day of each log whose name does not begin with it."""

    def day_of(line: LogLine) -> str:
        return days.get(line.path) or log_day(line.path)

    return EntryKind(
        name="log-lines",
        parse=_parse_lines,
        settle=_settle_lines,
        has_ids=False,
        index_entry=lambda line: line_entry(line, day_of(line)),
        score_inputs=lambda line: ScoreInputs(0.0, day_of(line), day_of(line)),
        is_marked=lambda line: line.is_heading,
        restore=_restored,
    )


def _parse_lines(document: Document) -> tuple[Sequence[LogLine], Sequence[Problem]]:
    """The lines of a log, headings among them, and the problem of one that is too long."""
    return parse_log(document), long_log_problem(document)


def _settle_lines(lines: Sequence[LogLine]) -> Settled[LogLine]:
    return lines, (), [None] * len(lines)


def _restored(values: Sequence[Any]) -> LogLine:
    (path, line, rows, gaps), text, is_heading = values
    return LogLine(Location(path, line, rows, tuple((first, last) for first, last in gaps)), text, is_heading)


def line_entry(line: LogLine, day: str) -> IndexEntry:
    """A line as an entry of an inverted index, with the day of its log; a log is one section."""
    from contextasm.retrieval.search.inverted_index import IndexEntry, leading_name

    path = line.location.path
    return IndexEntry(line.text, path, day, "" if line.is_heading else leading_name(line.text))


def log_day(path: str) -> str:
    """The day that the name of a log begins with, as YYYY-MM-DD; empty for any other name."""
    parts = split_dated_name(path.rpartition("/")[2])
    return parts[0] if parts else ""
