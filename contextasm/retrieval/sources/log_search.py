"""Source `log-search`: lines of the dated logs of all days up to today that match the topic.

Headings are entries of the pool, too, with a mark: the lines below a heading share its matches, and no fragment is made
of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from contextasm.model import (
    Document,
    EntryPool,
    Fragment,
    Labels,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    Score,
    ScoreInputs,
    SourceQuery,
)
from contextasm.retrieval.pool import MANY, EntryKind, first_rows, nearness, use_pool
from contextasm.retrieval.reading.files import (
    DatedLog,
    count_fragment,
    counts_rest,
    layer_display,
    logs_in_display_order,
    outside_fragments,
)
from contextasm.text.markdown.logs import LogLine, long_log_problem, parse_log
from contextasm.text.names.dates import dated_name
from contextasm.text.names.templates import fill_item, fill_template

if TYPE_CHECKING:
    from contextasm.retrieval.search.inverted_index import IndexEntry


_LENGTH_PENALTY = 0.75
"""Lines of logs differ in length: at the penalty of memories, long ones win and take the room (measured)."""


def log_lines(days: Mapping[str, str]) -> EntryKind[LogLine]:
    """Lines of logs; `days` has the day of each log whose name does not begin with it."""
    known = {**days}

    def day_of(line: LogLine) -> str:
        return known.get(line.path) or known.setdefault(line.path, dated_name(line.path)[0])

    return EntryKind(
        name="log-lines",
        parse=lambda document: (parse_log(document), long_log_problem(document)),
        settle=None,
        index_entry=lambda line: line_entry(line, day_of(line)),
        score_inputs=lambda line: ScoreInputs(0.0, day_of(line), day_of(line)),
        is_marked=lambda line: line.is_heading,
        restore=_restored,
        length_penalty=_LENGTH_PENALTY,
    )


def _restored(values: Sequence[Any]) -> LogLine:
    (path, line, rows, gaps), *others = values
    return LogLine(Location(path, line, rows, tuple((first, last) for first, last in gaps)), *others)


def line_entry(line: LogLine, day: str) -> IndexEntry:
    """A line as an entry of an inverted index, with the day of its log; a log is one section."""
    from contextasm.retrieval.search.inverted_index import IndexEntry, leading_name

    path = line.location.path
    return IndexEntry(line.text, path, day, "" if line.is_heading else leading_name(line.text))


BESIDE = "beside"
"""Note of a line that was found by a line next to it."""


_Logs = Mapping[str, tuple[DatedLog, int]]
"""Logs by path, each with its place among the logs that are shown."""

_Candidates = tuple[Mapping[int, float], Mapping[int, int]]
"""Similarity of each row that may be shown, the best of its copies, and for other rows the one that represents each."""

_MORE = 8
"""Factor of the number of matches that are looked at, while too few of them say different things."""


def log_search(query: SourceQuery) -> RetrievalResult:
    """Lines of the layer's logs as fragments, matches of the topic with their similarity; none without a topic.

    Of lines that say the same, the newest is a candidate, and one of each day if the topic names a date. Of more than
    `MANY` lines, or if a build counts what is not shown, the others are counted by reason. A log of a later day is an
    excluded fragment without text. A file without a date in its name is of no day, and a date that does not exist is a
    problem. If the topic names an author, all lines of this author are matches, below the others;
    not in a layer with a least cover, which shows nothing that is hardly about the topic.
    """
    if not query.build.request.topic.strip():
        return RetrievalResult()
    listed, problems = logs_in_display_order(query, with_undated=True)
    logs = [*{log.path: log for log in listed}.values()]
    placed = {log.path: (log, place) for place, log in enumerate(logs)}
    future = outside_fragments(query, [log for log in logs if log.age < 0])
    past = [log.path for log in logs if log.age >= 0]
    days = {log.path: log.day for log in logs} if query.layer.query.dates else {}
    # An index knows the day of a log only by its name.
    indexed = query._replace(build=query.build._replace(memory_index=None)) if days else query
    found = use_pool(indexed, log_lines(days), past, partial(_pool_result, query, placed))
    reasons = _hidden_memories(query, placed)
    shown = (
        fragment.exclude(reason) if (reason := reasons.get(fragment.id)) else fragment for fragment in found.fragments
    )
    return found._replace(fragments=(*future, *shown), problems=(*problems, *found.problems))


def _hidden_memories(query: SourceQuery, logs: _Logs) -> Mapping[str, Reason]:
    """Why lines of the file that the profile keeps memories in are left out, by `PATH:LINE`: as where it is a document.

    Memories that a program wrote are among them, as a line does not say that.
    """
    from contextasm.retrieval.sources.documents import without_memories

    path = fill_template(query.build.profile.remember, {"agent": query.build.request.agent})
    document = query.build.workspace.read(path) if path in logs else None
    reasons: dict[str, Reason] = {}
    if isinstance(document, Document):
        document, apart = without_memories(document, query)
        own = {each.location.line: each.verdict.excluded or Reason("written") for each in apart}
        reason = Reason("written")
        for gap in document.gaps:
            for line in range(gap.first, gap.last + 1) if gap.reason == "memory" else ():
                reason = own.get(line, reason)
                reasons[f"{path}:{line}"] = reason
    return reasons


def _pool_result(query: SourceQuery, logs: _Logs, pool: EntryPool[LogLine]) -> RetrievalResult:
    headings = {*pool.marked()}
    own = query.layer.query
    similar, near, late = line_matches(query, pool, own.min_match, own.min_cover, authors_follow=not own.min_cover)
    matches = {row: dict(score)["similarity"] for row, score in similar.items() if row not in headings}
    scores, merged = _candidates(query, pool, matches, logs)
    apart = headings | scores.keys()
    lists_all = pool.size <= MANY and not counts_rest(query)
    others = [row for row in range(pool.rows) if row not in apart] if lists_all else []
    most = own.max_candidates
    fragments: list[Fragment] = []
    rows = [*scores, *others]
    lines = dict(zip(rows, pool.entries(rows), strict=True))
    found_by_others = _without_own_match(query.build.request.topic, {row: lines[row] for row in scores}, logs) - near
    for row, line in lines.items():
        fragment = _line_fragment(line, logs[line.path], query)
        if row in scores:
            verdict = fragment.verdict._replace(note=BESIDE) if row in found_by_others else fragment.verdict
            score = (("similarity", scores[row]), *similar[row][1:])
            fragments.append(fragment._replace(score=score, verdict=verdict))
        elif row in merged:
            into = lines[merged[row]]
            reason = Reason.of("merged", into=f"{into.path}:{into.line}", path=into.path, by="content")
            fragments.append(fragment.exclude(reason))
        else:
            reason = Reason.of("not-in-pool", pool=most) if row in matches else Reason("no-match")
            fragments.append(fragment.exclude(reason))
    fragments.sort(key=lambda fragment: fragment.display.place)
    if not lists_all:
        missing = {
            "no-match": pool.rows - len(headings) - len(matches),
            "not-in-pool": len(matches) - len(scores) - len(merged),
            "merged": len(merged),
        }
        counts = (Reason.of(code, count=count, what="lines", pool=most) for code, count in missing.items() if count)
        fragments += (count_fragment(query, reason) for reason in counts)
    return RetrievalResult(tuple(fragments), tuple(pool.documents), (*pool.problems, *late))


def line_matches(
    query: SourceQuery,
    pool: EntryPool[LogLine],
    min_match: float,
    min_cover: float = 0.0,
    *,
    authors_follow: bool = False,
) -> tuple[Mapping[int, Score], frozenset[int], tuple[Problem, ...]]:
    """Score parts of the rows that match the topic; rows that the embedder found by themselves; and its problem.

    It is asked about `MANY` lines at most: the best by words, then the newest.
    """
    from contextasm.retrieval.search.bm25 import fuse
    from contextasm.retrieval.search.inverted_index import IndexEntry

    found = pool.similar(query, min_match, min_cover, authors_follow=authors_follow)
    if "logs" not in query.build.semantics:
        return fuse(found, {}, (), min_match, ()), frozenset(), ()
    words, headings = pool.similar(query, 0.0, authors_follow=authors_follow), {*pool.marked()}
    best_first = dict.fromkeys((*(words and first_rows(pool, words, 0)), *pool.newest(MANY + len(headings))))
    asked = [row for row in best_first if row not in headings][:MANY]
    near, late = nearness(query, "logs", [line.text for line in pool.entries(asked)])
    near_of = dict(zip(asked, near, strict=False))
    rows = sorted(found.keys() | near_of)
    place_of = {row: at for at, row in enumerate(rows)}
    fused = fuse(
        {place_of[row]: similarity for row, similarity in found.items()},
        {place_of[row]: similarity for row, similarity in words.items() if row in place_of},
        [near_of.get(row, min(near)) for row in rows if near],
        min_match,
        # A row that is neither a hit nor asked about is missing: the rows around it are not neighbours.
        [
            IndexEntry("", f"{line.path} {row - place_of[row]}")
            for row, line in zip(rows, pool.entries(rows), strict=True)
        ],
    )
    own = frozenset(row for row, value in near_of.items() if value > 0)
    return {rows[at]: score for at, score in fused.items()}, own, late


def _without_own_match(topic: str, lines: Mapping[int, LogLine], logs: _Logs) -> frozenset[int]:
    """The rows of lines that do not match the topic themselves, nor are by an author whom it names.

    They were found by the lines next to them.
    """
    from contextasm.retrieval.search.bm25 import similarities
    from contextasm.retrieval.search.inverted_index import build_index

    rows = [*lines]
    entries = [line_entry(line, logs[line.path][0].day)._replace(kernel=0.0) for line in lines.values()]
    own = similarities(topic, build_index(entries), 0.0, authors_follow=True)
    return frozenset(row for at, row in enumerate(rows) if not own.get(at))


def _candidates(query: SourceQuery, pool: EntryPool[LogLine], matches: Mapping[int, float], logs: _Logs) -> _Candidates:
    """The `max_candidates` best matches that say different things, in the order of ranking; all for 0.

    Those that `--since` leaves out take no part, and are candidates besides.
    """
    most, since = query.layer.query.max_candidates or len(matches), query.build.request.filters.since[:10]
    days = dict(zip(matches, (inputs.created for inputs in pool.score_inputs([*matches])), strict=True))
    filtered = [row for row, day in days.items() if day < since]
    keys = {row: (matches[row], day) for row, day in days.items() if day >= since}
    count = most
    while True:
        rows = first_rows(pool, keys, count) if keys else []
        distinct, merged = _without_copies(query, pool, [*rows, *filtered], matches, logs)
        if len(rows) == len(keys) or len(distinct) - len(filtered) >= most:
            break
        count *= _MORE
    surplus = {*[row for row in rows if row in distinct][most:]}
    scores = {row: score for row, score in distinct.items() if row not in surplus}
    return scores, {row: into for row, into in merged.items() if into in scores}


def _without_copies(
    query: SourceQuery, pool: EntryPool[LogLine], rows: Sequence[int], matches: Mapping[int, float], logs: _Logs
) -> _Candidates:
    from contextasm.retrieval.search.query_words import named_dates

    by_day = bool(named_dates(query.build.request.topic))
    # The copy that stays is of the newest day, and of its log that is shown first: one that is not in the archive.
    groups: dict[tuple[str, str], list[tuple[int, int, float, int, int]]] = {}
    for row, line in zip(rows, pool.entries(rows), strict=True):
        log, place = logs[line.path]
        key = (log.day if by_day else "", line.framed)
        groups.setdefault(key, []).append((log.age, place, -matches[row], line.line, row))
    scores: dict[int, float] = {}
    merged: dict[int, int] = {}
    for copies in groups.values():
        stays, *others = (row for *_, row in sorted(copies))
        scores[stays] = max(matches[stays], *(matches[row] for row in others), 0.0)
        merged |= dict.fromkeys(others, stays)
    return scores, merged


def _line_fragment(line: LogLine, placed: tuple[DatedLog, int], query: SourceQuery) -> Fragment:
    log, place = placed
    template = query.layer.display.item_template
    text = fill_item(template, {"text": line.framed}, ("text",)) if template else line.framed
    display = layer_display(query.layer, {"date": log.day or log.path}, (place, line.location.line))
    if display.group and line.title:
        display = display._replace(group=f"{display.group}: {line.title}")
    return Fragment(
        f"{log.path}:{line.location.line}",
        line.location._replace(rows=1) if line.above else line.location,
        "\n".join(row.rstrip() for row in text.split("\n")),
        display,
        statement=line.text,
        labels=Labels(day=log.day),
    )
