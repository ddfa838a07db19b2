"""Source `threads`: the stories that go on, a file each, told apart by `status` in their front matter."""

from __future__ import annotations

from datetime import date

from contextasm.model import (
    Document,
    Fragment,
    FragmentDisplay,
    Labels,
    Location,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.reading import read_documents
from contextasm.text.markdown import trimmed
from contextasm.text.templates import fill_template


def threads(query: SourceQuery) -> RetrievalResult:
    """The threads of the layer's files, the one that was last updated first; only active ones are in question."""
    documents, problems = read_documents(query)
    fragments = sorted((_fragment(document, query) for document in documents), key=lambda each: each.location.path)
    fragments.sort(key=lambda each: each.labels.day, reverse=True)
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _fragment(document: Document, query: SourceQuery) -> Fragment:
    """All of a thread, the blank lines at its ends left off."""
    blank, text = trimmed(document.text)
    status = _front(document, "status") or "none"
    name = _front(document, "title") or document.path.rpartition("/")[2].removesuffix(".md")
    out = None if text else Reason("blank")
    return Fragment(
        document.path,
        Location(document.path, document.line + blank),
        text,
        FragmentDisplay(
            query.layer.heading[0],
            group=fill_template(query.layer.display.group_template, {"title": name, "path": document.path}),
            keep=query.layer.overflow.keep,
        ),
        labels=Labels(day=_day(_front(document, "updated"))),
        verdict=Verdict(excluded=out if status.casefold() == "active" else Reason.of("status", status=status)),
    )


def _front(document: Document, key: str) -> str:
    """A word of the front matter; empty where it is not there."""
    value = document.front.get(key, "")
    return value if isinstance(value, str) else ", ".join(value)


def _day(written: str) -> str:
    """A date as YYYY-MM-DD; empty for anything else."""
    try:
        return date.fromisoformat(written[:10]).isoformat()
    except ValueError:
        return ""
