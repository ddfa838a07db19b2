"""The text under one section's heading, put together from what is kept of each fragment.

A marker stands wherever text is missing, and it ends a section that lacks anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from contextasm.model import Fragment, Marker, Omission, Span
from contextasm.selection.detail import DetailForm


class LineRange(NamedTuple):
    """Lines of a fragment that are shown in one piece."""

    first: int
    stop: int
    """Half open: `lines[first:stop]`, counted from 0 in the fragment."""
    words: str = ""
    """The beginning of line `stop`, where the cut fell inside it."""
    fence: str = ""
    """The line that closes a fence cut open."""


class Excerpt(NamedTuple):
    """What is shown of one fragment."""

    fragment: Fragment
    stretches: tuple[LineRange, ...]
    """Ascending, with something missing between each two."""
    form: str = ""
    """A level of detail, or `summary`; empty where the lines are shown as they stand."""
    text: str = ""
    """What is shown in place of the lines, where there is a form."""

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return not self.form and self.stretches == (LineRange(0, self.fragment.text.count("\n") + 1),)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The shown lines, as lines of the file."""
        base = self.fragment.location.line
        if self.fragment.location.rows:
            return (source_span(self.fragment),)
        return tuple((base + each.first, base + each.stop - 1 + bool(each.words)) for each in self.stretches)


def whole_excerpt(fragment: Fragment) -> Excerpt:
    """All of a fragment."""
    return Excerpt(fragment, (LineRange(0, fragment.text.count("\n") + 1),))


def excerpt_at_level(fragment: Fragment, form: DetailForm) -> Excerpt:
    """A fragment at a level of detail; whole where that leaves nothing out."""
    if form.text == fragment.text:
        return whole_excerpt(fragment)
    runs: list[LineRange] = []
    for line in form.lines:
        if runs and runs[-1].stop == line:
            runs[-1] = runs[-1]._replace(stop=line + 1)
        else:
            runs.append(LineRange(line, line + 1))
    return Excerpt(fragment, tuple(runs), form.level, form.text)


def summary_excerpt(fragment: Fragment, text: str) -> Excerpt:
    """A fragment in other words: they stand for all of its lines."""
    return whole_excerpt(fragment)._replace(form="summary", text=text)


def source_span(fragment: Fragment) -> Span:
    """The lines of the file that a fragment stands for."""
    return fragment.location.line, fragment.location.line + (
        fragment.location.rows - 1 if fragment.location.rows else fragment.text.count("\n")
    )


def shown_text(kept: Excerpt) -> str:
    """The text that is shown of a fragment, without the markers."""
    return "".join(piece for piece in _pieces(kept) if isinstance(piece, str))


def section_body(kept: Sequence[Excerpt], missing: Sequence[Fragment], join: str, marker: Marker) -> str:
    """The text under a section's heading; empty where nothing is kept.

    `join` stands between two fragments of one group. `kept` may come in any order: each fragment has its place.
    `missing` are the section's fragments of which nothing is shown, in the order in which they would have been kept.
    """
    parts: list[str | Omission] = []
    group = ""
    for each in sorted(kept, key=lambda each: each.fragment.display.place):
        new = not parts or each.fragment.display.group != group
        group = each.fragment.display.group
        if parts:
            parts.append("\n\n" if new else join)
        if new and group:
            parts.append(group + "\n")
        parts += _fenced(each)
    if parts:
        _end(parts, missing)
    return "".join(marker(part) if isinstance(part, Omission) else part for part in parts)


def _fenced(kept: Excerpt) -> list[str | Omission]:
    """The shown text of a fragment, inside the fence that it is shown in; what is missing at its end stands below."""
    pieces = _pieces(kept)
    fence = kept.fragment.display.fence
    if not fence:
        return pieces
    below = pieces[-2:] if len(pieces) > 1 and isinstance(pieces[-1], Omission) else []
    inside = pieces[: len(pieces) - len(below)]
    return [f"{fence}\n", *inside, f"\n{fence[: len(fence) - len(fence.lstrip('`'))]}", *below]


def _pieces(kept: Excerpt) -> list[str | Omission]:
    """The shown text of a fragment, with each gap where it is."""
    fragment = kept.fragment
    if kept.whole or kept.form:
        return [kept.text if kept.form else fragment.text]
    lines = fragment.text.split("\n")
    pieces: list[str | Omission] = []
    at = 0
    for stretch in (*kept.stretches, LineRange(len(lines), len(lines))):
        if stretch.first > at:
            pieces += ["\n"] * bool(pieces)
            pieces.append(
                Omission(fragment.location.path, fragment.location.line + at, tuple(lines[at : stretch.first]))
            )
        if stretch.first < stretch.stop or stretch.words:
            pieces += ["\n"] * bool(pieces)
            text = "\n".join([*lines[stretch.first : stretch.stop], *filter(None, (stretch.words, stretch.fence))])
            pieces.append(text if stretch.stop == len(lines) else text.rstrip("\n"))
        at = stretch.stop
    return pieces


def _end(parts: list[str | Omission], missing: Sequence[Fragment]) -> None:
    """Have the parts end in a gap if anything is missing anywhere."""
    gaps = [part for part in parts if isinstance(part, Omission)]
    lost = tuple(fragment.text for fragment in missing)
    if isinstance(parts[-1], Omission):
        parts[-1] = parts[-1]._replace(texts=parts[-1].texts + lost)
    elif missing:
        parts += ["\n", Omission(missing[0].location.path, missing[0].location.line, lost)]
    elif gaps:
        parts += ["\n", gaps[0]]
