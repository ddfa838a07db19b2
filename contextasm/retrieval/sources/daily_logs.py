"""Source `daily_logs`: dated logs of the days up to today.

A log's name tells its date, so a log outside the window is never opened.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
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
from contextasm.text.markdown import trimmed
from contextasm.text.templates import fill_template, layer_paths

_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?!\d)(.*)\.md")


class _Log(NamedTuple):
    """A log's file, not opened yet."""

    path: str
    day: date
    age: int
    """In days; negative for a day to come."""
    order: tuple[int, int, str]
    """Where it is shown: the newest day first, in a day by the layer's paths, then by the suffix of the name."""


def daily_logs(query: SourceQuery) -> RetrievalResult:
    """The logs aged 0 to `layer.days` days, in keep order: the newest day first, in a day the last file first.

    A log outside the window is a fragment without text, and a file whose name is no date is a problem.
    """
    logs, problems = _logs(query)
    oldest = query.layer.query.max_age_days
    if not any(0 <= log.age <= oldest for log in logs):
        oldest = max(oldest, query.layer.query.fallback_days)
    documents: list[Document] = []
    fragments: list[Fragment] = []
    for place, log in enumerate(logs):
        if not 0 <= log.age <= oldest:
            reason = Reason.of("future" if log.age < 0 else "outside-window", age=log.age, days=oldest)
            fragments.append(
                Fragment(
                    log.path,
                    Location(log.path, 0),
                    "",
                    FragmentDisplay(query.layer.heading[0]),
                    labels=Labels(day=str(log.day)),
                    verdict=Verdict(excluded=reason),
                )
            )
            continue
        read = query.build.workspace.read(log.path)
        if isinstance(read, Document):
            documents.append(read)
            fragments.append(_fragment(read, log, query.layer, place))
        elif read:
            problems.append(read)
    fragments.sort(key=lambda each: (each.labels.day, each.display.place), reverse=True)
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _logs(query: SourceQuery) -> tuple[Sequence[_Log], list[Problem]]:
    """The logs that a layer's paths name, in the order in which they are shown, and the files that are none."""
    logs: list[_Log] = []
    problems: list[Problem] = []
    for number, template in enumerate(query.layer.query.paths):
        for path in layer_paths(query.build.workspace, template, query.build.request):
            name = path.rpartition("/")[2]
            found = _NAME.fullmatch(name)
            try:
                day = date.fromisoformat(found[1]) if found else None
            except ValueError:
                day = None
            if found and day:
                age = (query.build.request.date - day).days
                logs.append(_Log(path, day, age, (-day.toordinal(), number, found[2])))
            elif isinstance(unfit := query.build.workspace.read(path), Problem):
                problems.append(unfit)
            else:
                message = f"{name} is no date, so it is not read as a log; name it YYYY-MM-DD.md"
                problems.append(Problem("bad-log-name", path, 0, message))
    return sorted(logs, key=lambda log: (log.order, log.path)), problems


def _fragment(document: Document, log: _Log, layer: Layer, place: int) -> Fragment:
    """All of a log, the blank lines at its ends left off."""
    blank, text = trimmed(document.text)
    group = fill_template(layer.display.group_template, {"date": str(log.day)})
    if group and log.age > layer.query.max_age_days:
        group += f" ({log.age} days ago)"
    return Fragment(
        log.path,
        Location(log.path, document.line + blank),
        text,
        FragmentDisplay(layer.heading[0], group=group, place=(place,), keep=layer.overflow.keep),
        labels=Labels(day=str(log.day)),
        verdict=Verdict(excluded=None if text else Reason("blank")),
    )
