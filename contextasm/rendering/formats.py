"""Output formats: sections with their headings, markers in place of omitted text, and a context as a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from contextasm.model import Context, Omission, Section, SectionFormat
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


MARKERS: Mapping[str, Callable[[Callable[[str], int]], Callable[[Omission], str]]] = {
    "plain": lambda _count: lambda _omission: MARKER,
    "detailed": _detailed_marker,
}
"""Functions that make the marker of omitted text from a token counter, by a profile's `marker`."""


def section_format(form: str, marker: str, count: Callable[[str], int]) -> SectionFormat:
    """Section format of an output format and a profile's marker; `count` gives the tokens of a text."""
    write_section, _ = FORMATS[form]
    return SectionFormat(write_section, MARKERS[marker](count))


def render_document(sections: Sequence[Section], form: str) -> str:
    """Document of the sections in their order, ending in one newline; empty without sections."""
    write_section, _ = FORMATS[form]
    text = "".join(write_section(section.layer, section.heading, section.text) for section in sections)
    return text.rstrip("\n") + "\n" if text else ""


def _json(context: Context) -> str:
    import json

    from contextasm.rendering.documents import context_data

    return json.dumps(context_data(context), ensure_ascii=False, indent=2) + "\n"


def _messages(context: Context) -> str:
    """The `system` blocks of Anthropic's Messages API: first the stable sections, to be cached, then the others.

    The texts of the blocks, joined, are the document that the budget was held against.
    """
    import json

    stable = [*takewhile(lambda section: section.stable, context.sections)]
    head = render_document(stable, context.request.format)
    tail = context.text[len(head) :]
    blocks: list[dict[str, object]] = []
    if head:
        blocks.append({"type": "text", "text": head, "cache_control": {"type": "ephemeral"}})
    if tail:
        blocks.append({"type": "text", "text": tail})
    return json.dumps(blocks, ensure_ascii=False, indent=2) + "\n"


FORMATS: Mapping[str, tuple[Callable[[str, str, str], str], Callable[[Context], str]]] = {
    "markdown": (_markdown, lambda context: context.text),
    "xml": (_xml, lambda context: context.text),
    "json": (_markdown, _json),
    "messages": (_markdown, _messages),
}
"""Functions that write a section and a context, by format. In `json` and `messages` the budget is held on the text."""


def format_context(context: Context) -> str:
    """The context in the format that it was built for."""
    _, write = FORMATS[context.request.format]
    return write(context)
