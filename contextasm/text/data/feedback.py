"""Feedback on builds: one JSON object a line, each an event of the type `feedback`, and what the lines say together.

Lines are parsed as those of a session (`text/data/session_events.py`), so a layer of events may show them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from contextasm.model import Document, Problem
from contextasm.text.data.session_events import Event, parse_events

FEEDBACK_TYPE = "feedback"
"""Type of the event."""


class Feedback(NamedTuple):
    """A judgement of one recorded build by a person: one line of a file, or the sum of several."""

    record: str
    """Id of the record."""
    day: str
    """YYYY-MM-DD; empty for none."""
    shown: int
    """Number of fragments that the build showed."""
    coherence: float | None
    """Coherence of the context, 0 to 1; None where it is not known."""
    useful: tuple[str, ...] = ()
    """Ids of fragments."""
    wrong: tuple[str, ...] = ()
    """Ids of fragments; none is in `useful`, too."""
    missing: tuple[str, ...] = ()
    """Texts on what the context lacked."""


class Judgements(NamedTuple):
    """How many contexts a fragment was useful in, and in how many it was wrong."""

    useful: int
    wrong: int


def feedback_line(feedback: Feedback) -> str:
    """The feedback as one line of a file, without the line end."""
    import json

    fields = {
        "type": FEEDBACK_TYPE,
        "time": feedback.day,
        "record": feedback.record,
        "shown": feedback.shown,
        "coherence": feedback.coherence,
        "useful": feedback.useful,
        "wrong": feedback.wrong,
        "missing": feedback.missing,
    }
    return json.dumps(fields, ensure_ascii=False)


def parse_feedback(documents: Iterable[Document], last_day: str) -> tuple[Sequence[Feedback], Sequence[Problem]]:
    """The feedback on each record up to a day, YYYY-MM-DD, in the order of the first line on it; and problems of lines.

    Of several lines on one record, a later one replaces what an earlier one said of the same fragment: saying it twice
    counts once, and a slip can be put right. What is missing adds up.
    """
    by_record: dict[str, Feedback] = {}
    problems: list[Problem] = []
    for document in documents:
        events, file_problems = parse_events(document)
        problems += file_problems
        for event in events:
            line = _feedback_of_event(event)
            if isinstance(line, Problem):
                problems.append(line)
            elif line.day <= last_day:
                by_record[line.record] = _merged(by_record.get(line.record, line), line)
    return tuple(by_record.values()), tuple(problems)


def count_judgements(feedback: Iterable[Feedback]) -> Mapping[str, Judgements]:
    """The judgements on each fragment that has any, by its id."""
    lines = [*feedback]
    useful = Counter(name for line in lines for name in line.useful)
    wrong = Counter(name for line in lines for name in line.wrong)
    return {name: Judgements(useful[name], wrong[name]) for name in {**useful, **wrong}}


def _merged(earlier: Feedback, later: Feedback) -> Feedback:
    judged = {*later.useful, *later.wrong}
    return later._replace(
        coherence=earlier.coherence if later.coherence is None else later.coherence,
        useful=(*(name for name in earlier.useful if name not in judged), *later.useful),
        wrong=(*(name for name in earlier.wrong if name not in judged), *later.wrong),
        missing=tuple(dict.fromkeys((*earlier.missing, *later.missing))),
    )


def _feedback_of_event(event: Event) -> Feedback | Problem:
    record, shown = event.content.get("record"), event.content.get("shown", 0)
    coherence = event.content.get("coherence")
    lists = [_distinct_texts(event.content.get(key, [])) for key in ("useful", "wrong", "missing")]
    if event.type != FEEDBACK_TYPE:
        return _problem(event, f"is of the type {event.type}, not {FEEDBACK_TYPE}")
    if not isinstance(record, str) or not record:
        return _problem(event, "has no `record`")
    if not _is_count(shown) or not (coherence is None or _is_share(coherence)):
        return _problem(event, "has a `shown` that is no count, or a `coherence` that is not from 0 to 1")
    useful, wrong, missing = lists
    if useful is None or wrong is None or missing is None:
        return _problem(event, "has a `useful`, `wrong` or `missing` that is no list of texts")
    if both := {*useful} & {*wrong}:
        return _problem(event, f"says of {min(both)} that it is useful and wrong")
    return Feedback(record, event.day, shown, coherence, useful, wrong, missing)


def _problem(event: Event, what: str) -> Problem:
    return Problem("bad-feedback", event.path, event.line, f"{what}; the line counts for nothing")


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_share(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _distinct_texts(value: object) -> tuple[str, ...] | None:
    """The texts of a list, each once; None for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    return tuple(dict.fromkeys(value))
