"""Reading: the files that a layer's paths name, each once, and their problems; whole files as fragments.

Parses YAML and JSON to plain values; the rows in them are the sources' business. Of dated logs, only names are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from contextasm.model import (
    Data,
    Document,
    Fact,
    Fragment,
    FragmentDisplay,
    Labels,
    Layer,
    Location,
    NamedTuple,
    Problem,
    Reason,
    Request,
    SourceQuery,
    Verdict,
    Workspace,
)
from contextasm.text.cleaning.clean import parse_data
from contextasm.text.markdown.blocks import passage, trimmed
from contextasm.text.names.dates import dated_name, read_form
from contextasm.text.names.glob import matching_paths
from contextasm.text.names.templates import ARCHIVE, fill_template, is_pattern, placeholders


def layer_paths(workspace: Workspace, template: str, request: Request) -> Iterator[str]:
    """The files that a layer's path names; none if the path needs a name that the request does not give.

    `{open}` and `{changed}` mean the open and the changed files of the request. A path without a wildcard comes
    back unchanged, whether such a file exists or not. What left other files is found by patterns that name `archive`.
    """
    if template in {"{open}", "{changed}"}:
        yield from request.open if template == "{open}" else request.changed
        return
    path = _filled(template, request)
    if path is None:
        return
    if not is_pattern(path):
        yield path
    elif ARCHIVE in path.split("/"):
        yield from workspace.list(path)
    else:
        yield from (found for found in workspace.list(path) if f"/{ARCHIVE}/" not in f"/{found}")


def _filled(template: str, request: Request) -> str | None:
    """A layer's path with agent and team filled in; None if it needs a name that the request does not give."""
    names = {"agent": request.agent, "team": request.team}
    is_given = all(names.get(name, " ") for name in placeholders(template))
    return fill_template(template, names) if is_given else None


def paths_by_template(query: SourceQuery) -> list[Sequence[str]]:
    """The files that each path of the layer names, without the ones that its `except` leaves out."""
    request, own = query.build.request, query.layer.query
    listed = [[*layer_paths(query.build.workspace, template, request)] for template in own.paths]
    left_out = {path for paths in listed for pattern in own.except_paths for path in matching_paths(paths, pattern)}
    return [[path for path in paths if path not in left_out] for paths in listed]


def query_paths(query: SourceQuery) -> list[str]:
    """Paths of the layer's files, each once: in the layer's order, and for each pattern in path order."""
    return [*dict.fromkeys(path for paths in paths_by_template(query) for path in paths)]


def read_files(workspace: Workspace, paths: Iterable[str], problems: list[Problem]) -> list[Document]:
    """The documents of files; the problem of one that can't be read is added to `problems`.

    A file that does not exist is neither.
    """
    documents: list[Document] = []
    for path in paths:
        read = workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
        elif read:
            problems.append(read)
    return documents


def read_documents(query: SourceQuery) -> tuple[list[Document], list[Problem]]:
    """Documents of the layer's files, and the problems of files that can't be read (`read_files`)."""
    problems: list[Problem] = []
    return read_files(query.build.workspace, query_paths(query), problems), problems


def read_data(query: SourceQuery) -> tuple[list[Data], list[Problem]]:
    """Values of the layer's YAML and JSON files, and the problems of files that can't be read or parsed."""
    values: list[Data] = []
    problems: list[Problem] = []
    for path in query_paths(query):
        for document in read_files(query.build.workspace, [path], problems):
            data = parse_data(document, query.build.parse_yaml) if query.build.parse_yaml else None
            if isinstance(data, Data):
                values.append(data)
            elif data:
                problems.append(data)
    return values, problems


NO_LABELS = Labels()


def layer_display(layer: Layer, names: Mapping[str, str] | None = None, place: tuple[int, ...] = ()) -> FragmentDisplay:
    """The display of a fragment under the layer's first heading; `names` fill the line of its group, if it has one."""
    group = fill_template(layer.display.group_template, names) if names else ""
    return FragmentDisplay(layer.heading[0], group=group, place=place, keep=layer.overflow.keep)


def whole_fragment(
    document: Document, display: FragmentDisplay, excluded: Reason | None = None, labels: Labels = NO_LABELS
) -> Fragment:
    """The text of a document without blank ends; excluded for a reason, or if it is blank."""
    blank, text = trimmed(document.text)
    location, text = passage(document, document.line + blank, text)
    verdict = Verdict(excluded=excluded or (None if text else Reason("blank")))
    return Fragment(document.path, location, text, display, labels=labels, verdict=verdict)


def receipt(name: str, location: Location, layer: Layer, reason: Reason, labels: Labels = NO_LABELS) -> Fragment:
    """An excluded fragment without text."""
    verdict = Verdict(excluded=reason)
    return Fragment(name, location, "", FragmentDisplay(layer.heading[0]), labels=labels, verdict=verdict)


def counts_rest(query: SourceQuery) -> bool:
    """Whether few entries are counted by reason, too, if they are not shown; else each has a decision of its own.

    JSON lists every decision, and a rule or an open file may mean any entry.
    """
    build = query.build
    means_any = build.request.open or (build.rules and build.rules.effects)
    return not (build.memory_index is None or build.request.format == "json" or means_any)


def pool_patterns(query: SourceQuery) -> list[str]:
    """The layer's paths with agent and team filled in, without the paths whose name is not given."""
    filled = (_filled(path, query.build.request) for path in query.layer.query.paths)
    return [path for path in filled if path is not None]


def count_fragment(query: SourceQuery, reason: Reason) -> Fragment:
    """The excluded fragment that represents entries that are not shown; the reason has their `count`.

    Its path is the folders and files of the layer, or a pattern that has no folder.
    """
    patterns = pool_patterns(query)
    places = {re.split(r"[^/]*[*?\[]", pattern, maxsplit=1)[0] or pattern: None for pattern in patterns}
    path = " ".join(own for own in places if not any(own.startswith(other) for other in places if other != own))
    named = "".join(f" {value}" for name, value in reason.facts if name == "status")
    return receipt(f"{path} {reason.code}{named}", Location(path, 0), query.layer, reason)


# --- Dated logs ------------------------------------------------------------------------------------------------------


class DatedLog(NamedTuple):
    """The file of a log, not opened."""

    path: str
    day: str
    """YYYY-MM-DD; empty for a file of no day."""
    age: int
    """In days; negative for a day in the future, and larger than any other for no day."""
    order: tuple[int, int, str]
    """Sort key: the newest day first and no day last, in a day by the layer's paths, then by the suffix of the name."""


def logs_in_display_order(
    query: SourceQuery, *, with_undated: bool = False
) -> tuple[Sequence[DatedLog], list[Problem]]:
    """The logs of a layer's paths, the newest day first, and the problems of files whose names are not dates.

    With `with_undated`, a file without a date in its name is of no day, unless the layer has forms of dates.
    """
    logs: list[DatedLog] = []
    problems: dict[Problem, None] = dict.fromkeys(_form_problems(query))
    own, today = query.layer.query, query.build.request.date.toordinal()
    for number, paths in enumerate(paths_by_template(query)):
        for path in paths:
            written, day, rest = dated_name(path, own.dates)
            if day or (with_undated and not (written or own.dates)):
                ordinal = day.toordinal() if day else 0
                logs.append(DatedLog(path, str(day or ""), today - ordinal, (-ordinal, number, rest)))
            elif isinstance(read := query.build.workspace.read(path), Problem):
                problems[read] = None
            elif not problems or not own.dates:
                problems[_name_problem(path, written, own.dates)] = None
    return sorted(logs, key=lambda log: (log.order, log.path)), [*problems]


def outside_fragments(query: SourceQuery, logs: Sequence[DatedLog], **facts: Fact) -> list[Fragment]:
    """Logs that are not opened, too old or of a later day: an excluded fragment each, or a count for each reason."""
    codes = ["future" if log.age < 0 else "outside-window" for log in logs]
    if counts_rest(query):
        numbers = sorted(Counter(codes).items())
        return [count_fragment(query, Reason.of(code, count=count, what="logs", **facts)) for code, count in numbers]
    reasons = [Reason.of(code, age=log.age, **facts) for code, log in zip(codes, logs, strict=True)]
    return [
        receipt(log.path, Location(log.path, 0), query.layer, reason, Labels(day=log.day))
        for log, reason in zip(logs, reasons, strict=True)
    ]


def _form_problems(query: SourceQuery) -> Iterator[Problem]:
    """The forms that a program's settings have, and that no date can be read by."""
    for form in query.layer.query.dates:
        if isinstance(fault := read_form(form), str):
            message = f"no log is read, because the date form `{form}` {fault}"
            yield Problem("bad-date-form", query.layer.id, 0, message)


def _name_problem(path: str, written: str, forms: Sequence[str]) -> Problem:
    name = path.rpartition("/")[2]
    form = " or ".join(forms) or "YYYY-MM-DD"
    what = f"{name} is not a date" if not written else f"{written} is not a day of the calendar"
    return Problem("bad-log-name", path, 0, f"{what}, so it is not read as a log; rename it to {form}.md")
