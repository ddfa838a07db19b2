"""Events of a session, one JSON object a line, each as text; and feedback on builds, which is a type of event.

A line that can't be read is a problem with its number, and the other lines are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from contextasm.model import Cleaning, ContextasmError, Document, Hidden, Message, NamedTuple, Problem
from contextasm.text.cleaning.clean import clean_value, removal_problems
from contextasm.text.data.rows import Row, is_count, is_share
from contextasm.text.json_reader import load_json
from contextasm.text.names.dates import moment

_FRAME_KEYS = {"id", "type", "timestamp", "time", "ts", "outcome", "content", "data", "session", "sessionId"}
"""The keys of an event that are not its content."""


IMPORTANCE = 0.5
"""Importance of an event that states none (digest 2.1)."""

CONFIDENCE = 0.5
"""Confidence of an event that states none, as of a memory."""


class Event(NamedTuple):
    """One line of a session."""

    path: str
    line: int
    id: str
    """Empty for none."""
    type: str
    time: datetime | None
    """UTC, without a zone; a time written without a zone counts as UTC."""
    outcome: str
    content: Mapping[str, object]
    whole: object = None
    """The content if it is not a mapping, such as a text; else None."""
    importance: float = IMPORTANCE
    confidence: float = CONFIDENCE
    task: str = ""
    """Id of the task that it belongs to; empty for none."""

    @property
    def day(self) -> str:
        """The date, as YYYY-MM-DD; empty for none."""
        return self.time.date().isoformat() if self.time else ""


def parse_events(document: Document) -> tuple[Sequence[Event], Sequence[Problem]]:
    """The events of a session in file order, and a problem for each other line, such as a torn last line."""
    return _parse_lines(document.path, document.line, document.text, document.cleaning)


@lru_cache(maxsize=64)
def _parse_lines(path: str, first: int, text: str, cleaning: Cleaning) -> tuple[Sequence[Event], Sequence[Problem]]:
    # Cached, for two layers may read one session. `first` is the line of the file at which the text begins.
    events: list[Event] = []
    problems: list[Problem] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            value = load_json(line, path)
        except ContextasmError as error:
            torn = "; perhaps this last line is still being written" if number == first + len(lines) - 1 else ""
            problems.append(Problem("bad-event", path, number, f"{error.what}{torn}"))
            continue
        if not isinstance(value, dict) or not isinstance(value.get("type"), str) or not value["type"].strip():
            problems.append(Problem("bad-event", path, number, "is not an event, because it has no `type`"))
            continue
        hidden: list[Hidden] = []
        clean_value(value, cleaning, number, hidden)
        problems += removal_problems(path, hidden)
        events.append(_event_of_object(path, number, value, problems))
    return tuple(events), tuple(problems)


def _event_of_object(path: str, line: int, value: Mapping[str, object], problems: list[Problem]) -> Event:
    row = Row(path, line, value, problems, "bad-event")
    # Content may be under `content` or `data`, or next to the type.
    content = value.get("content", value.get("data"))
    whole = None if isinstance(content, dict) else content
    if not isinstance(content, dict):
        content = {key: item for key, item in value.items() if key not in _FRAME_KEYS}
    written = next((value[key] for key in ("timestamp", "time", "ts") if value.get(key) is not None), None)
    time = moment(written)
    if written is not None and time is None:
        row.report(f"the timestamp {written} is not an ISO time")
    outcome = value.get("outcome")
    return Event(
        path=path,
        line=line,
        id=_id(value.get("id")),
        type=str(value["type"]).strip(),
        time=time,
        outcome=str(outcome).strip() if isinstance(outcome, str | int | float) else "",
        content=content,
        whole=whole,
        importance=row.share("importance", IMPORTANCE),
        confidence=row.share("confidence", CONFIDENCE),
        task=_id(next((value[key] for key in ("task", "taskId", "task_id") if key in value), None)),
    )


def _id(value: object) -> str:
    return str(value) if isinstance(value, str | int) else ""


def time_stamp(time: datetime | None) -> str:
    """A time in brackets, ISO; empty for none."""
    if time is None:
        return ""
    digits = "milliseconds" if time.microsecond else "seconds"
    return f"[{time.isoformat(timespec=digits)}Z] "


def event_text(event: Event) -> str:
    """An event as text (digest 2.1): in the form of its type, else its type and its content as JSON."""
    outcome = f" [{event.outcome}]" if event.outcome else ""
    below = ""
    is_text = isinstance(event.whole, str) and event.whole != ""
    match event.type:
        case "file_read":
            line = f"Read: {_first_filled(event, 'path')}"
        case "file_write":
            line = f"Wrote: {_first_filled(event, 'path')}{outcome}"
        case "shell_exec":
            line = f"Executed: `{_first_filled(event, 'command')}`{outcome}"
            below = "" if is_text else _first_filled(event, "stdout", "stderr", "output")
        case "error":
            line = f"Error: {_first_filled(event, 'message')}"
            below = "" if is_text else _first_filled(event, "stack")
        case "turn":
            line = f"{_first_text(event, 'role') or 'turn'}: {_first_filled(event, *_TURN_KEYS)}"
        case "tool_result":
            line = f"Result of {_first_text(event, 'tool', 'name') or 'a tool'}{outcome}:"
            below = _first_filled(event, *_RESULT_KEYS)
        case _:
            line = f"{event.type}: {compact_json(dict(event.content) if event.whole in (None, '') else event.whole)}"
    text = "\n".join([f"{time_stamp(event.time)}{line}", *([below.strip("\n")] if below.strip() else [])])
    return "\n".join(part.rstrip() for part in text.split("\n"))


def _first_filled(event: Event, *keys: str) -> str:
    for key in keys:
        value = event.content.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int | float | dict | list) and value not in ({}, []):
            return compact_json(value)
    if isinstance(event.whole, str):
        return event.whole
    return "" if event.whole is None else compact_json(event.whole)


def compact_json(value: object) -> str:
    """The value as JSON without blanks, as JavaScript's `JSON.stringify` writes it (digest 2.1)."""
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_TURN_KEYS = ("text", "content", "message")
"""The keys that may hold the text of a turn."""


_RESULT_KEYS = ("output", "result", "text", "content")
"""The keys that may hold what a tool gave back."""


def _first_text(event: Event, *keys: str) -> str:
    return next((value for key in keys if isinstance(value := event.content.get(key), str)), "")


MESSAGE_TYPES = ("turn", "tool_result")
"""Types of events that may be messages."""


def event_message(event: Event) -> Message | None:
    """A turn or the result of a tool as a message, without blank ends; None for any other event.

    A turn is the user's or the assistant's; the outcome of a tool stands above what it gave back.
    """
    role = _first_text(event, "role").casefold()
    if event.type == "turn":
        return Message(role, _first_filled(event, *_TURN_KEYS).strip()) if role in {"user", "assistant"} else None
    if event.type not in MESSAGE_TYPES:
        return None
    arguments = next((value for key in ("arguments", "input") if (value := event.content.get(key))), {})
    outcome = f"[{event.outcome}]\n" if event.outcome else ""
    return Message(
        "result",
        f"{outcome}{_first_filled(event, *_RESULT_KEYS)}".strip(),
        tool=api_name(_first_text(event, "tool", "name") or "a tool"),
        arguments=compact_json(arguments if isinstance(arguments, dict) else {"value": arguments}),
    )


def api_name(name: str) -> str:
    """The name of a tool as models' APIs take it: 64 letters, digits, `_` and `-` at most, `_` for all else."""
    return re.sub("[^a-zA-Z0-9_-]", "_", name)[:64]


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
    """Coherence of the context, 0 to 1; None if it is not known."""
    useful: tuple[str, ...] = ()
    """Ids of fragments."""
    wrong: tuple[str, ...] = ()
    """Ids of fragments; none is in `useful`, too."""
    missing: tuple[str, ...] = ()
    """Texts on what the context lacked."""


def feedback_line(feedback: Feedback) -> str:
    """The feedback as one line of a file, without the line end."""
    import json

    fields = feedback._asdict()
    fields = {"type": FEEDBACK_TYPE, "time": fields.pop("day"), **fields}
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


def count_judgements(
    feedback: Iterable[Feedback], name_of: Callable[[str], str] = str
) -> Mapping[str, tuple[int, int]]:
    """In how many contexts each judged fragment was useful, and in how many it was wrong, by its id.

    `name_of` gives the name that an id counts for; one context counts once for it.
    """
    lines = [*feedback]
    useful = Counter(name for line in lines for name in {*map(name_of, line.useful)})
    wrong = Counter(name for line in lines for name in {*map(name_of, line.wrong)})
    return {name: (useful[name], wrong[name]) for name in {**useful, **wrong}}


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
    useful, wrong, missing = (_distinct_texts(event.content.get(key, [])) for key in ("useful", "wrong", "missing"))
    if event.type != FEEDBACK_TYPE:
        return _problem(event, f"is of the type {event.type}, not {FEEDBACK_TYPE}")
    if not isinstance(record, str) or not record:
        return _problem(event, "has no `record`")
    if not is_count(shown) or not (coherence is None or is_share(coherence)):
        return _problem(event, "has a `shown` that is not a count, or a `coherence` that is not from 0 to 1")
    if useful is None or wrong is None or missing is None:
        return _problem(event, "has a `useful`, `wrong` or `missing` that is not a list of texts")
    if both := {*useful} & {*wrong}:
        return _problem(event, f"marks {min(both)} as both useful and wrong")
    return Feedback(record, event.day, shown, coherence, useful, wrong, missing)


def _problem(event: Event, what: str) -> Problem:
    return Problem("bad-feedback", event.path, event.line, f"{what}; the line is ignored")


def _distinct_texts(value: object) -> tuple[str, ...] | None:
    """The texts of a list, each once; None for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    return tuple(dict.fromkeys(value))
