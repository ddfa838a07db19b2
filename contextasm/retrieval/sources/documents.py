"""Source `document`: whole files, each under a heading of its own or all under one."""

from __future__ import annotations

from collections.abc import Iterator

from contextasm.model import (
    ContextasmError,
    Document,
    Fragment,
    FragmentDisplay,
    Layer,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.reading.files import template_paths
from contextasm.text.markdown.blocks import passage, trimmed


def documents(query: SourceQuery) -> RetrievalResult:
    """The layer's files as fragments, in the layer's order, and for each pattern in path order.

    Raises `ContextasmError` for a file of a required layer that can't be read.
    """
    documents: list[Document] = []
    fragments: list[Fragment] = []
    problems: list[Problem] = []
    for heading, path in _headings_and_paths(query):
        read = query.build.workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
            fragments.append(_document_fragment(read, heading, query.layer, (len(fragments),)))
            if fragments[-1].verdict.excluded and query.layer.limits.required:
                what = "private, so a shared context lacks it" if read.lacks_private else "empty"
                problems.append(
                    Problem("required-empty", path, 0, f"is {what}, and {query.layer.id} is a required layer")
                )
        elif isinstance(read, Problem):
            if query.layer.limits.required:
                raise ContextasmError(
                    path, read.message, f"{query.layer.id} is never left out, so this has to be put right"
                )
            problems.append(read)
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def first_document(query: SourceQuery) -> RetrievalResult:
    """The first of the layer's files that exists, as `documents` has it; of the others, an excluded fragment each.

    Names of one file, as where a disk takes capitals for small letters, are one file.
    """
    result = documents(query)
    texts = {document.path: document.digest for document in result.documents}
    if len(result.fragments) < 2:
        return result
    first, *others = result.fragments
    second = Reason.of("second-choice", by=first.location.path)
    is_same = texts[first.location.path].__eq__
    rest = (other.exclude(second)._replace(text="") for other in others if not is_same(texts[other.location.path]))
    return result._replace(fragments=(first, *rest))


def _headings_and_paths(query: SourceQuery) -> Iterator[tuple[str, str]]:
    headings = (
        query.layer.heading * len(query.layer.query.paths) if len(query.layer.heading) == 1 else query.layer.heading
    )
    for heading, template in zip(headings, query.layer.query.paths, strict=True):
        for path in template_paths(query, template):
            yield heading, path


def _document_fragment(document: Document, heading: str, layer: Layer, place: tuple[int, ...]) -> Fragment:
    blank, text = trimmed(document.text)
    location, text = passage(document, document.line + blank, text)
    return Fragment(
        document.path,
        location,
        text,
        FragmentDisplay(heading, place=place, keep=layer.overflow.keep),
        verdict=Verdict(excluded=None if text else Reason("blank")),
    )
