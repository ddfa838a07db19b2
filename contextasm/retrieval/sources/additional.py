"""Source `additional`: the text that the request brings along."""

from __future__ import annotations

from contextasm.model import Fragment, FragmentDisplay, Location, RetrievalResult, SourceQuery
from contextasm.text.markdown import trimmed

PATH = "--additional"


def additional(query: SourceQuery) -> RetrievalResult:
    """The request's additional text; nothing where there is none."""
    _, text = trimmed(query.build.request.additional)
    heading = query.layer.heading[0]
    return RetrievalResult(
        (Fragment(PATH, Location(PATH, 1), text, FragmentDisplay(heading, keep=query.layer.overflow.keep)),)
        if text
        else ()
    )
