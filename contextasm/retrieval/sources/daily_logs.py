"""Source `daily`: dated logs of the days up to today.

The file name holds the date, so a log outside the window is never opened.
"""

from contextasm.model import (
    Document,
    Fragment,
    FragmentDisplay,
    Labels,
    Layer,
    Location,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.reading.dated_logs import DatedLog, logs_in_display_order
from contextasm.text.markdown.blocks import passage, trimmed
from contextasm.text.names.templates import fill_template


def daily_logs(query: SourceQuery) -> RetrievalResult:
    """Logs of up to `max_age_days` days, the newest day first, in a day the last file first; else of `fallback_days`.

    A log outside the window is an excluded fragment without text, and a file whose name is no date is a problem.
    """
    logs, problems = logs_in_display_order(query)
    oldest = query.layer.query.max_age_days
    if not any(0 <= log.age <= oldest for log in logs):
        oldest = max(oldest, query.layer.query.fallback_days)
    documents: list[Document] = []
    fragments: list[Fragment] = []
    display = FragmentDisplay(query.layer.heading[0])
    for place, log in enumerate(logs):
        if not 0 <= log.age <= oldest:
            reason = Reason.of("future" if log.age < 0 else "outside-window", age=log.age, days=oldest)
            labels, verdict = Labels(day=str(log.day)), Verdict(excluded=reason)
            fragments.append(Fragment(log.path, Location(log.path, 0), "", display, labels=labels, verdict=verdict))
            continue
        read = query.build.workspace.read(log.path)
        if isinstance(read, Document):
            documents.append(read)
            fragments.append(_log_fragment(read, log, query.layer, place))
        elif read:
            problems.append(read)
    fragments.sort(key=lambda fragment: (fragment.labels.day, fragment.display.place), reverse=True)
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _log_fragment(document: Document, log: DatedLog, layer: Layer, place: int) -> Fragment:
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
