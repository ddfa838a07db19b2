"""Source `additional`: the additional text of the request."""

from __future__ import annotations

from contextasm.model import Fragment, FragmentDisplay, Location, RetrievalResult, SourceQuery
from contextasm.text.markdown.blocks import trimmed

PATH = "--additional"


def additional(query: SourceQuery) -> RetrievalResult:
    """The request's additional text as one fragment; none for an empty text."""
    _, text = trimmed(query.build.request.additional)
    heading = query.layer.heading[0]
    return RetrievalResult(
        (Fragment(PATH, Location(PATH, 1), text, FragmentDisplay(heading, keep=query.layer.overflow.keep)),)
        if text
        else ()
    )
