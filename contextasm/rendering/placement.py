"""Placement: fragments in the form in which they can stand in their section, whatever is written in them.

Their headings go below the section's, comments go where the layer strips them, and a group's line is one line.
"""

from __future__ import annotations

from contextasm.model import Fragment, Layer, Nesting, Reason
from contextasm.text.cleaning.secrets.scanner import mask_secrets
from contextasm.text.markdown.blocks import heading, is_structural, without_comments, without_lines
from contextasm.text.markdown.outline import nest
from contextasm.text.names.templates import one_line

SECTION_LEVEL = 2
"""Level of a section's heading."""


def place(fragment: Fragment, layer: Layer, *, masked: bool = True) -> Fragment:
    """The fragment as its layer shows it; one that holds nothing but comments is excluded.

    With `masked`, a secret that a comment was in the middle of is masked when the comment is gone.
    """
    if fragment.verdict.excluded:
        return fragment
    display = fragment.display
    if display.group:
        display = display._replace(group=_group_line(display.group, layer.display.group_template))
    if not display.fence:
        if layer.display.comments == "strip":
            fragment = _without_comments(fragment, masked=masked)
        if layer.display.headings == "nest":
            nesting = _nesting(display.group, layer)
            display = display._replace(nesting=nesting)
            nested = nest(fragment.text, *nesting)
            if nested.text != fragment.text:
                fragment = _with_text(fragment, nested.text, frozenset(nested.removed))
    return fragment if display == fragment.display else fragment._replace(display=display)


def _nesting(group: str, layer: Layer) -> Nesting:
    title = heading(group)
    return Nesting(max(SECTION_LEVEL, title[0] if title else 0), layer.limits.required)


def _group_line(group: str, template: str) -> str:
    # What a name or a title gives must not open anything that the template does not.
    group = one_line(group)
    return group if heading(template) or not is_structural(group) else "\\" + group


def _without_comments(fragment: Fragment, *, masked: bool) -> Fragment:
    if "<!--" not in fragment.text:
        return fragment
    text, gone = without_comments(fragment.text)
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
