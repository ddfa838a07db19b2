"""Source `events`: events of the current session, and highlights of the latest other sessions.

A session is a file with one JSON object in each line. Its id is the file's name without `.jsonl`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, time

from contextasm.model import (
    Document,
    Filters,
    Fragment,
    Labels,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.model.named_tuple import NamedTuple
from contextasm.retrieval.pool import matches
from contextasm.retrieval.reading.audience import private_receipts, visible_session
from contextasm.retrieval.reading.files import (
    count_fragment,
    counts_rest,
    layer_display,
    read_documents,
    receipt,
)
from contextasm.retrieval.reading.query_signals import half_life, intent
from contextasm.text.data.events import MESSAGE_TYPES, Event, event_message, event_text, parse_events
from contextasm.text.data.history import HISTORY
from contextasm.text.names.templates import fill_item, one_line

OTHERS = 5
"""Number of other sessions that show their highlights, the latest first."""

HIGHLIGHTS = 3
"""Number of highlights of another session, the latest first."""


class _Session(NamedTuple):
    """One file of events."""

    id: str
    document: Document
    events: Sequence[Event]
    """Events up to the day of the request that pass the filter of types, oldest first."""
    excluded: Sequence[tuple[Event, Reason]]
    """Events that do not pass a filter, and after them those of later days, each with its reason."""
    last_message: str
    """Time of the newest turn or result of a tool up to that day, whatever the layer's types; empty for none."""

    @property
    def latest(self) -> tuple[str, str]:
        """Sort key of sessions: time of the newest event, then the id."""
        times = (event.time.isoformat() for event in self.events if event.time)
        return max(times, default=""), self.id


def events(query: SourceQuery) -> RetrievalResult:
    """Events of the session, newest first, and after them the highlights of the latest other sessions.

    Where the request names no session, it is the one with the newest event. `max_candidates` of its events may enter.
    Events of days after the request's are excluded. A layer that weighs `similarity` has its events compared with the
    topic. The part `intent` is 1 for events of the types that its `intents` name for the intent of the topic, else 0.
    One that starts from others has the events that those found and did not look at.
    """
    sessions, problems = _latest_sessions_first(query)
    documents = tuple(session.document for session in sessions if session.document.path != HISTORY)
    if query.layer.query.start_from:
        fragments, problems = _fragments_beyond(sessions, query), []
    else:
        fragments = _fragments_of_all(sessions, query, problems)
    handed_in = (session.document for session in sessions if session.document.path == HISTORY)
    fragments += [each for document in handed_in for each in private_receipts(document, query.layer)]
    scored, late = _with_similarity(_with_intent(_merge_same_ids(fragments), query), query)
    return RetrievalResult(tuple(scored), documents, (*problems, *late))


def _fragments_beyond(sessions: Sequence[_Session], query: SourceQuery) -> list[Fragment]:
    """The events that the layers which this one starts from left out for their `max_candidates`, newest first."""
    found = (fragment for result in query.found.values() for fragment in result.fragments)
    beyond = {
        (each.location.path, each.location.line)
        for each in found
        if each.verdict.excluded and each.verdict.excluded.code == "not-in-pool"
    }
    fragments = []
    for session in sessions:
        own = [event for event in session.events if (event.path, event.line) in beyond]
        fragments += _session_fragments(session._replace(events=own), query, as_messages=False)
    return fragments


def _fragments_of_all(sessions: Sequence[_Session], query: SourceQuery, problems: list[Problem]) -> list[Fragment]:
    named, history = query.build.request.session, query.build.request.history
    named_sessions = (each for each in sessions if (each.document.path == HISTORY if history else each.id == named))
    current = next(named_sessions, None)
    if named and not current and (sessions or query.layer.query.paths):
        where = query.layer.query.paths[0].replace("*", named)
        message = f"no session has the id {named}; the other sessions show their highlights"
        problems.append(Problem("no-session", where, 0, message))
    if not (named or current) and sessions:
        current = sessions[0]
    # Turns and results are in different layers, whose current sessions may differ: messages are those of one session.
    latest = max(sessions, key=lambda each: (each.last_message, each.id), default=None)
    is_spoken = bool(named or history or latest is current) and query.build.request.is_chat
    fragments = _session_fragments(current, query, as_messages=is_spoken) if current else []
    other_sessions = [session for session in sessions if session is not current]
    for number, session in enumerate(other_sessions[:OTHERS], 1):
        fragments += _highlights(session, number, query)
    fragments += _remaining_fragments(other_sessions, fragments, query)
    fragments += [_excluded_event(event, reason, query) for session in sessions for event, reason in session.excluded]
    return fragments


def _latest_sessions_first(query: SourceQuery) -> tuple[list[_Session], list[Problem]]:
    documents, problems = read_documents(query)
    if query.build.request.history:
        documents.append(visible_session(query.build))
    layer_types, filters = query.layer.query.event_types, query.build.request.filters
    last_day = query.build.request.date.isoformat()
    sessions: list[_Session] = []
    for document in documents:
        file_events, file_problems = parse_events(document)
        problems += file_problems
        name = document.path.rpartition("/")[2].removesuffix(".jsonl").removeprefix("--")
        of_layer = [event for event in _oldest_first(file_events) if not layer_types or event.type in layer_types]
        past = [event for event in of_layer if event.day <= last_day]
        passing = [event for event in past if not _filter_option(event, filters)]
        excluded = [
            (event, Reason.of("filtered", by=option)) for event in past if (option := _filter_option(event, filters))
        ]
        later = ((event, event.time.date()) for event in of_layer if event.time and event.day > last_day)
        excluded += [(event, Reason.of("future", age=(query.build.request.date - day).days)) for event, day in later]
        times = (event.time.isoformat() for event in file_events if event.time and event.type in MESSAGE_TYPES)
        last_message = max((time for time in times if time[:10] <= last_day), default="")
        sessions.append(_Session(name, document, passing, excluded, last_message))
    return sorted(sessions, key=lambda session: session.latest, reverse=True), problems


def _filter_option(event: Event, filters: Filters) -> str:
    """The option that leaves the event out; empty for none."""
    if filters.event_types and event.type not in filters.event_types:
        return "--event-type"
    return "--task" if filters.task and event.task != filters.task else ""


def _oldest_first(file_events: Sequence[Event]) -> list[Event]:
    # By time, then line; an event without a time comes after the one above it.
    latest = datetime.min  # noqa: DTZ901 - events are in UTC without a zone
    timed: list[tuple[datetime, Event]] = []
    for event in file_events:
        latest = event.time or latest
        timed.append((latest, event))
    return [event for _, event in sorted(timed, key=lambda pair: pair[0])]


def _session_fragments(session: _Session, query: SourceQuery, *, as_messages: bool) -> list[Fragment]:
    newest_first = list(reversed(session.events))
    count = query.layer.query.max_candidates or len(newest_first)
    candidates = [_event_fragment(event, session.id, (0, event.line), query) for event in newest_first[:count]]
    if as_messages:
        candidates = [*map(_as_message, candidates, newest_first)]
    reason = Reason.of("not-in-pool", pool=count)
    return candidates + [_excluded_event(event, reason, query) for event in newest_first[count:]]


def _with_intent(fragments: Sequence[Fragment], query: SourceQuery) -> Sequence[Fragment]:
    """The fragments with a score that says if their types count for the intent of the topic, where a layer asks."""
    intents, topic = dict(query.layer.query.intents), query.build.request.topic
    if not (intents and topic.strip()):
        return fragments
    types = intents.get(intent(topic), ())
    scores = [(*each.score, ("intent", float(each.labels.kind in types))) for each in fragments]
    return [each._replace(score=score) if each.score else each for each, score in zip(fragments, scores, strict=True)]


def _with_similarity(
    fragments: Sequence[Fragment], query: SourceQuery
) -> tuple[Sequence[Fragment], tuple[Problem, ...]]:
    """The fragments with their similarity to the topic as the first part of their scores, where the layer weighs it.

    And the embedder's problem.
    """
    topic = query.build.request.topic
    if (
        not topic.strip()
        or "similarity" not in dict(query.layer.ranking.weights)
        or query.layer.ranking.order == "given"
    ):
        return fragments, ()
    from contextasm.retrieval.search.inverted_index import IndexEntry

    candidates = [number for number, fragment in enumerate(fragments) if fragment.verdict.excluded is None]
    entries = [IndexEntry(fragments[number].text, day=fragments[number].labels.day) for number in candidates]
    similar, late = matches(query, "events", entries, [entry.text for entry in entries], 0.0)
    scored = [*fragments]
    for row, number in enumerate(candidates):
        similarity, *halves = similar.get(row, (("similarity", 0.0),))
        scored[number] = scored[number]._replace(score=(similarity, *scored[number].score, *halves))
    return scored, late


def _remaining_fragments(
    sessions: Sequence[_Session], fragments: Sequence[Fragment], query: SourceQuery
) -> list[Fragment]:
    """The events of other sessions that are not among `fragments`: an excluded one each, or a count for each reason."""
    decided = {(fragment.location.path, fragment.location.line) for fragment in fragments}
    rest = [
        (event, "no-highlight" if number < OTHERS else "older-session")
        for number, session in enumerate(sessions)
        for event in session.events
        if (event.path, event.line) not in decided
    ]
    most = {"no-highlight": HIGHLIGHTS, "older-session": OTHERS}
    if counts_rest(query):
        counts = Counter(code for _, code in rest)
        return [count_fragment(query, Reason.of(code, count=counts[code], most=most[code])) for code in sorted(counts)]
    return [_excluded_event(event, Reason.of(code, most=most[code]), query) for event, code in rest]


def _excluded_event(event: Event, reason: Reason, query: SourceQuery) -> Fragment:
    return receipt(_event_id(event), Location(event.path, event.line, rows=1), query.layer, reason, _labels(event))


def _labels(event: Event) -> Labels:
    time_of = event.time.isoformat() if event.time else ""
    return Labels(day=event.day, time=time_of, kind=event.type, confidence=event.confidence)


def _highlights(session: _Session, number: int, query: SourceQuery) -> list[Fragment]:
    # A session without failures and writes shows its last event.
    events = [event for event in session.events if _is_highlight(event)] or session.events[-1:]
    return [_event_fragment(event, session.id, (number, event.line), query) for event in reversed(events[-HIGHLIGHTS:])]


def _is_highlight(event: Event) -> bool:
    is_failure = event.outcome.casefold() not in {"", "ok", "success", "succeeded", "0", "done"}
    return event.type in {"error", "file_write"} or is_failure


def _event_fragment(event: Event, session: str, place: tuple[int, int], query: SourceQuery) -> Fragment:
    layer, text = query.layer, event_text(event)
    template = layer.display.item_template
    return Fragment(
        _event_id(event),
        Location(event.path, event.line, rows=1),
        fill_item(template, {"type": event.type, "text": text}, {"text"}) if template else text,
        layer_display(layer, {"session": session}, place),
        score=_event_score(event, query),
        labels=_labels(event),
    )


def _as_message(fragment: Fragment, event: Event) -> Fragment:
    """The fragment as a message, if its event is one: under a heading of its own, since others are the system's text.

    Who says it is the line of a group, paid for in place of the API's own marks: each message has one.
    """
    message = event_message(event)
    if message is None:
        return fragment
    speaker = f"result of {message.tool} {message.arguments}" if message.tool else message.role
    heading = f"{fragment.display.heading}: messages"
    display = fragment.display._replace(heading=heading, group=f"{event.line} {one_line(speaker)}:")
    verdict = Verdict(excluded=None if message.text else Reason("blank"))
    return fragment._replace(text=message.text, display=display, message=message, verdict=verdict)


def _event_score(event: Event, query: SourceQuery) -> tuple[tuple[str, float], ...]:
    # The age is counted from the end of the day of the build.
    start = datetime.combine(query.build.request.date, time())
    hours = (start - event.time).total_seconds() / 3600 + 24 if event.time else None
    recency = 0.0 if hours is None else half_life(hours)
    return (("importance", event.importance), ("recency", recency))


def _event_id(event: Event) -> str:
    return event.id or f"{event.path}:{event.line}"


def _merge_same_ids(fragments: Sequence[Fragment]) -> list[Fragment]:
    # A later fragment with the id of an earlier one loses its text, and is excluded (digest 2.1).
    first_of: dict[str, Fragment] = {}
    distinct: list[Fragment] = []
    for fragment in fragments:
        if fragment.id in first_of:
            repeated = Reason.of("repeated", line=first_of[fragment.id].location.line)
            new_id = f"{fragment.location.path}:{fragment.location.line}"
            distinct.append(fragment._replace(id=new_id, text="").exclude(fragment.verdict.excluded or repeated))
        else:
            first_of[fragment.id] = fragment
            distinct.append(fragment)
    return distinct
