"""Pool of log lines: the lines of dated logs as entries of an index, headings among them.

A heading is an entry with a mark: the lines below it share its matches, and it is no line itself. A pool that is stored
between builds is in `memory_index`, behind the same interface (`model.EntryPool`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from contextasm.model import Document, Problem, Reason, ScoreInputs, Workspace
from contextasm.text.dates import split_dated_name
from contextasm.text.log_parser import LogLine, long_log_problem, parse_log

if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import IndexEntry


class ReadLogs(NamedTuple):
    """The lines of some logs, as just read (`model.EntryPool`)."""

    lines: tuple[LogLine, ...]
    """The position of each is its row."""
    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    excluded: tuple[Reason, ...] = ()
    days: Mapping[str, str] = MappingProxyType({})
    """Day of each log by path, where its name does not begin with it."""

    @property
    def size(self) -> int:
        """Number of lines, headings included."""
        return len(self.lines)

    @property
    def rows(self) -> int:
        """Number of lines, headings included."""
        return len(self.lines)

    def later(self, _today: date) -> Collection[int]:
        """No rows: a log of a later day is not read."""
        return ()

    def similar(self, topic: str, min_match: float, _today: date) -> Mapping[int, float]:
        """Similarity of each row that answers the topic, from 0 to 1."""
        from contextasm.retrieval.search.bm25 import similarities
        from contextasm.retrieval.search.inverted_index import build_index

        return similarities(topic, build_index([line_entry(line, self._day(line)) for line in self.lines]), min_match)

    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest lines, those of one day by path, then the later in the file; all for a count of 0."""
        rows = sorted(range(self.rows), key=lambda row: (self.lines[row].location.path, -self.lines[row].location.line))
        rows.sort(key=lambda row: self._day(self.lines[row]), reverse=True)
        return rows[: count or None]

    def marked(self) -> Sequence[int]:
        """Rows of the headings."""
        return [row for row, line in enumerate(self.lines) if line.is_heading]

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """Score inputs of each row: its log's day, and no importance."""
        return [line_inputs(self._day(self.lines[row])) for row in rows]

    def entries(self, rows: Sequence[int]) -> Sequence[LogLine]:
        """The line of each row."""
        return [self.lines[row] for row in rows]

    def _day(self, line: LogLine) -> str:
        path = line.location.path
        return self.days.get(path) or log_day(path)


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
    lines: list[LogLine] = []
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in paths:
        read = workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
            lines += parse_log(read)
            problems += long_log_problem(read)
        elif read:
            problems.append(read)
        if most is not None and len(lines) > most:
            return None
    return ReadLogs(tuple(lines), tuple(documents), tuple(problems), days=days)


def line_entry(line: LogLine, day: str) -> IndexEntry:
    """A line as an entry of an inverted index, with the day of its log; a log is one section."""
    from contextasm.retrieval.search.analyzer import leading_name
    from contextasm.retrieval.search.inverted_index import IndexEntry

    path = line.location.path
    return IndexEntry(line.text, path, day, "" if line.is_heading else leading_name(line.text))


def line_inputs(day: str) -> ScoreInputs:
    """Score inputs of a line: its log's day, and no importance."""
    return ScoreInputs(0.0, day, day)


def log_day(path: str) -> str:
    """The day that the name of a log begins with, as YYYY-MM-DD; empty for any other name."""
    parts = split_dated_name(path.rpartition("/")[2])
    return parts[0] if parts else ""
