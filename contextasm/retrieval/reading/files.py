"""Reading: the files that a layer's paths name, each once, and the problems of unreadable ones.

Parses YAML and JSON to plain values; the rows in them are the sources' business. Of dated logs, only names are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from contextasm.model import Data, Document, Problem, Request, SourceQuery, Workspace
from contextasm.text.cleaning.clean import parse_data
from contextasm.text.names.dates import dated_name, read_form, split_dated_path
from contextasm.text.names.glob import matching_paths
from contextasm.text.names.templates import ARCHIVE, fill_template, is_pattern, placeholders


def layer_paths(workspace: Workspace, template: str, request: Request) -> Iterator[str]:
    """The files that a layer's path names; none if the path needs a name that the request does not give.

    `{open}` and `{changed}` stand for the open and the changed files of the request. A path without a wildcard comes
    back unchanged, whether such a file exists or not. What left other files is found by patterns that name `archive`.
    """
    if template in {"{open}", "{changed}"}:
        yield from request.open if template == "{open}" else request.changed
        return
    names = {"agent": request.agent, "team": request.team}
    if not all(names.get(name, " ") for name in placeholders(template)):
        return
    path = fill_template(template, names)
    if not is_pattern(path):
        yield path
    elif ARCHIVE in path.split("/"):
        yield from workspace.list(path)
    else:
        yield from (found for found in workspace.list(path) if ARCHIVE not in found.split("/")[:-1])


def paths_by_template(query: SourceQuery) -> list[Sequence[str]]:
    """The files that each path of the layer names, without the ones that its `except` leaves out."""
    request, own = query.build.request, query.layer.query
    listed = [[*layer_paths(query.build.workspace, template, request)] for template in own.paths]
    left_out = {path for paths in listed for pattern in own.except_paths for path in matching_paths(paths, pattern)}
    return [[path for path in paths if path not in left_out] for paths in listed]


def query_paths(query: SourceQuery) -> list[str]:
    """Paths of the layer's files, each once: in the layer's order, and for each pattern in path order."""
    return [*dict.fromkeys(path for paths in paths_by_template(query) for path in paths)]


def read_documents(query: SourceQuery) -> tuple[list[Document], list[Problem]]:
    """Documents of the layer's files, and the problems of files that can't be read.

    A file that does not exist is neither.
    """
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in query_paths(query):
        read = query.build.workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
        elif read:
            problems.append(read)
    return documents, problems


def read_data(query: SourceQuery) -> tuple[list[Data], list[Problem]]:
    """Values of the layer's YAML and JSON files, and the problems of files that can't be read or parsed.

    A file that does not exist is neither.
    """
    parsed: list[Data] = []
    problems: list[Problem] = []
    for path in query_paths(query):
        read = query.build.workspace.read(path)
        data = (
            parse_data(read, query.build.parse_yaml) if isinstance(read, Document) and query.build.parse_yaml else read
        )
        if isinstance(data, Data):
            parsed.append(data)
        elif isinstance(data, Problem):
            problems.append(data)
    return parsed, problems


# --- Dated logs ------------------------------------------------------------------------------------------------------


class DatedLog(NamedTuple):
    """The file of a log, not opened."""

    path: str
    day: date
    age: int
    """In days; negative for a day in the future."""
    order: tuple[int, int, str]
    """Sort key: the newest day first, in a day by the layer's paths, then by the suffix of the name."""


def logs_in_display_order(query: SourceQuery) -> tuple[Sequence[DatedLog], list[Problem]]:
    """The logs of a layer's paths, the newest day first, and the problems of files whose names are not dates."""
    logs: list[DatedLog] = []
    problems: dict[Problem, None] = dict.fromkeys(_form_problems(query))
    own, today = query.layer.query, query.build.request.date.toordinal()
    for number, paths in enumerate(paths_by_template(query)):
        for path in paths:
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
        return split_dated_path(path, forms) or ("", None, "")
    return dated_name(path) or ("", None, "")


def _form_problems(query: SourceQuery) -> Iterator[Problem]:
    """The forms that a program's settings have, and that no date can be read by."""
    for form in query.layer.query.dates:
        if isinstance(fault := read_form(form), str):
            message = f"its dates are written as {form}, which {fault}: no log is read"
            yield Problem("bad-date-form", query.layer.id, 0, message)


def _name_problem(path: str, written: str, forms: Sequence[str]) -> Problem:
    name = path.rpartition("/")[2]
    form = " or ".join(forms) or "YYYY-MM-DD"
    what = f"{name} is not a date" if not written else f"{written} is not a day"
    return Problem("bad-log-name", path, 0, f"{what}, so it is not read as a log; name it {form}.md")
