"""Layout: the text under one section's heading, put together from the excerpts of its fragments.

A marker stands wherever text is omitted, and it ends a section that lacks anything or shows a fragment in a shorter
form.
"""

from collections.abc import Sequence
from typing import NamedTuple

from contextasm.model import Fragment, Location, Marker, Omission, Span
from contextasm.selection.detail import DetailForm
from contextasm.text.markdown.blocks import is_underline
from contextasm.text.markdown.literals import open_literal


class LineRange(NamedTuple):
    """Lines of a fragment that are shown in one piece."""

    first: int
    stop: int
    """Half open: `lines[first:stop]`, counted from 0 in the fragment."""
    words: str = ""
    """The beginning of line `stop`, where the cut falls inside it."""
    fence: str = ""
    """The line that closes a fence cut open."""


class Excerpt(NamedTuple):
    """The part of one fragment that is shown."""

    fragment: Fragment
    ranges: tuple[LineRange, ...]
    """Ascending, with something omitted between each two."""
    form: str = ""
    """A level of detail, or `summary`; empty where the lines are shown as they stand."""
    text: str = ""
    """The text shown in place of the lines, where there is a form."""

    @property
    def whole(self) -> bool:
        """Whether nothing is omitted."""
        return not self.form and self.ranges == _all_lines(self.fragment)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The shown lines, as lines of the file."""
        location = self.fragment.location
        if location.rows:
            return (source_span(self.fragment),)
        return tuple(
            span
            for part in self.ranges
            for span in _spans_outside_gaps(location, part.first, part.stop - 1 + bool(part.words))
        )


def _spans_outside_gaps(location: Location, first: int, last: int) -> tuple[Span, ...]:
    """The lines of the file that are lines `first` to `last` of a fragment's text, counted from 0."""
    start, stop = location.file_line(first), location.file_line(last)
    spans = []
    for gap_first, gap_last in location.gaps:
        if start < gap_first <= stop:
            spans.append((start, gap_first - 1))
            start = gap_last + 1
    return (*spans, (start, stop))


def _all_lines(fragment: Fragment) -> tuple[LineRange]:
    return (LineRange(0, fragment.text.count("\n") + 1),)


def whole_excerpt(fragment: Fragment) -> Excerpt:
    """All of a fragment."""
    return Excerpt(fragment, _all_lines(fragment))


def excerpt_at_level(fragment: Fragment, form: DetailForm) -> Excerpt:
    """A fragment at a level of detail; whole where that leaves nothing out."""
    if form.text == fragment.text:
        return whole_excerpt(fragment)
    ranges: list[LineRange] = []
    for line in form.lines:
        if ranges and ranges[-1].stop == line:
            ranges[-1] = ranges[-1]._replace(stop=line + 1)
        else:
            ranges.append(LineRange(line, line + 1))
    return Excerpt(fragment, tuple(ranges), form.level, form.text)


def summary_excerpt(fragment: Fragment, text: str) -> Excerpt:
    """A fragment in other words, which stand for all of its lines."""
    return whole_excerpt(fragment)._replace(form="summary", text=text)


def source_span(fragment: Fragment) -> Span:
    """The lines of the file that a fragment stands for."""
    first, rows = fragment.location.line, fragment.location.rows
    return first, first + rows - 1 if rows else fragment.location.file_line(fragment.text.count("\n"))


def shown_text(excerpt: Excerpt) -> str:
    """The text that is shown of a fragment, without the markers."""
    return "".join(piece for piece in _pieces(excerpt) if isinstance(piece, str))


def section_body(excerpts: Sequence[Excerpt], omitted: Sequence[Fragment], joint: str, marker: Marker) -> str:
    """The text under a section's heading; empty where there are no excerpts.

    `joint` stands between two fragments of one group. The excerpts may come in any order: each fragment has its place.
    `omitted` are the section's fragments of which nothing is shown, in keep order.
    """
    parts: list[str | Omission] = []
    group = ""
    for excerpt in sorted(excerpts, key=lambda excerpt: excerpt.fragment.display.place):
        is_new_group = not parts or excerpt.fragment.display.group != group
        group = excerpt.fragment.display.group
        pieces = _fenced(excerpt)
        if parts:
            is_apart = not is_new_group and _must_stand_apart(parts[-1], pieces[0])
            parts.append("\n\n" if is_new_group or is_apart else joint)
        if is_new_group and group:
            parts.append(group + "\n" * (1 + _must_stand_apart(group, pieces[0])))
        parts += pieces
    if parts:
        _end_with_omission(parts, omitted, sum(bool(excerpt.form) for excerpt in excerpts))
    return "".join(marker(part) if isinstance(part, Omission) else part for part in parts)


def _fenced(excerpt: Excerpt) -> list[str | Omission]:
    """The pieces of an excerpt inside the fence that it is shown in; an omission at its end stands below the fence."""
    pieces = _pieces(excerpt)
    fence = excerpt.fragment.display.fence
    if not fence:
        return pieces
    below = pieces[-2:] if len(pieces) > 1 and isinstance(pieces[-1], Omission) else []
    inside = pieces[: len(pieces) - len(below)]
    return [f"{fence}\n", *inside, f"\n{fence[: len(fence) - len(fence.lstrip('`'))]}", *below]


def _pieces(excerpt: Excerpt) -> list[str | Omission]:
    """The shown text of a fragment, with each omission where it is. Nothing that a piece opens is open behind it."""
    pieces = _bare_pieces(excerpt)
    if excerpt.fragment.display.fence:
        return pieces
    return [_closed(piece) if isinstance(piece, str) else piece for piece in pieces]


def _closed(text: str) -> str:
    part = open_literal(text)
    return f"{text}\n{part.closing}" if part and part.closing else text


def _must_stand_apart(above: str | Omission, below: str | Omission) -> bool:
    """Whether a blank line must stand between two pieces, or the first line of the second would be another thing."""
    if isinstance(below, Omission):
        return False
    is_open = isinstance(above, str) and open_literal(above) is not None
    return is_open or is_underline(below.partition("\n")[0])


def _bare_pieces(excerpt: Excerpt) -> list[str | Omission]:
    fragment = excerpt.fragment
    if excerpt.whole or excerpt.form:
        return [excerpt.text if excerpt.form else fragment.text]
    location = fragment.location
    lines = fragment.text.split("\n")
    pieces: list[str | Omission] = []
    line, last_text = 0, ""
    for part in (*excerpt.ranges, LineRange(len(lines), len(lines))):
        if part.first > line:
            pieces += ["\n"] * bool(pieces)
            pieces.append(Omission(location.path, location.file_line(line), tuple(lines[line : part.first])))
        if part.first < part.stop or part.words:
            text = "\n".join([*lines[part.first : part.stop], *filter(None, (part.words, part.fence))])
            if pieces:
                is_apart = _must_stand_apart(last_text, text)
                pieces.append("\n\n" if is_apart else "\n")
            last_text = text if part.stop == len(lines) else text.rstrip("\n")
            pieces.append(last_text)
        line = part.stop
    return pieces


def _end_with_omission(parts: list[str | Omission], omitted: Sequence[Fragment], shortened: int) -> None:
    """Have the parts end in an omission if anything is omitted anywhere, or some fragments are shortened."""
    omissions = [part for part in parts if isinstance(part, Omission)]
    texts = tuple(fragment.text for fragment in omitted)
    if isinstance(parts[-1], Omission):
        parts[-1] = parts[-1]._replace(texts=parts[-1].texts + texts, shortened=shortened)
    elif omitted:
        parts += ["\n", Omission(omitted[0].location.path, omitted[0].location.line, texts, shortened)]
    elif omissions:
        parts += ["\n", omissions[0]._replace(shortened=shortened)]
    elif shortened:
        parts += ["\n", Omission("", 0, (), shortened)]
