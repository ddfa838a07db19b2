"""Source `parse_events`: what happened in the session that goes on, and the highlights of the latest others.

A session is a file of one JSON object a line. Its id is the file's name without `.jsonl`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from typing import NamedTuple

from contextasm.model import (
    Document,
    Fragment,
    FragmentDisplay,
    Labels,
    Layer,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.query_signals import half_life
from contextasm.retrieval.reading import read_documents
from contextasm.text.session_events import Event, event_text, parse_events
from contextasm.text.templates import fill_template

OTHERS = 5
"""How many other sessions show their highlights, the latest first."""

HIGHLIGHTS = 3
"""How many events of another session are its highlights, the latest first."""

IMPORTANCE = 0.5
"""Of every event (digest 2.1)."""


class _Session(NamedTuple):
    """One file of events."""

    id: str
    document: Document
    events: Sequence[Event]

    @property
    def latest(self) -> tuple[str, str]:
        """What sessions are ordered by."""
        times = (each.time.isoformat() for each in self.events if each.time)
        return max(times, default=""), self.id


def events(query: SourceQuery) -> RetrievalResult:
    """The events of the session, newest first, behind it the highlights of the latest others.

    Where no session is named, the one with the newest event is meant. Of its events `layer.pool` are looked at.
    """
    sessions, problems = _sessions(query)
    named = query.build.request.session
    current = next((each for each in sessions if each.id == named), None)
    if named and not current and (sessions or query.layer.query.paths):
        where = query.layer.query.paths[0].replace("*", named)
        problems.append(
            Problem("no-session", where, 0, f"there is no session {named}; the others show their highlights")
        )
    if not named and sessions:
        current = sessions[0]
    fragments = _own(current, query) if current else []
    others = [each for each in sessions if each is not current]
    for number, session in enumerate(others[:OTHERS], 1):
        fragments += _highlights(session, number, query)
    documents = tuple(each.document for each in sessions)
    return RetrievalResult(tuple(_distinct(fragments)), documents, tuple(problems))


def _sessions(query: SourceQuery) -> tuple[list[_Session], list[Problem]]:
    """The sessions of the layer's paths with their events of its types, the latest first."""
    documents, problems = read_documents(query)
    kinds = query.layer.query.event_types
    found: list[_Session] = []
    for document in documents:
        own, wrong = parse_events(document)
        problems += wrong
        session = document.path.rpartition("/")[2].removesuffix(".jsonl")
        found.append(_Session(session, document, [each for each in own if not kinds or each.type in kinds]))
    return sorted(found, key=lambda session: session.latest, reverse=True), problems


def _own(session: _Session, query: SourceQuery) -> list[Fragment]:
    """All events of the session, newest first; those behind the pool are not put into words."""
    newest = list(reversed(session.events))
    pool = query.layer.query.max_candidates or len(newest)
    shown = [_fragment(each, session.id, (0, each.line), query) for each in newest[:pool]]
    out = Reason.of("not-in-pool", pool=pool)
    heading = query.layer.heading[0]
    return shown + [
        Fragment(
            _id(each),
            Location(each.path, each.line, rows=1),
            "",
            FragmentDisplay(heading),
            labels=Labels(day=each.day, kind=each.type),
            verdict=Verdict(excluded=out),
        )
        for each in newest[pool:]
    ]


def _highlights(session: _Session, number: int, query: SourceQuery) -> list[Fragment]:
    """What another session is remembered by: its last errors, failures and writes, else its last event."""
    marked = [each for each in session.events if _stands_out(each)] or session.events[-1:]
    return [_fragment(each, session.id, (number, each.line), query) for each in reversed(marked[-HIGHLIGHTS:])]


def _stands_out(event: Event) -> bool:
    """Whether an event says what a session came to."""
    failed = event.outcome.casefold() not in {"", "ok", "success", "succeeded", "0", "done"}
    return event.type in {"error", "file_write"} or failed


def _fragment(event: Event, session: str, place: tuple[int, int], query: SourceQuery) -> Fragment:
    """An event in words."""
    layer, text = query.layer, event_text(event)
    return Fragment(
        _id(event),
        Location(event.path, event.line, rows=1),
        _line(layer, text, event),
        FragmentDisplay(
            layer.heading[0],
            group=fill_template(layer.display.group_template, {"session": session}),
            place=place,
            keep=layer.overflow.keep,
        ),
        score=_score(event, query),
        labels=Labels(day=event.day, kind=event.type),
    )


def _line(layer: Layer, text: str, event: Event) -> str:
    """An event in the form in which the layer shows it."""
    return (
        fill_template(layer.display.item_template, {"type": event.type, "text": text.replace("\n", "\n  ")})
        if layer.display.item_template
        else text
    )


def _score(event: Event, query: SourceQuery) -> tuple[tuple[str, float], ...]:
    """The parts of an event's score. Its age is counted from the end of the day of the build."""
    end = datetime.combine(query.build.request.date, time()) + timedelta(days=1)
    hours = (end - event.time).total_seconds() / 3600 if event.time else None
    recency = 0.0 if hours is None else half_life(hours)
    return (("importance", IMPORTANCE), ("recency", recency))


def _id(event: Event) -> str:
    return event.id or f"{event.path}:{event.line}"


def _distinct(fragments: Sequence[Fragment]) -> list[Fragment]:
    """The fragments, a second one of the same id being merged into the first (digest 2.1)."""
    first: dict[str, Fragment] = {}
    found: list[Fragment] = []
    for each in fragments:
        if each.id in first:
            line = first[each.id].location.line
            own = f"{each.location.path}:{each.location.line}"
            found.append(
                each._replace(id=own, text="").exclude(each.verdict.excluded or Reason.of("repeated", line=line))
            )
        else:
            first[each.id] = each
            found.append(each)
    return found
