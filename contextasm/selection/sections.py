"""Sections: the text under one heading, put together from the excerpts of its fragments, and a layer's sections.

A marker is shown where text is omitted, and after the last fragment if others are omitted or shown in a shorter form.
Levels of detail are a Markdown text in fewer of its own words: `atomic` is the full text, `micro` its headings and the
first sentence of each paragraph and list item, `macro` its title and first paragraph. No level is longer than the one
before it, and none is empty (digest 003-3). Amounts are in the counter's units, which add up.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Self

from contextasm.model import (
    TITLE,
    Fragment,
    Layer,
    Location,
    Marker,
    NamedTuple,
    Omission,
    SectionForm,
    Span,
    Summarizer,
    TokenCounter,
)
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.markdown.blocks import TextBlock, blocks, is_structural, is_underline, list_mark, must_stand_apart
from contextasm.text.markdown.literals import open_literal
from contextasm.text.markdown.outline import titles_of
from contextasm.text.names.templates import one_line

LEVELS = ("atomic", "micro", "macro")
"""From the fullest to the shortest."""

_STOP = (
    r"`[^`\n]*`"  # code does not end a sentence
    r"|(?P<wide>[。！？]+[」』）”’]*)"
    r"|(?P<end>[.!?…]+[*_)\"'”’\]]*(?=\s|$))"
)
_ABBREVIATED = r"(?:^|[\s(])(?:\w|e\.g|i\.e|z\.\s?B|d\.\s?h|cf|vs|etc|approx|Dr|Mr|Mrs|Ms|St|No|Nr|bzw|ca)\.$"
_CLOSERS = "*_)\"'”’]"


class DetailForm(NamedTuple):
    """A text at some level of detail."""

    level: str
    text: str
    lines: tuple[int, ...]
    """The lines of the full text, counted from 0, of which something is shown."""


@lru_cache(maxsize=4096)
def at_detail(text: str, level: str) -> DetailForm:
    """A text at one of `LEVELS`."""
    lines = text.split("\n")
    full = DetailForm("atomic", text, tuple(n for n, line in enumerate(lines) if line.strip()))
    if level == "atomic":
        return full
    micro = _shorter(full, "micro", [line for block in blocks(lines) for line in _brief(block, lines)])
    if level == "micro":
        return micro
    return _shorter(micro, "macro", _opening(lines, len(micro.text)))


def detail_levels(text: str) -> tuple[DetailForm, ...]:
    """The distinct forms of a text, from the fullest to the shortest."""
    forms = [at_detail(text, level) for level in LEVELS]
    return (forms[0], *(form for fuller, form in pairwise(forms) if form.text != fuller.text))


def _shorter(fuller: DetailForm, level: str, shown: Sequence[tuple[int, str]]) -> DetailForm:
    """The form that these lines make, if it is one and has no more tokens than the fuller one; else that one."""
    own = _apart(shown)
    while own and not own[-1][1].strip():
        own.pop()
    text = "\n".join(line for _, line in own)
    if not text.strip() or ESTIMATE.units(text) > ESTIMATE.units(fuller.text):
        return fuller._replace(level=level)
    return DetailForm(level, text, tuple(number for number, line in own if line.strip()))


def _apart(shown: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The lines with a blank one above each that would make a heading of a line from elsewhere."""
    own: list[tuple[int, str]] = []
    for number, line in shown:
        if own and own[-1][1].strip() and own[-1][0] != number - 1 and is_underline(line):
            own.append((number - 1, ""))
        own.append((number, line))
    return own


def _brief(block: TextBlock, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """A block's headings and its first sentence; of code and tables nothing but the headings above them."""
    yield from _headings(block, lines)
    if block.kind == "text":
        yield from _sentence(block, lines)
    stop = block.stop - 1
    if block.kind in {"text", "heading"} and stop > block.first and not lines[stop].strip():
        yield stop, ""


def _headings(block: TextBlock, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The headings at the start of a block, with the blank lines among them."""
    if block.levels:
        yield from ((number, lines[number].rstrip()) for number in range(block.first, block.body))


def _sentence(block: TextBlock, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines of a paragraph or list item up to the end of its first sentence."""
    for number in range(block.body, block.stop):
        line = lines[number].rstrip()
        if not line:
            return
        mark = list_mark(line) if number == block.body else 0
        end = next(sentence_ends(line, mark), 0)  # 0 if the first sentence goes on in the next line
        yield number, line[:end] if end and not is_structural(line[:end]) else line
        if end:
            return


def sentence_ends(line: str, start: int) -> Iterator[int]:
    """Where sentences of a line end, after the character `start`."""
    for found in re.compile(_STOP).finditer(line, start):
        if found["wide"]:
            yield found.end()
        elif found["end"]:
            letter = line[found.end() : found.end() + 20].lstrip()[:1]
            begun = line[max(start, found.end() - 20) : found.end()].rstrip(_CLOSERS)
            if not (letter.islower() or (letter and re.search(_ABBREVIATED, begun))):
                yield found.end()


def _opening(lines: Sequence[str], longest: int) -> list[tuple[int, str]]:
    """The title and the first paragraph; of the paragraph only the first sentence where all is longer than allowed."""
    found = [*blocks(lines)]
    title = [*_headings(found[0], lines)] if found[0].levels else []
    first = next((block for block in found if block.kind == "text"), None)
    if first is None:
        return title
    stop = next((n for n in range(first.body, first.stop) if not lines[n].strip()), first.stop)
    paragraph = [(number, lines[number].rstrip()) for number in range(first.body, stop)]
    if sum(len(line) + 1 for _, line in (*title, *paragraph)) - 1 > longest:
        paragraph = [*_sentence(first, lines)]
    return [*title, *paragraph]


TITLES_PART = 10
"""Part of a layer's room for the titles of what is not shown whole: a tenth."""

LEAST_WHOLE = 300
"""Tokens of a layer's room of which titles get nothing: a tenth of less would not hold one."""

TITLES = "More memories, of which `ctxasm show ID` prints one:"
"""Line above the titles of a section."""


class LineRange(NamedTuple):
    """Lines of a fragment that are shown in one piece."""

    first: int
    stop: int
    """Half open: `lines[first:stop]`, counted from 0 in the fragment."""
    length: int = 0
    """Length of the beginning of line `stop` that is shown, where the cut falls inside it."""
    fence: str = ""
    """The line that closes a fence cut open."""
    lead: str = ""
    """What is shown above the lines: the opening of a fence, or the head of a table, of which they are the end."""
    skip: int = 0
    """Length of the beginning of line `first` that is not shown."""

    def rows(self, lines: Sequence[str]) -> list[str]:
        """The lines that are shown, in whole or in part; `lines` are those of the fragment."""
        numbers = range(self.first, self.stop + bool(self.length))
        return [lines[n][self.skip * (n == self.first) : self.length if n == self.stop else None] for n in numbers]


class Excerpt(NamedTuple):
    """The part of one fragment that is shown."""

    fragment: Fragment
    ranges: tuple[LineRange, ...]
    """Ascending, with something omitted between each two."""
    form: str = ""
    """A level of detail, or `summary`; empty if the lines are shown as they stand."""
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
            for span in _spans_outside_gaps(location, part.first, part.stop - 1 + bool(part.length))
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


def title_excerpt(fragment: Fragment) -> Excerpt:
    """A fragment in one line at the end of its section: its first words, its id and its path."""
    from contextasm.text.graphemes import title_words  # here: most layers name nothing

    is_written = fragment.display.is_written
    fence = fragment.display.fence if is_written else ""
    display = fragment.display._replace(group=TITLES, place=(1 << 60, is_written), fence=fence)
    text = f"- {title_words(fragment.text)} ({one_line(fragment.id)}, {one_line(fragment.location.path)})"
    return Excerpt(fragment._replace(display=display), (), TITLE, text)


def source_span(fragment: Fragment) -> Span:
    """The lines of the file that a fragment covers."""
    first, rows = fragment.location.line, fragment.location.rows
    return first, first + rows - 1 if rows else fragment.location.file_line(fragment.text.count("\n"))


def shown_text(excerpt: Excerpt, marker: Marker = lambda _omission: "") -> str:
    """The text that is shown of a fragment; without the markers, unless one is given."""
    return "".join(piece if isinstance(piece, str) else marker(piece) for piece in _pieces(excerpt))


def whole_text(fragment: Fragment) -> str:
    """The text that is shown of a fragment of which nothing is omitted."""
    return fragment.text if fragment.display.fence else _closed(fragment.text)


def section_body(excerpts: Sequence[Excerpt], omitted: Sequence[Fragment], joint: str, marker: Marker) -> str:
    """The text under a section's heading; empty without excerpts.

    `joint` separates two fragments of one group. The excerpts may come in any order: each fragment has its place.
    `omitted` are the section's fragments of which nothing is shown, in keep order.
    """
    parts: list[str | Omission] = []
    group = above = written = ""  # the last is the fence above, if it is around what a program wrote
    for excerpt in sorted(excerpts, key=lambda excerpt: excerpt.fragment.display.place):
        display = excerpt.fragment.display
        is_new_group = not parts or display.group != group
        group = display.group
        is_inside = display.is_written and not is_new_group and len(display.fence) <= len(written)
        fence = written if is_inside and isinstance(parts[-1], str) else display.fence
        pieces = _fenced(excerpt, fence)
        below = pieces[0] if isinstance(pieces[0], str) else None
        if is_inside and isinstance(parts[-1], str):
            parts[-1:], pieces = [joint], pieces[1:]
        elif parts:
            is_apart = is_new_group or (below is not None and must_stand_apart(above, below))
            parts.append("\n\n" if is_apart else joint)
        if is_new_group and group:
            parts.append(group + "\n" * (1 + (below is not None and must_stand_apart(group, below))))
        parts += pieces
        above = pieces[-1] if isinstance(pieces[-1], str) else ""
        written = fence if display.is_written else ""
    if parts:
        _end_with_omission(parts, omitted, sum(excerpt.form not in {"", TITLE} for excerpt in excerpts))
    return "".join(marker(part) if isinstance(part, Omission) else part for part in parts)


def _fenced(excerpt: Excerpt, fence: str) -> list[str | Omission]:
    """The pieces of an excerpt inside a fence, empty for none; an omission at its end comes after the fence."""
    pieces = _pieces(excerpt)
    if not fence:
        return pieces
    below = pieces[-2:] if len(pieces) > 1 and isinstance(pieces[-1], Omission) else []
    inside = pieces[: len(pieces) - len(below)]
    return [f"{fence}\n", *inside, f"\n{fence[: len(fence) - len(fence.lstrip('`'))]}", *below]


def _pieces(excerpt: Excerpt) -> list[str | Omission]:
    """The shown text of a fragment, with each omission where it is. Nothing that a piece opens is open after it."""
    pieces = _bare_pieces(excerpt)
    if excerpt.fragment.display.fence:
        return pieces
    return [_closed(piece) if isinstance(piece, str) else piece for piece in pieces]


def _closed(text: str) -> str:
    part = open_literal(text)
    return f"{text}\n{part.closing}" if part and part.closing else text


def _bare_pieces(excerpt: Excerpt) -> list[str | Omission]:
    fragment = excerpt.fragment
    if excerpt.whole or excerpt.form:
        return [excerpt.text if excerpt.form else fragment.text]
    lines = fragment.text.split("\n")
    pieces: list[str | Omission] = []
    line, last_text = 0, ""
    for part in (*excerpt.ranges, LineRange(len(lines), len(lines))):
        if part.first > line or part.skip:
            pieces += ["\n"] * bool(pieces)
            pieces.append(_omission(fragment, lines, line, part.first + bool(part.skip)))
        if rows := part.rows(lines):
            rows[0] = rows[0].lstrip() if part.skip else rows[0]
            lead, fence = ([each] if each else [] for each in (part.lead, part.fence))
            text = "\n".join([*lead, *rows, *fence])
            if pieces:
                pieces.append("\n\n" if must_stand_apart(last_text, text) else "\n")
            last_text = text if part.stop == len(lines) else text.rstrip("\n")
            pieces.append(last_text)
        line = part.stop
    return pieces


def _omission(fragment: Fragment, lines: Sequence[str], first: int, stop: int) -> Omission:
    titles = tuple(title for line, title in _titles_of(fragment) if first <= line < stop)
    location = fragment.location
    return Omission(location.path, location.file_line(first), tuple(lines[first:stop]), titles=titles)


def _titles_of(fragment: Fragment) -> Sequence[tuple[int, str]]:
    """The headings of a fragment that a marker may name, with their lines; none of what a program wrote."""
    return () if fragment.display.is_written else titles_of(fragment.text)


def _end_with_omission(parts: list[str | Omission], omitted: Sequence[Fragment], shortened: int) -> None:
    """Have the parts end in an omission if fragments are omitted or shortened."""
    texts = tuple(fragment.text for fragment in omitted)
    titles = tuple(title for fragment in omitted if "#" in fragment.text for _, title in _titles_of(fragment))
    if isinstance(last := parts[-1], Omission):
        parts[-1] = Omission(last.path, last.line, last.texts + texts, shortened, last.titles + titles, len(omitted))
    elif omitted:
        first = omitted[0].location
        parts += ["\n", Omission(first.path, first.line, texts, shortened, titles, len(omitted) - 1)]
    elif shortened:
        parts += ["\n", Omission("", 0, (), shortened)]


# --- Sections of a layer ---------------------------------------------------------------------------------------------


class LaidOutSection(NamedTuple):
    """A section as it would be emitted."""

    excerpts: tuple[Excerpt, ...]
    text: str
    """The text under its heading; empty if nothing is shown."""
    units: int
    """Units of the whole section, its heading and the blank line after it included; 0 for an empty text."""
    truncated: bool = False
    """Whether a fragment of the section is cut, shortened or missing."""


Selected = Mapping[str, LaidOutSection]
"""The sections of a layer that show something, by heading, in the order of the headings."""


def units_of(selected: Selected) -> int:
    """Units that the sections of a layer take together."""
    return sum(section.units for section in selected.values())


def excerpts_of(selected: Selected) -> Iterator[Excerpt]:
    """The excerpts of a layer's sections, in their order."""
    return (excerpt for section in selected.values() for excerpt in section.excerpts)


class Demand(NamedTuple):
    """A layer with its candidates, and the sections that it would show if there were room for all."""

    layer: Layer
    counter: TokenCounter
    form: SectionForm
    marker: Marker
    summarizer: Summarizer | None
    stable: bool
    """Whether neither the date nor the topic can change what is shown of the layer."""
    most_named: int = 0
    """Most fragments that may be named; 0 for a layer that names nothing."""
    candidates: Sequence[Fragment] = ()
    """Every fragment that was retrieved for the layer, the excluded ones too."""
    sections: Mapping[str, Sequence[Fragment]] = MappingProxyType({})
    """The fragments that are not excluded, by heading, in keep order: pinned ones first."""
    everything: Selected = MappingProxyType({})
    """All fragments that are not excluded, at the layer's level of detail."""
    units: int = 0
    """Units of everything."""
    pinned: Selected = MappingProxyType({})
    """The fragments that rules include, whole; none for a required layer, which is whole anyway."""
    pinned_units: int = 0
    reserve: int = 0
    """Units held for it against the layers before it, or against the ones in `reserve_against`."""
    most: int | None = None
    """Units of what its `max_chars` leaves of it; None for no such limit."""
    across: bool = False
    """Whether its fragments are selected by their scores together with those of other layers."""
    grown: int = 0
    """Units that it may take above its share or `max_tokens`, since no layer claims them; 0 for none."""
    below_top: Sequence[Fragment] = ()
    """The fragments after the first `top` that may be named, best first."""

    def with_candidates(self, candidates: Sequence[Fragment]) -> Self:
        """The same layer with these candidates."""
        by_heading: dict[str, list[Fragment]] = {heading: [] for heading in self.layer.heading}
        for fragment in sorted(candidates, key=lambda fragment: not fragment.verdict.pinned_by):
            if fragment.verdict.excluded is None:
                by_heading.setdefault(fragment.display.heading, []).append(fragment)
        sections = {heading: group for heading, group in by_heading.items() if group}
        demand = self._replace(candidates=candidates, sections=sections)
        shown = [fragment for group in sections.values() for fragment in group]
        pins = [fragment for fragment in shown if fragment.verdict.pinned_by and not self.layer.limits.required]
        everything = demand.lay_out_all([*map(self.first_excerpt, shown)])
        pinned = demand.lay_out_all([*map(whole_excerpt, pins)])
        units, pinned_units = units_of(everything), units_of(pinned)
        demand = demand._replace(everything=everything, units=units, pinned=pinned, pinned_units=pinned_units)
        return demand._replace(below_top=self._below_top(candidates)) if self.most_named else demand

    def lay_out(self, heading: str, excerpts: Sequence[Excerpt]) -> LaidOutSection:
        """The section under a heading that shows these excerpts, and the markers of what it omits."""
        shown = {excerpt.fragment.id for excerpt in excerpts}
        omitted = [fragment for fragment in self.sections[heading] if fragment.id not in shown]
        joint = "\n" if self.layer.display.item_template else "\n\n"
        text = section_body(excerpts, omitted, joint, self.marker)
        frame, escape = self.form
        before, after = frame(self.layer.id, self.own_heading(heading, text))
        units = self.counter.units(f"{before}{escape(text)}{after}") if text else 0
        is_whole = not omitted and all(each.whole or each.fragment.verdict.excluded for each in excerpts)
        return LaidOutSection(tuple(excerpts), text, units, not is_whole)

    def own_heading(self, heading: str, text: str) -> str:
        """The heading of a section; empty if its text begins with a group's line that is a heading as high."""
        return "" if self.layer.display.group_template.startswith("## ") and text.startswith("## ") else heading

    def lay_out_all(self, excerpts: Sequence[Excerpt]) -> Selected:
        """The sections that show these excerpts, each under the heading of its fragment."""
        by_heading: dict[str, list[Excerpt]] = {heading: [] for heading in self.sections}
        for excerpt in excerpts:
            by_heading[excerpt.fragment.display.heading].append(excerpt)
        return {heading: self.lay_out(heading, group) for heading, group in by_heading.items() if group}

    def first_excerpt(self, fragment: Fragment) -> Excerpt:
        """A fragment at the layer's level of detail: whole, unless the level is a lower one."""
        level = self.layer.overflow.detail
        is_whole = self.layer.limits.required or fragment.verdict.pinned_by or fragment.display.fence
        if is_whole or level not in LEVELS[1:]:
            return whole_excerpt(fragment)
        return excerpt_at_level(fragment, at_detail(fragment.text, level))

    def _below_top(self, candidates: Sequence[Fragment]) -> list[Fragment]:
        after_top = [
            (int(dict(reason.facts)["rank"]), number)
            for number, each in enumerate(candidates)
            if (reason := each.verdict.excluded) and reason.code == "not-in-top" and not reason.is_count
        ]
        return [candidates[number] for _, number in sorted(after_top)[: self.most_named]]

    def titles_room(self, room: int) -> int:
        """Units of a room of the layer that are left free for titles; none if all is shown whole."""
        is_needed = self.most_named and (self.below_top or self.units > room)
        return min(room // TITLES_PART, max(0, room - LEAST_WHOLE * self.counter.units_per_token)) if is_needed else 0

    def unshown(self, selected: Selected) -> list[Fragment]:
        """The fragments that may be named, best first, and that the sections do not show; none if none may be."""
        shown = {excerpt.fragment.id for excerpt in excerpts_of(selected)}
        able = [each for each in self.candidates if each.verdict.excluded is None] if self.most_named else []
        return [each for each in (*able, *self.below_top) if each.id not in shown]
