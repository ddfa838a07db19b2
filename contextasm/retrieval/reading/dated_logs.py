"""Dated logs: the files of a layer whose names are days. Nothing is read but the names."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from contextasm.model import Problem, SourceQuery
from contextasm.retrieval.reading.files import template_paths
from contextasm.text.names.dates import dated_name


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
    problems: dict[Problem, None] = dict.fromkeys(_form_problems(query))
    own, today = query.layer.query, query.build.request.date.toordinal()
    for number, template in enumerate(own.paths):
        for path in template_paths(query, template):
            written, day, rest = dated_parts(path, own.dates)
            if day:
                ordinal = day.toordinal()
                logs.append(DatedLog(path, day, today - ordinal, (-ordinal, number, rest)))
            elif isinstance(read := query.build.workspace.read(path), Problem):
                problems[read] = None
            elif not problems or not own.dates:
                problems[_name_problem(path, written, own.dates)] = None
    return sorted(logs, key=lambda log: (log.order, log.path)), [*problems]


def dated_parts(path: str, forms: Sequence[str]) -> tuple[str, date | None, str]:
    """Date of a log as written in its path, its day, and what follows in the name; empty and None where it has none."""
    if forms:
        from contextasm.text.names.date_forms import split_dated_path  # here: most names are YYYY-MM-DD

        return split_dated_path(path, forms) or ("", None, "")
    return dated_name(path) or ("", None, "")


def _form_problems(query: SourceQuery) -> Iterator[Problem]:
    """The forms that a program's settings have, and that no date can be read by."""
    for form in query.layer.query.dates:
        from contextasm.text.names.date_forms import read_form

        if isinstance(fault := read_form(form), str):
            message = f"its dates are written as {form}, which {fault}: no log is read"
            yield Problem("bad-date-form", query.layer.id, 0, message)


def _name_problem(path: str, written: str, forms: Sequence[str]) -> Problem:
    name = path.rpartition("/")[2]
    form = " or ".join(forms) or "YYYY-MM-DD"
    what = f"{name} is no date" if not written else f"there is no day {written}"
    return Problem("bad-log-name", path, 0, f"{what}, so it is not read as a log; name it {form}.md")
