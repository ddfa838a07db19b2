"""Sources of whole texts: `document`, `daily`, `threads` and `additional`.

The name of a dated log has its day, so a log outside the window is never opened. Threads are stories that go on, one
file each, with a `status` in its front matter; threads that are not active are excluded.
"""

from __future__ import annotations

from contextasm.model import (
    ContextasmError,
    Document,
    Fragment,
    FragmentDisplay,
    Labels,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
)
from contextasm.retrieval.reading.files import (
    layer_display,
    logs_in_display_order,
    outside_fragments,
    paths_by_template,
    read_documents,
    read_files,
    receipt,
    whole_fragment,
)
from contextasm.text.markdown.blocks import bullet_end, trimmed, without_block_comments
from contextasm.text.names.dates import leading_iso_day
from contextasm.text.names.templates import fill_template


def documents(query: SourceQuery) -> RetrievalResult:
    """The layer's files as fragments, in the layer's order, and for each pattern in path order.

    The file that the profile keeps memories in lacks the ones that no layer of memories would show.
    Raises `ContextasmError` for a file of a required layer that can't be read.
    """
    documents: list[Document] = []
    fragments: list[Fragment] = []
    problems: list[Problem] = []
    layer, paths_of = query.layer, paths_by_template(query)
    own_file = fill_template(query.build.profile.remember, {"agent": query.build.request.agent})
    headings = layer.heading * len(paths_of) if len(layer.heading) == 1 else layer.heading
    for heading, path in ((heading, path) for heading, paths in zip(headings, paths_of, strict=True) for path in paths):
        read = query.build.workspace.read(path)
        if isinstance(read, Document):
            if path == own_file:
                read, apart = without_memories(read, query)
                fragments += (each._replace(display=each.display._replace(heading=heading)) for each in apart)
            documents.append(read)
            display = FragmentDisplay(heading, place=(len(fragments),), keep=layer.overflow.keep)
            fragments.append(whole_fragment(read, display))
            if fragments[-1].verdict.excluded and layer.limits.required:
                what = "private, so a shared context leaves it out" if read.lacks_private else "empty"
                problems.append(Problem("required-empty", path, 0, f"is {what}, but layer `{layer.id}` is required"))
        elif isinstance(read, Problem):
            if layer.limits.required:
                raise ContextasmError(path, read.message, f"correct the file, because layer {layer.id} is required")
            problems.append(read)
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def without_memories(document: Document, query: SourceQuery) -> tuple[Document, list[Fragment]]:
    """A file of memories without the ones that may not be shown, or that a program wrote, and a fragment of each.

    The others that do not hold on this day have a label. A status that no list knows hides nothing: front matter of a
    document may have a `status` of its own.
    """
    from contextasm.retrieval.pool import MEMORIES, outside_reason, read_pool, with_validity
    from contextasm.retrieval.sources.memories import memory_fragment
    from contextasm.text.cleaning.private_parts import blank_lines
    from contextasm.text.memories.parser import INACTIVE_STATUSES, is_one_memory

    pool = read_pool(query.build.workspace, MEMORIES, [document.path])
    lines, labelled = without_block_comments(document.text).split("\n"), document.text.split("\n")
    gone, apart = set[int](), list[Fragment]()
    for memory, inactive in zip(pool.all_entries, pool.exclusions, strict=True):
        reason, row = inactive or outside_reason(memory, query), memory.line - document.line
        labelled[row] = with_validity(labelled[row], memory, query.build.request.date)
        if memory.writer or (reason and (reason.code != "status" or memory.status in INACTIVE_STATUSES)):
            stop = len(lines) if is_one_memory(document) else bullet_end(lines, row)
            gone.update(range(memory.line, document.line + stop))
            location = Location(document.path, memory.line, rows=stop - row)
            shown = receipt(memory.id, location, query.layer, reason) if reason else None
            apart.append(shown or memory_fragment(memory, (), query, None))
    document = document._replace(text="\n".join(labelled))
    return blank_lines(document, frozenset(gone), "memory") if gone else document, apart


def daily_logs(query: SourceQuery) -> RetrievalResult:
    """Logs of up to `max_age_days` days, the newest day first; else of `fallback_days`.

    In a day the files of the last path come first, of these the one whose name is only the date.

    Logs outside the window are excluded fragments without text, and a file whose name is not a date is a problem.
    """
    logs, problems = logs_in_display_order(query)
    oldest = query.layer.query.max_age_days
    if not any(0 <= log.age <= oldest for log in logs):
        oldest = max(oldest, query.layer.query.fallback_days)
    shown = [(place, log) for place, log in enumerate(logs) if 0 <= log.age <= oldest]
    documents: list[Document] = []
    fragments = [*outside_fragments(query, [log for log in logs if not 0 <= log.age <= oldest], days=oldest)]
    for place, log in shown:
        display = layer_display(query.layer, {"date": log.day}, (place,))
        if display.group and log.age > query.layer.query.max_age_days:
            display = display._replace(group=f"{display.group} ({log.age} days ago)")
        for document in read_files(query.build.workspace, [log.path], problems):
            documents.append(document)
            fragments.append(whole_fragment(document, display, labels=Labels(day=log.day)))
    turns = {log.path: (log.order[0], -log.order[1]) for log in logs}
    fragments.sort(key=lambda fragment: turns.get(fragment.location.path, (0, 0)))  # counts come last
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


PATH = "--additional"


def additional(query: SourceQuery) -> RetrievalResult:
    """The request's additional text as one fragment; none for an empty text."""
    _, text = trimmed(query.build.request.additional)
    fragment = Fragment(PATH, Location(PATH, 1), text, layer_display(query.layer))
    return RetrievalResult((fragment,) if text else ())


def threads(query: SourceQuery) -> RetrievalResult:
    """Threads of the layer's files as fragments, the last updated first; threads that are not active are excluded."""
    documents, problems = read_documents(query)
    by_path = sorted(documents, key=lambda document: document.path)
    fragments = [_thread_fragment(document, query) for document in by_path]
    fragments.sort(key=lambda fragment: fragment.labels.day, reverse=True)
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _thread_fragment(document: Document, query: SourceQuery) -> Fragment:
    status = _front_text(document, "status") or "none"
    name = _front_text(document, "title") or document.path.rpartition("/")[2].removesuffix(".md")
    display = layer_display(query.layer, {"title": name, "path": document.path})
    excluded = None if status.casefold() == "active" else Reason.of("status", status=status)
    return whole_fragment(document, display, excluded, Labels(day=leading_iso_day(_front_text(document, "updated"))))


def _front_text(document: Document, key: str) -> str:
    value = document.front.get(key, "")
    return value if isinstance(value, str) else ", ".join(value)
