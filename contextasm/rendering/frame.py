"""The frame of a document: how sections, their headings and the markers of omitted text are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from contextasm.model import Omission, Section, SectionFormat
from contextasm.text.markdown import heading

MARKER = "... [truncated]"
"""Ends a cut section (digest 1.1)."""


_UNFIT_FOR_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"


def _markdown(_layer: str, title: str, text: str) -> str:
    return f"## {title}\n{text}\n\n"


def _xml(layer: str, title: str, text: str) -> str:
    open_tag = f'<section layer="{_escaped(layer)}" heading="{_escaped(title)}">'
    return f"{open_tag}\n{_escaped(text)}\n</section>\n\n"


def _escaped(text: str) -> str:
    """Text that can't close its element; what XML has no form for becomes the replacement character."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return re.sub(_UNFIT_FOR_XML, "\ufffd", text)


def _detailed(count: Callable[[str], int]) -> Callable[[Omission], str]:
    """The marker that says what is missing: path, first missing line, tokens, headings. `count` gives tokens."""

    def marker(gap: Omission) -> str:
        text = "\n".join(gap.texts)
        titles = [found[1] for line in text.split("\n") if (found := heading(line)) and found[1]]
        more = f"; {'; '.join(titles[:5])}" if titles else ""
        rest = f" and {len(titles) - 5} more" if len(titles) > 5 else ""
        path = gap.path.encode(errors="backslashreplace").decode()
        return f"{MARKER} {path}:{gap.line}, {count(text)} tokens left out{more}{rest}"

    return marker


SECTIONS: Mapping[str, Callable[[str, str, str], str]] = {
    "markdown": _markdown,
    "xml": _xml,
    "json": _markdown,
    "messages": _markdown,
}
"""A section as emitted, by format. In `json` and `messages` the budget is held on the text inside."""


MARKERS: Mapping[str, Callable[[Callable[[str], int]], Callable[[Omission], str]]] = {
    "plain": lambda _count: lambda _gap: MARKER,
    "detailed": _detailed,
}
"""The line in place of missing text, by a profile's `marker`; made with a function from text to tokens."""


def section_format(form: str, marker: str, count: Callable[[str], int]) -> SectionFormat:
    """What surrounds and what replaces text, for a format and a profile's marker."""
    return SectionFormat(SECTIONS[form], MARKERS[marker](count))


def render_document(sections: Sequence[Section], form: str) -> str:
    """The sections one after the other, ending in one newline; empty where there are none."""
    framed = SECTIONS[form]
    text = "".join(framed(section.layer, section.heading, section.text) for section in sections)
    return text.rstrip("\n") + "\n" if text else ""
