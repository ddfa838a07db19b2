"""Source `threads`: stories that go on, one file for each, with a `status` in its front matter.

Excludes threads that are not active. Knows nothing of their text.
"""

from __future__ import annotations

from contextasm.model import (
    Document,
    Fragment,
    FragmentDisplay,
    Labels,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.reading.files import read_documents
from contextasm.text.markdown.blocks import passage, trimmed
from contextasm.text.names.dates import leading_iso_day
from contextasm.text.names.templates import fill_template


def threads(query: SourceQuery) -> RetrievalResult:
    """Threads of the layer's files as fragments, the last updated first; those that are not active are excluded."""
    documents, problems = read_documents(query)
    fragments = sorted(
        (_thread_fragment(document, query) for document in documents), key=lambda fragment: fragment.location.path
    )
    fragments.sort(key=lambda fragment: fragment.labels.day, reverse=True)
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _thread_fragment(document: Document, query: SourceQuery) -> Fragment:
    blank, text = trimmed(document.text)
    location, text = passage(document, document.line + blank, text)
    status = _front_text(document, "status") or "none"
    name = _front_text(document, "title") or document.path.rpartition("/")[2].removesuffix(".md")
    exclusion = None if text else Reason("blank")
    return Fragment(
        document.path,
        location,
        text,
        FragmentDisplay(
            query.layer.heading[0],
            group=fill_template(query.layer.display.group_template, {"title": name, "path": document.path}),
            keep=query.layer.overflow.keep,
        ),
        labels=Labels(day=leading_iso_day(_front_text(document, "updated"))),
        verdict=Verdict(excluded=exclusion if status.casefold() == "active" else Reason.of("status", status=status)),
    )


def _front_text(document: Document, key: str) -> str:
    value = document.front.get(key, "")
    return value if isinstance(value, str) else ", ".join(value)
