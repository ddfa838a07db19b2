"""Source `log-search`: lines of the dated logs of all days up to today that match the topic.

`parse_log` and `index_entries` are pure: a log's document gives its lines, and these their entries in an index.
Headings are entries, too, so that the lines below one share its matches, but no fragment is made of a heading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from contextasm.model import (
    Document,
    Fragment,
    FragmentDisplay,
    Labels,
    Layer,
    Location,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.dated_logs import DatedLog, logs_in_display_order
from contextasm.retrieval.memory_pool import MANY, pool_patterns
from contextasm.text.log_parser import LogLine, parse_log
from contextasm.text.templates import fill_item, fill_template

if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import IndexEntry


class _PlacedLine(NamedTuple):
    """A line with its log, and the place of the log among those that are shown."""

    line: LogLine
    log: DatedLog
    place: int


def log_search(query: SourceQuery) -> RetrievalResult:
    """Lines of the layer's logs as fragments, those that match the topic with their similarity; none without a topic.

    Of more than `MANY` lines, those that are no candidates are counted by reason. A log of a later day is an excluded
    fragment without text, and a file whose name is no date is a problem.
    """
    if not query.build.request.topic.strip():
        return RetrievalResult()
    logs, problems = logs_in_display_order(query)
    unique = {log.path: log for log in reversed(logs)}
    documents: list[Document] = []
    lines: list[_PlacedLine] = []
    entries: list[IndexEntry] = []
    fragments: list[Fragment] = []
    for place, log in enumerate(log for log in logs if unique[log.path] is log):
        if log.age < 0:
            fragments.append(_future_fragment(log, query.layer))
            continue
        read = query.build.workspace.read(log.path)
        if isinstance(read, Document):
            documents.append(read)
            parsed = parse_log(read)
            lines += (_PlacedLine(line, log, place) for line in parsed)
            entries += index_entries(parsed, str(log.day))
        elif read:
            problems.append(read)
    fragments += _line_fragments(query, lines, entries)
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def index_entries(lines: Sequence[LogLine], day: str) -> list[IndexEntry]:
    """The lines of one log as entries of an inverted index, in file order; a log is one section."""
    from contextasm.retrieval.search.analyzer import leading_name
    from contextasm.retrieval.search.inverted_index import IndexEntry

    return [
        IndexEntry(line.text, line.location.path, day, "" if line.is_heading else leading_name(line.text))
        for line in lines
    ]


def _line_fragments(query: SourceQuery, lines: Sequence[_PlacedLine], entries: Sequence[IndexEntry]) -> list[Fragment]:
    from contextasm.retrieval.search.bm25 import similarities
    from contextasm.retrieval.search.inverted_index import build_index

    matches = similarities(query.build.request.topic, build_index(entries), query.layer.query.min_match)
    rows = [row for row, placed in enumerate(lines) if not placed.line.is_heading]
    candidates = _candidates(query, lines, {row: matches[row] for row in rows if row in matches})
    pool = query.layer.query.max_candidates
    fragments: list[Fragment] = []
    missing = {"no-match": 0, "not-in-pool": 0}
    for row in rows:
        if row in candidates:
            score = (("similarity", matches[row]),)
            fragments.append(_line_fragment(lines[row], query.layer)._replace(score=score))
            continue
        code = "not-in-pool" if row in matches else "no-match"
        if len(rows) <= MANY:
            reason = Reason.of(code, pool=pool) if row in matches else Reason(code)
            fragments.append(_line_fragment(lines[row], query.layer).exclude(reason))
        else:
            missing[code] += 1
    counts = (Reason.of(code, count=count, what="lines", pool=pool) for code, count in missing.items() if count)
    return [*fragments, *(_count_fragment(query, reason) for reason in counts)]


def _candidates(query: SourceQuery, lines: Sequence[_PlacedLine], matches: Mapping[int, float]) -> set[int]:
    """Rows of the `max_candidates` best matches in the order of ranking; all for 0.

    Those that `--since` leaves out take no part, and are candidates besides.
    """
    most, since = query.layer.query.max_candidates, query.build.request.filters.since
    if not most or len(matches) <= most:
        return {*matches}
    filtered = {row for row in matches if str(lines[row].log.day) < since}
    best = sorted(matches.keys() - filtered, key=lambda row: (lines[row].log.path, -lines[row].line.location.line))
    best.sort(key=lambda row: (matches[row], lines[row].log.day), reverse=True)
    return {*best[:most]} | filtered


def _line_fragment(placed: _PlacedLine, layer: Layer) -> Fragment:
    line, log = placed.line, placed.log
    template = layer.display.item_template
    text = fill_item(template, {"text": line.text}, ("text",)) if template else line.text
    return Fragment(
        f"{log.path}:{line.location.line}",
        line.location,
        "\n".join(row.rstrip() for row in text.split("\n")),
        FragmentDisplay(
            layer.heading[0],
            group=fill_template(layer.display.group_template, {"date": str(log.day)}),
            place=(placed.place, line.location.line),
            keep=layer.overflow.keep,
        ),
        statement=line.text,
        labels=Labels(day=str(log.day)),
    )


def _future_fragment(log: DatedLog, layer: Layer) -> Fragment:
    return Fragment(
        log.path,
        Location(log.path, 0),
        "",
        FragmentDisplay(layer.heading[0]),
        labels=Labels(day=str(log.day)),
        verdict=Verdict(excluded=Reason.of("future", age=log.age)),
    )


def _count_fragment(query: SourceQuery, reason: Reason) -> Fragment:
    patterns = " ".join(pool_patterns(query.layer, query.build.request))
    return Fragment(
        f"{patterns} {reason.code}",
        Location(patterns, 0),
        "",
        FragmentDisplay(query.layer.heading[0]),
        verdict=Verdict(excluded=reason),
    )
