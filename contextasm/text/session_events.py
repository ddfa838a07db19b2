"""Events of a session as they stand in its file: one JSON object a line; and each in words.

Reading only. A line that can't be read is a problem with its number, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from contextasm.model import Document, Problem

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all times here are UTC without saying so
_MILLISECONDS = 1e11
"""A larger number is a time in milliseconds: in seconds it would lie in the year 5138."""

_OWN = {"id", "type", "timestamp", "time", "ts", "outcome", "content", "data", "session", "sessionId"}
"""The keys of an event that are not its content."""


class Event(NamedTuple):
    """One line of a session."""

    path: str
    line: int
    id: str
    """Empty for none."""
    type: str
    time: datetime | None
    """UTC, without a zone; what is written without one is taken as it stands."""
    outcome: str
    content: Mapping[str, object]
    said: str
    """The content, where it is a plain text."""

    @property
    def day(self) -> str:
        """The date, as YYYY-MM-DD; empty for none."""
        return self.time.date().isoformat() if self.time else ""


def parse_events(document: Document) -> tuple[Sequence[Event], Sequence[Problem]]:
    """The events of a session in file order, and the lines that are none. A torn last line is one of these."""
    return _events(document.path, document.line, document.text)


@lru_cache(maxsize=64)
def _events(path: str, first: int, text: str) -> tuple[Sequence[Event], Sequence[Problem]]:
    """Those of a text that begins at line `first` of a file. Remembered: two layers may read one session."""
    import json

    found: list[Event] = []
    problems: list[Problem] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            torn = "; the last line may still be being written" if number == first + len(lines) - 1 else ""
            problems.append(Problem("bad-event", path, number, f"is no valid JSON{torn}"))
            continue
        if not isinstance(value, dict) or not isinstance(value.get("type"), str) or not value["type"].strip():
            problems.append(Problem("bad-event", path, number, "is no event; it has no `type`"))
            continue
        found.append(_event(path, number, value, problems))
    return tuple(found), tuple(problems)


def _event(path: str, line: int, value: Mapping[str, object], problems: list[Problem]) -> Event:
    """An event from its object; content may stand under `content` or `data`, or beside the type."""
    content = value.get("content", value.get("data"))
    said = content if isinstance(content, str) else ""
    if not isinstance(content, dict):
        content = {key: each for key, each in value.items() if key not in _OWN}
    written = next((value[key] for key in ("timestamp", "time", "ts") if value.get(key) is not None), None)
    time = moment(written)
    if written is not None and time is None:
        problems.append(Problem("bad-event", path, line, f"timestamp is {written}, no time in ISO form"))
    outcome, name = value.get("outcome"), value.get("id")
    return Event(
        path=path,
        line=line,
        id=str(name) if isinstance(name, str | int) else "",
        type=str(value["type"]).strip(),
        time=time,
        outcome=str(outcome).strip() if isinstance(outcome, str | int | float) else "",
        content=content,
        said=said,
    )


def moment(written: object) -> datetime | None:
    """A time in ISO form or in (milli)seconds since 1970, as UTC without a zone; None for anything else."""
    try:
        if isinstance(written, int | float) and not isinstance(written, bool):
            seconds = written / 1000 if abs(written) > _MILLISECONDS else written
            return _EPOCH + timedelta(seconds=seconds)
        if not isinstance(written, str):
            return None
        time = datetime.fromisoformat(written.strip())
        return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    except (ValueError, OverflowError):
        return None


def time_stamp(time: datetime | None) -> str:
    """A time in brackets, ISO; empty for none."""
    if time is None:
        return ""
    digits = "milliseconds" if time.microsecond else "seconds"
    return f"[{time.isoformat(timespec=digits)}Z] "


def event_text(event: Event) -> str:
    """An event in words (digest 2.1): what was read, written, executed, went wrong, was said; else type and JSON."""
    outcome = f" [{event.outcome}]" if event.outcome else ""
    line, below = FORMS.get(event.type, _other)(event, outcome)
    text = "\n".join([f"{time_stamp(event.time)}{line}", *([below.strip("\n")] if below.strip() else [])])
    return "\n".join(each.rstrip() for each in text.split("\n"))


def _part(event: Event, *keys: str) -> str:
    """The first of these parts of the content that says anything."""
    import json

    for key in keys:
        value = event.content.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int | float | dict | list) and value not in ({}, []):
            return json.dumps(value, ensure_ascii=False)
    return event.said


def _read(event: Event, _outcome: str) -> tuple[str, str]:
    return f"Read: {_part(event, 'path')}", ""


def _wrote(event: Event, outcome: str) -> tuple[str, str]:
    return f"Wrote: {_part(event, 'path')}{outcome}", ""


def _executed(event: Event, outcome: str) -> tuple[str, str]:
    below = "" if event.said else _part(event, "stdout", "stderr", "output")
    return f"Executed: `{_part(event, 'command')}`{outcome}", below


def _went_wrong(event: Event, _outcome: str) -> tuple[str, str]:
    return f"Error: {_part(event, 'message')}", "" if event.said else _part(event, "stack")


def _turn(event: Event, _outcome: str) -> tuple[str, str]:
    role = event.content.get("role")
    return f"{role if isinstance(role, str) else 'turn'}: {_part(event, 'text', 'content', 'message')}", ""


def _result(event: Event, outcome: str) -> tuple[str, str]:
    name = next((each for key in ("tool", "name") if isinstance(each := event.content.get(key), str)), "")
    return f"Result of {name or 'a tool'}{outcome}:", _part(event, "output", "result", "text", "content")


def _other(event: Event, _outcome: str) -> tuple[str, str]:
    import json

    content = event.said or dict(event.content)
    return f"{event.type}: {json.dumps(content, ensure_ascii=False, separators=(', ', ': '))}", ""


FORMS = {
    "file_read": _read,
    "file_write": _wrote,
    "shell_exec": _executed,
    "error": _went_wrong,
    "turn": _turn,
    "tool_result": _result,
}
"""Each type of event that has a form of its own, with the line and what stands below it."""
