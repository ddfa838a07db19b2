"""Dated logs: the files of a layer whose names are days. Nothing is read but the names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from contextasm.model import Problem, SourceQuery
from contextasm.text.dates import parse_date, split_dated_name
from contextasm.text.templates import layer_paths


class DatedLog(NamedTuple):
    """The file of a log, not opened."""

    path: str
    day: date
    age: int
    """In days; negative for a day in the future."""
    order: tuple[int, int, str]
    """Sort key: the newest day first, in a day by the layer's paths, then by the suffix of the name."""


def logs_in_display_order(query: SourceQuery) -> tuple[Sequence[DatedLog], list[Problem]]:
    """The logs of a layer's paths, the newest day first, and the problems of files whose names are no dates."""
    logs: list[DatedLog] = []
    problems: list[Problem] = []
    for number, template in enumerate(query.layer.query.paths):
        for path in layer_paths(query.build.workspace, template, query.build.request):
            name = path.rpartition("/")[2]
            parts = split_dated_name(name)
            day = parse_date(parts[0]) if parts else None
            if parts and day:
                age = (query.build.request.date - day).days
                logs.append(DatedLog(path, day, age, (-day.toordinal(), number, parts[1])))
            elif isinstance(read := query.build.workspace.read(path), Problem):
                problems.append(read)
            else:
                message = f"{name} is no date, so it is not read as a log; name it YYYY-MM-DD.md"
                problems.append(Problem("bad-log-name", path, 0, message))
    return sorted(logs, key=lambda log: (log.order, log.path)), problems
