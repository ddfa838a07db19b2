"""Source `daily`: dated logs of the days up to today.

The file name holds the date, so a log outside the window is never opened.
"""

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
from contextasm.text.dates import parse_date, split_dated_name
from contextasm.text.markdown import trimmed
from contextasm.text.passage import passage
from contextasm.text.templates import fill_template, layer_paths


class _Log(NamedTuple):
    """The file of a log, not opened."""

    path: str
    day: date
    age: int
    """In days; negative for a day in the future."""
    order: tuple[int, int, str]
    """Sort key: the newest day first, in a day by the layer's paths, then by the suffix of the name."""


def daily_logs(query: SourceQuery) -> RetrievalResult:
    """Logs of up to `max_age_days` days, the newest day first, in a day the last file first; else of `fallback_days`.

    A log outside the window is an excluded fragment without text, and a file whose name is no date is a problem.
    """
    logs, problems = _logs_in_display_order(query)
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
            fragments.append(_log_fragment(read, log, query.layer, place))
        elif read:
            problems.append(read)
    fragments.sort(key=lambda fragment: (fragment.labels.day, fragment.display.place), reverse=True)
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _logs_in_display_order(query: SourceQuery) -> tuple[Sequence[_Log], list[Problem]]:
    logs: list[_Log] = []
    problems: list[Problem] = []
    for number, template in enumerate(query.layer.query.paths):
        for path in layer_paths(query.build.workspace, template, query.build.request):
            name = path.rpartition("/")[2]
            parts = split_dated_name(name)
            day = parse_date(parts[0]) if parts else None
            if parts and day:
                age = (query.build.request.date - day).days
                logs.append(_Log(path, day, age, (-day.toordinal(), number, parts[1])))
            elif isinstance(read := query.build.workspace.read(path), Problem):
                problems.append(read)
            else:
                message = f"{name} is no date, so it is not read as a log; name it YYYY-MM-DD.md"
                problems.append(Problem("bad-log-name", path, 0, message))
    return sorted(logs, key=lambda log: (log.order, log.path)), problems


def _log_fragment(document: Document, log: _Log, layer: Layer, place: int) -> Fragment:
    blank, text = trimmed(document.text)
    location, text = passage(document, document.line + blank, text)
    group = fill_template(layer.display.group_template, {"date": str(log.day)})
    if group and log.age > layer.query.max_age_days:
        group += f" ({log.age} days ago)"
    return Fragment(
        log.path,
        location,
        text,
        FragmentDisplay(layer.heading[0], group=group, place=(place,), keep=layer.overflow.keep),
        labels=Labels(day=str(log.day)),
        verdict=Verdict(excluded=None if text else Reason("blank")),
    )
