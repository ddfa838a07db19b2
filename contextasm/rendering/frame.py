"""The form of a document: sections with their headings, and markers in place of omitted text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from contextasm.model import FormatSection, Marker, Omission, Section
from contextasm.text.markdown.blocks import heading
from contextasm.text.names.templates import one_line

MARKER = "... [truncated]"
"""Marker in place of omitted text (digest 1.1)."""

_UNFIT_FOR_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"


def _markdown(_layer: str, title: str, text: str) -> str:
    return f"## {title}\n{text}\n\n"


def _xml(layer: str, title: str, text: str) -> str:
    open_tag = f'<section layer="{_escape_xml(layer)}" heading="{_escape_xml(title)}">'
    return f"{open_tag}\n{_escape_xml(text)}\n</section>\n\n"


def _escape_xml(text: str) -> str:
    # A character that XML can't hold becomes the replacement character.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return re.sub(_UNFIT_FOR_XML, "\ufffd", text)


def _detailed_marker(count: Callable[[str], int]) -> Callable[[Omission], str]:
    # Path, first missing line, tokens, headings; then the number of shortened fragments.
    def marker(omission: Omission) -> str:
        parts = [_omitted_words(omission, count)] if omission.texts else []
        if omission.shortened:
            parts.append(f"{omission.shortened} {'fragment' if omission.shortened == 1 else 'fragments'} shortened")
        return f"{MARKER} {'; '.join(parts)}"

    return marker


def _omitted_words(omission: Omission, count: Callable[[str], int]) -> str:
    text = "\n".join(omission.texts)
    lines = text.split("\n") if "#" in text else ()
    titles = [title[1] for line in lines if (title := heading(line)) and title[1]]
    more = f"; {'; '.join(titles[:5])}" if titles else ""
    rest = f" and {len(titles) - 5} more" if len(titles) > 5 else ""
    path = one_line(omission.path)
    return f"{path}:{omission.line}, {count(text)} tokens left out{more}{rest}"


SECTIONS: Mapping[str, FormatSection] = {
    "markdown": _markdown,
    "xml": _xml,
    "json": _markdown,
    "messages": _markdown,
}
"""Functions that write a section, by format. In `json` and `messages` the budget is held on the text inside."""

MARKERS: Mapping[str, Callable[[Callable[[str], int]], Marker]] = {
    "plain": lambda _count: lambda _omission: MARKER,
    "detailed": _detailed_marker,
}
"""Functions that make the marker of omitted text from a token counter, by a profile's `marker`."""


def section_format(form: str, marker: str, count: Callable[[str], int]) -> tuple[FormatSection, Marker]:
    """The functions of an output format and a profile's marker that write a section, and a line for omitted text.

    `count` gives the tokens of a text.
    """
    return SECTIONS[form], MARKERS[marker](count)


def render_document(sections: Sequence[Section], form: str) -> str:
    """Document of the sections in their order, ending in one newline; empty without sections."""
    format_section = SECTIONS[form]
    text = "".join(format_section(section.layer, section.heading, section.text) for section in sections)
    return text.rstrip("\n") + "\n" if text else ""
