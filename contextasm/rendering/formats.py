"""Output formats: sections and their headings, markers for omitted text, fragments in sections, a context as a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile

from contextasm.model import (
    WRITTEN,
    Context,
    Fragment,
    Layer,
    Marker,
    Omission,
    Reason,
    Section,
    SectionForm,
)
from contextasm.text.cleaning.secrets.scanner import mask_secrets
from contextasm.text.markdown.blocks import heading, is_structural, without_comments, without_lines
from contextasm.text.markdown.outline import nest
from contextasm.text.names.templates import one_line

MARKER = "... [truncated]"
"""Marker in place of omitted text (digest 1.1)."""

_UNFIT_FOR_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"


def _markdown(_layer: str, title: str) -> tuple[str, str]:
    return f"## {title}\n" if title else "", "\n\n"


def _xml(layer: str, title: str) -> tuple[str, str]:
    heading = f' heading="{_escape_xml(title)}"' if title else ""
    return f'<section layer="{_escape_xml(layer)}"{heading}>\n', "\n</section>\n\n"


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
    titles = omission.titles
    shown = f"; {'; '.join(titles[:5])}" if titles else ""
    rest = f" and {len(titles) - 5} more" if len(titles) > 5 else ""
    others = f" and {omission.more} more" if omission.more else ""
    tokens = count("\n".join(omission.texts))
    return f"{one_line(omission.path)}:{omission.line}{others}, {tokens} tokens left out{shown}{rest}"


MARKERS: Mapping[str, Callable[[Callable[[str], int]], Marker]] = {
    "plain": lambda _count: lambda _omission: MARKER,
    "detailed": _detailed_marker,
}
"""Functions that make the marker of omitted text from a token counter, by a profile's `marker`."""


def section_format(form: str, marker: str, count: Callable[[str], int]) -> tuple[SectionForm, Marker]:
    """How an output format writes a section, and how a profile's marker writes a line for omitted text.

    `count` gives the tokens of a text.
    """
    section_form, _ = FORMATS[form]
    return section_form, MARKERS[marker](count)


def render_section(section: Section, form: str) -> str:
    """The section as an output format writes it, with a blank line at its end."""
    return "".join(_section_pieces(section, form))


def render_document(sections: Sequence[Section], form: str, head: str = "") -> str:
    """Document of the sections in their order, ending in one newline; empty without sections.

    `head` are the lines above them in Markdown (`Profile.head`).
    """
    pieces = [head] if sections and FORMATS[form][0][0] is _markdown else []
    pieces += [piece for section in sections for piece in _section_pieces(section, form)]
    while pieces and not pieces[-1].strip("\n"):
        pieces.pop()
    # All is joined once, since each copy of a large document takes its size in memory.
    return "".join((*pieces[:-1], pieces[-1].rstrip("\n"), "\n")) if pieces else ""


def _section_pieces(section: Section, form: str) -> Sequence[str]:
    (frame, escape), _ = FORMATS[form]
    before, after = frame(section.layer, section.heading)
    return before, escape(section.text), after


def _json(context: Context) -> str:
    from contextasm.rendering.documents import context_data

    return _json_text(context_data(context))


def _messages(context: Context) -> str:
    """The `system` blocks of Anthropic's Messages API: first the stable sections, to be cached, then the others.

    The texts of the blocks, joined, are the document that the budget was held against.
    """
    return _json_text(_blocks(context, context.sections))


def _blocks(context: Context, sections: Sequence[Section]) -> list[Mapping[str, object]]:
    """These sections of a context as blocks; neither is there without text."""
    form = context.request.format
    head = context.text[: len(context.text) - len(render_document(context.sections, form))]
    text = render_document(sections, form, head)
    end = len(render_document([*takewhile(lambda section: section.stable, sections)], form, head))
    stable = {"type": "text", "text": text[:end], "cache_control": {"type": "ephemeral"}}
    return [block for block in (stable, {"type": "text", "text": text[end:]}) if block["text"]]


def _json_text(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _chat(api: str, context: Context) -> str:
    from contextasm.rendering.chat import REQUESTS

    return _json_text(REQUESTS[api](context, _blocks(context, _system_sections(context))))


def _system_sections(context: Context) -> list[Section]:
    """The sections that are no messages; of ones that are, the marker below the last message, if some are left out."""
    in_order = sorted(context.decisions, key=lambda decision: decision.lines)
    last_of = {(each.layer, each.message.heading): each.message.text for each in in_order if each.message}
    sections = []
    for section in context.sections:
        last = last_of.get((section.layer, section.heading))
        marker = section.text.rpartition("\n")[2]
        if last is None:
            sections.append(section)
        elif section.truncated and marker.startswith(MARKER) and not last.rpartition("\n")[2].startswith(MARKER):
            sections.append(section._replace(text=marker))
    return sections


FORMATS: Mapping[str, tuple[SectionForm, Callable[[Context], str]]] = {
    "markdown": ((_markdown, str), lambda context: context.text),
    "xml": ((_xml, _escape_xml), lambda context: context.text),
    "json": ((_markdown, str), _json),
    "messages": ((_markdown, str), _messages),
    "chat-openai": ((_markdown, str), partial(_chat, "chat-openai")),
    "chat-anthropic": ((_markdown, str), partial(_chat, "chat-anthropic")),
}
"""Functions that write a section and a context, by format. The budget is held on the text, also if JSON is written."""


def format_context(context: Context) -> str:
    """The context in the format that it was built for."""
    _, write = FORMATS[context.request.format]
    return write(context)


# --- Placement -------------------------------------------------------------------------------------------------------


SECTION_LEVEL = 2
"""Level of a section's heading."""


def place(fragment: Fragment, layer: Layer, *, masked: bool = True) -> Fragment:
    """The fragment as its layer shows it; one that holds nothing but comments is excluded.

    With `masked`, a secret that a comment was in the middle of is masked when the comment is gone.
    """
    if fragment.verdict.excluded or fragment.message:  # a message is not in the document, but as it was written
        return fragment
    display = fragment.display
    if display.group:
        display = display._replace(group=_group_line(display.group, layer.display.group_template))
    if layer.display.comments == "strip" and (not display.fence or display.is_written):
        fragment = _without_comments(fragment, masked=masked)
    if display.is_written:
        # No run of ticks in the text is as long, so nothing in it closes the fence.
        longest = max(map(len, re.findall("`+", fragment.text)), default=0)
        display = display._replace(fence="`" * max(3, longest + 1) + WRITTEN)
    if layer.display.headings == "nest" and not display.fence:
        title = heading(display.group)
        nesting = max(SECTION_LEVEL, title[0] if title else 0), layer.limits.required
        display = display._replace(nesting=nesting)
        text, removed = nest(fragment.text, *nesting)
        if text != fragment.text:
            fragment = _with_text(fragment, text, frozenset(removed))
    return fragment if display == fragment.display else fragment._replace(display=display)


def _group_line(group: str, template: str) -> str:
    # What a name or a title gives must not open anything that the template does not.
    group = one_line(group)
    return group if heading(template) or not is_structural(group) else "\\" + group


def _without_comments(fragment: Fragment, *, masked: bool) -> Fragment:
    if "<" not in fragment.text and "]:" not in fragment.text:
        return fragment
    from contextasm.text.markdown.hidden_markup import hidden_markup

    found = hidden_markup(fragment.text)
    if not found:
        return fragment
    text, gone = without_comments(fragment.text, found)
    text = mask_secrets(text).text if masked else text
    if not text.strip():
        return fragment.exclude(Reason("blank"))
    lines = text.split("\n")
    shown = [number for number, line in enumerate(lines) if number not in gone and line.strip()]
    ends = {*range(shown[0]), *range(shown[-1] + 1, len(lines))}
    kept = "\n".join(line for number, line in enumerate(lines) if number not in gone | ends)
    return _with_text(fragment, kept, gone | ends)


def _with_text(fragment: Fragment, text: str, gone: frozenset[int]) -> Fragment:
    """The fragment with another text, which lacks some lines of the old one."""
    location = fragment.location
    if gone and not location.rows:
        location = without_lines(location, fragment.text.count("\n") + 1, gone)
    return fragment._replace(text=text, location=location)
