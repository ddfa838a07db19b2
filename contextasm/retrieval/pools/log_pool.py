"""Pool of log lines: the lines of dated logs as entries of an index, headings among them.

A heading is an entry with a mark: the lines below it share its matches, and it is no line itself. A pool that is stored
between builds is in `memory_index`, behind the same interface (`model.EntryPool`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from contextasm.model import Document, Problem, ScoreInputs, Workspace
from contextasm.retrieval.pools.memory_pool import ReadEntries, ReadFiles, read_files
from contextasm.text.markdown.logs import LogLine, long_log_problem, parse_log
from contextasm.text.names.dates import split_dated_name

if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import IndexEntry, MemoryIndex


class ReadLogs(ReadEntries[LogLine]):
    """The lines of some logs, as just read (`model.EntryPool`); the mark is that of a heading."""

    def __init__(self, files: ReadFiles[LogLine], days: Mapping[str, str]) -> None:
        """`days` has the day of each log whose name does not begin with it."""
        super().__init__(files.entries, files.documents, files.problems)
        self._days = days

    def inputs(self, entry: LogLine) -> ScoreInputs:
        """Score inputs of a line."""
        return line_inputs(self._day(entry))

    def is_marked(self, entry: LogLine) -> bool:
        """Whether a line is a heading."""
        return entry.is_heading

    def later(self, _today: date) -> Collection[int]:
        """No rows: a log of a later day is not read."""
        return ()

    def inverted_index(self, entries: tuple[LogLine, ...]) -> MemoryIndex:
        """Lines as an inverted index."""
        from contextasm.retrieval.search.inverted_index import build_index

        return build_index([line_entry(line, self._day(line)) for line in entries])

    def _day(self, line: LogLine) -> str:
        return self._days.get(line.path) or log_day(line.path)


def read_logs(workspace: Workspace, days: Mapping[str, str], paths: Iterable[str]) -> ReadLogs:
    """Read the lines of logs, in the order of the paths.

    `days` has the day of each log whose name does not begin with it.
    """
    logs = read_logs_up_to(workspace, days, paths, None)
    assert logs
    return logs


def read_logs_up_to(
    workspace: Workspace, days: Mapping[str, str], paths: Iterable[str], most: int | None
) -> ReadLogs | None:
    """As `read_logs`; None as soon as there are more lines than `most`, which is None for no limit."""
    files = read_files(workspace, paths, parse_lines, most)
    return ReadLogs(files, days) if files else None


def parse_lines(document: Document) -> tuple[Sequence[LogLine], Sequence[Problem]]:
    """The lines of a log, headings among them, and the problem of one that is too long."""
    return parse_log(document), long_log_problem(document)


def line_entry(line: LogLine, day: str) -> IndexEntry:
    """A line as an entry of an inverted index, with the day of its log; a log is one section."""
    from contextasm.retrieval.search.inverted_index import IndexEntry, leading_name

    path = line.location.path
    return IndexEntry(line.text, path, day, "" if line.is_heading else leading_name(line.text))


def line_inputs(day: str) -> ScoreInputs:
    """Score inputs of a line: its log's day, and no importance."""
    return ScoreInputs(0.0, day, day)


def log_day(path: str) -> str:
    """The day that the name of a log begins with, as YYYY-MM-DD; empty for any other name."""
    parts = split_dated_name(path.rpartition("/")[2])
    return parts[0] if parts else ""
