"""Truncate: the most of a section that fits a room.

The choice is among nested states: the first k pieces of the keep order. A piece is what is not torn: a sentence, a row
of a table, a line of long code or of rows. It is cut between words or lines only if nothing else would be shown. The
last state that costs no more than the room is taken, so more room never loses a line that less room kept
(docs/architecture.md, law 7).
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby, islice, pairwise, zip_longest

from contextasm.model import (
    ContextasmError,
    Fragment,
    FragmentDisplay,
    Location,
    Marker,
    NamedTuple,
    TokenCounter,
    grouped,
)
from contextasm.selection.sections import Excerpt, LineRange, section_body, sentence_ends
from contextasm.text.markdown.blocks import (
    TextBlock,
    blocks,
    is_underline,
    keep_order,
    list_mark,
    may_be_structural,
    structural_length,
)

LONG_WORD = 40
"""Characters. A longer run without a blank (Japanese, Chinese, encoded data) is cut between graphemes."""

LONG_SENTENCE = 8
"""Lines. More of them without the end of a sentence are rows, and each is a piece."""

LONG_LINE = 1_000
"""Characters. More of them in a line without the end of a sentence are cut between words, into pieces of `CHUNK`."""

CHUNK = 20

HEAD_LINES = {"table": 2, "fence": 1, "raw": 1}
"""Lines at the top of a block that are shown with any part of it: a table's head and its rule, an opening."""

WHOLE_CODE = 60
"""Lines of code of the longest fence that is whole or not at all, with any room: else law 7 would not hold.

Only where nothing else would be shown may it be cut (`_smaller_parts`)."""

KEEP = {"start": "start", "end": "tail", "both": "ends"}
"""The order of `keep_order` by the name of the end of a text that is spared.

`both` keeps three quarters of the beginning and one of the end.
"""

Cost = Callable[[Sequence[Excerpt]], int]
"""Gives the units of a whole section, heading and markers included, that shows these excerpts."""

Place = tuple[int, int]
"""A line of a text, and a number of its characters: a place where it may be cut."""


class _Piece(NamedTuple):
    """A part of a block of one of the fragments."""

    number: int
    """Number of the fragment in keep order."""
    block: TextBlock
    lines: LineRange
    titles: tuple[int, ...] = ()
    """Lines of the headings that its text is under, which are shown wherever the end of a text is kept."""
    keep: str = "start"
    """What of its text is worth most: `start`, `tail`, or `ends` for both."""

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels of the headings that it begins with."""
        return self.block.levels if self.lines.first == self.block.first else ()

    def text(self, lines: Sequence[str]) -> str:
        """Its text, with the line end after it if it does not end in a line; `lines` are those of its fragment."""
        return "\n".join(self.lines.rows(lines)) + "\n" * (not self.lines.length)

    def parts(self, lines: Sequence[str], places: Iterable[Place]) -> "Iterator[_Piece]":
        """Its parts between these places, which are in order; places outside of it do not count."""
        start, end = (self.lines.first, self.lines.skip), (self.lines.stop, self.lines.length)
        body, head = self.block.body, self.block.body + HEAD_LINES.get(self.block.kind, 0)
        for stop, length in (*(place for place in places if start < place < end), end):
            fence = self.block.fence if body < stop < self.block.stop else ""
            lead = "\n".join(lines[body:head]) if start[0] > body else ""
            yield self._replace(lines=LineRange(start[0], stop, length, fence, lead, start[1]))
            start = stop, length


def truncate(
    fragments: Sequence[Fragment],
    room: int,
    counter: TokenCounter,
    cost: Cost,
    *,
    is_alone: bool = True,
    by_lines: bool = False,
) -> tuple[Excerpt, ...]:
    """The excerpts that fit of fragments that do not fit whole, given in keep order; none if no line fits.

    `is_alone` says whether nothing else is shown with them. With `by_lines`, lines of the first piece are shown rather
    than nothing, whatever it is.
    """
    lines = [fragment.text.split("\n") for fragment in fragments]

    def fits(pieces: Sequence[_Piece]) -> bool:
        return cost(_excerpts(fragments, pieces)) <= room

    chosen: list[_Piece] = []
    used = 0
    for piece, units in _with_least_units(_pieces(fragments, lines), lines, counter):
        used += units
        if used > room:
            break
        chosen.append(piece)
    fitting = _most(chosen, fits)
    if fitting or not is_alone or not fragments:
        return _excerpts(fragments, fitting)
    first, *others = islice(_pieces(fragments, lines), 2)
    # The end of the first piece of a text is not its end.
    first = first._replace(keep="start") if others and first.keep == "ends" else first
    parts = _smaller_parts(first, lines[first.number], by_lines=by_lines)
    return _excerpts(fragments, next(filter(None, map(partial(_most, fits=fits), parts)), ()))


def _with_least_units(
    pieces: Iterable[_Piece], lines: Sequence[Sequence[str]], counter: TokenCounter
) -> Iterator[tuple[_Piece, int]]:
    """The pieces with the units that each adds to those before it at least."""
    line_ends = 0
    for piece in pieces:
        text = piece.text(lines[piece.number])
        bare = counter.units(text.rstrip("\n"))
        # An exact token may reach across the start of a piece within a line.
        is_joined = piece.lines.skip and not counter.adds_up
        # The line ends after a piece are paid for once another one follows.
        yield piece, line_ends + bare - counter.units_per_token * bool(is_joined)
        line_ends = counter.units(text) - bare


def _most(pieces: Sequence[_Piece], fits: Callable[[Sequence[_Piece]], bool]) -> Sequence[_Piece]:
    """The most of the pieces that fit, with few states looked at: the first 1, 2, 4 and so on, then halves between two.

    More room never leads to an earlier state, even where a state costs less than the one before it, since it closes a
    gap: which states are looked at depends only on those that fit. After the first that does not, two more are tried.
    """

    def is_state(count: int) -> bool:
        return count <= len(pieces) and fits(pieces[:count])

    fitting, beyond = 0, 1
    while is_state(beyond):
        fitting, beyond = beyond, 2 * beyond
    while beyond - fitting > 1:
        middle = (fitting + beyond) // 2
        fitting, beyond = (middle, beyond) if is_state(middle) else (fitting, middle)
    return pieces[: next(filter(is_state, (beyond + 2, beyond + 1)), fitting)]


def fit_text(text: str, budget: int, counter: TokenCounter, marker: Marker, keep: str = "start") -> str:
    """The text as it is if `budget` tokens hold it, else the most of it that they hold with the markers of the cuts.

    `keep` is a name of `KEEP`. A line end after the text stays, and is counted. Of a text that is cut, a fence that is
    open is closed. Raises `ContextasmError` with exit code 1 if not even one line fits.
    """
    fragment = Fragment("text", Location("text", 1), text.rstrip("\n"), FragmentDisplay("", keep=KEEP[keep]))
    line_end = "\n" if text.endswith("\n") else ""
    room = budget * counter.units_per_token
    if counter.units(text) <= room:
        return text

    def laid_out(excerpts: Sequence[Excerpt]) -> str:
        return section_body(excerpts, (), "", marker) + line_end

    excerpts = truncate([fragment], room, counter, lambda shown: counter.units(laid_out(shown)), by_lines=True)
    if not excerpts:
        raise ContextasmError("budget", f"{budget} tokens are too few for a line and its marker", "give more tokens", 1)
    return laid_out(excerpts)


def piece_sizes(fragments: Sequence[Fragment], counter: TokenCounter) -> list[int]:
    """Units of each piece of some fragments with its line ends, in keep order; marks of headings do not count.

    A heading may have more of these than in its file.
    """
    lines = [fragment.text.split("\n") for fragment in fragments]
    texts = (piece.text(lines[piece.number]) for piece in _pieces(fragments, lines))
    return [counter.units(re.sub("(?m)^#+", "", text)) for text in texts]


def first_pieces(fragments: Sequence[Fragment], count: int) -> tuple[Excerpt, ...]:
    """The first pieces in keep order, as excerpts of their fragments."""
    return _excerpts(fragments, [*_pieces(fragments, [fragment.text.split("\n") for fragment in fragments])][:count])


def _pieces(fragments: Sequence[Fragment], lines: Sequence[Sequence[str]]) -> Iterator[_Piece]:
    """Every piece of every fragment, in keep order.

    In a group of a layer that spares the end, such as a day of logs, the folders take turns section by section, the one
    with the shortest text first: the long log of an agent does not push out the log of its team.
    """
    for _, group in groupby(enumerate(fragments), _turn_group):
        folders = grouped((fragment.location.path.rpartition("/")[0], number) for number, fragment in group)
        by_length = sorted(folders.values(), key=lambda numbers: sum(len(fragments[number].text) for number in numbers))
        streams = [
            chain.from_iterable(_sections(number, lines[number], fragments[number].display) for number in numbers)
            for numbers in by_length
        ]
        for turn in zip_longest(*streams, fillvalue=()):
            yield from chain.from_iterable(turn)


def _turn_group(item: tuple[int, Fragment]) -> str | int:
    # Fragments outside of a group come one after the other.
    number, fragment = item
    return fragment.display.group if fragment.display.group and fragment.display.keep == "end" else number


def _sections(number: int, lines: Sequence[str], display: FragmentDisplay) -> Iterator[Iterable[_Piece]]:
    """The sections of a fragment in keep order, each split only when it is looked at, but for both ends of a text."""
    keep, whole = display.keep, _whole_blocks(number, lines, display)
    if keep == "start":
        yield from (_split(block, lines) for block in whole)
        return
    pieces = [*whole] if keep != "ends" else [piece for block in whole for piece in _split(block, lines)]
    sizes = [len(piece.text(lines)) for piece in pieces if keep == "ends"]
    for numbers, is_section in keep_order([piece.levels for piece in pieces], sizes, keep):
        section = (pieces[at] if is_section else pieces[at]._replace(keep="tail") for at in numbers)
        yield (
            [pieces[at] for at in numbers]
            if keep == "ends"
            else chain.from_iterable(_split(each, lines) for each in section)
        )


def _whole_blocks(number: int, lines: Sequence[str], display: FragmentDisplay) -> Iterator[_Piece]:
    above: list[tuple[int, int]] = []  # level and line of each heading that the text is under
    for block in blocks(lines):
        own = (line for line in range(block.first, block.body) if lines[line].strip())
        for level, line in zip(block.levels, own, strict=True):
            above = [*(each for each in above if each[0] < level), (level, line)]
        shown = block._replace(kind="plain") if display.fence else block
        titles = () if display.keep == "start" else tuple(line for _, line in above)
        yield _Piece(
            number, shown, LineRange(block.first, block.stop), titles, "ends" if display.keep == "ends" else "start"
        )


def _split(whole: _Piece, lines: Sequence[str]) -> Iterable[_Piece]:
    """The pieces of a whole block, the last one first if its end is worth most."""
    pieces = whole.parts(lines, _cuts(whole.block, lines, is_start=whole.keep == "start"))
    return reversed([*pieces]) if whole.keep == "tail" else pieces


def _cuts(block: TextBlock, lines: Sequence[str], *, is_start: bool) -> Sequence[Place]:
    """The places inside a block between its pieces, in order."""
    stop = block.end(lines)
    if block.kind == "fence" and stop - block.body <= WHOLE_CODE + 2:
        return ()
    if block.kind != "text":
        return _rows(block, lines)
    starts = {*block.statement_starts(lines)}
    places = [*_places(lines, block.body, stop, starts, _ends_of_pieces, is_start=is_start)]
    spaces = pairwise([block.body, *(line for line, _ in places), stop])
    runs = (range(above + 1, below + 1) for above, below in spaces if below - above > LONG_SENTENCE)
    rows = {(line, 0) for line in chain.from_iterable(runs) if line < stop}
    return sorted(place for place in {*places, *rows} if place[1] or not is_underline(lines[place[0]]))


def _rows(block: TextBlock, lines: Sequence[str]) -> Sequence[Place]:
    """The places between the lines of a block below its head; a line that closes it goes with the one above it."""
    least = block.body + HEAD_LINES.get(block.kind, 0) + 1
    return [(line, 0) for line in range(least, block.end(lines) - (block.kind in {"fence", "raw"}))]


def _ends_of_pieces(line: str) -> Iterator[int]:
    """The ends of the sentences of a line, and of chunks of what is long and has none."""
    at = list_mark(line)
    for end in (*sentence_ends(line, at), len(line) + 1):
        for word in _words(line, at, end) if end - at > LONG_LINE else ():
            if word - at >= CHUNK:
                yield word
                at = word
        if end <= len(line):
            yield end
        at = end


def _smaller_parts(piece: _Piece, lines: Sequence[str], *, by_lines: bool) -> Iterator[Sequence[_Piece]]:
    """The parts of a piece that does not fit, in keep order: between words, or else with `by_lines` between lines.

    Of the end of a text, the headings above it if there is no room for more.
    """
    block, is_start = piece.block, piece.keep == "start"

    def in_order(places: Iterable[Place]) -> Sequence[_Piece]:
        parts = [*piece.parts(lines, places)]
        order = keep_order([part.levels for part in parts], [len(part.text(lines)) for part in parts], piece.keep)
        return [parts[number] for numbers, _ in order for number in numbers]

    if block.kind == "text":
        stop = block.end(lines)
        yield in_order(_places(lines, block.body, stop, range(block.body + 1, stop), _words, is_start=is_start))
    if by_lines:
        headings = [(line + 1, 0) for line in range(block.first, block.body) if lines[line].strip()]
        yield in_order([*headings, *(_rows(block, lines) if block.kind != "text" else ())])
        titles = reversed(piece.titles if piece.keep == "tail" else ())
        yield [piece._replace(lines=LineRange(line, line + 1), titles=()) for line in titles]


def _places(
    lines: Sequence[str],
    first: int,
    stop: int,
    starts: Collection[int],
    ends: Callable[[str], Iterable[int]],
    *,
    is_start: bool,
) -> Iterator[Place]:
    """The places where some lines may be cut: before a line of `starts`, with 0, and after some characters of one.

    Only with `is_start` may what is left of a line be what plain text has none of.
    """
    for number in range(first, stop):
        line = lines[number]
        if number in starts:
            yield number, 0
        length, least = len(line.rstrip()), structural_length(line)
        for end in ends(line):
            if least < end < length:
                if is_start or not may_be_structural(line[end : end + LONG_WORD].lstrip()):
                    yield number, end
            elif end >= length and number + 1 < stop:
                yield number + 1, 0


def _words(line: str, start: int = 0, stop: int | None = None) -> Iterator[int]:
    """The end of each step by which a part of a line may grow, the last one left out: it would be the whole part."""
    from contextasm.text.graphemes import grapheme_ends  # here: few texts are cut between words

    begin = max(start, list_mark(line))
    end = 0
    for word in re.compile(r"\S+").finditer(line, begin, len(line) if stop is None else stop):
        for length in grapheme_ends(word[0]) if len(word[0]) > LONG_WORD else (len(word[0]),):
            if end:
                yield end
            end = word.start() + length


def _excerpts(fragments: Sequence[Fragment], pieces: Sequence[_Piece]) -> tuple[Excerpt, ...]:
    """The pieces put together again with the headings above them, fragment by fragment."""
    own = {(piece.number, line) for piece in pieces for line in range(piece.lines.first, piece.block.body)}
    above = {(piece.number, line) for piece in pieces for line in piece.titles} - own
    parts = [(number, LineRange(title, title + 1)) for number, title in above]
    ranges: dict[int, list[LineRange]] = {}
    for number, part in sorted([*parts, *((piece.number, piece.lines) for piece in pieces)]):
        shown = ranges.setdefault(number, [])
        if shown and (shown[-1].stop, shown[-1].length) == (part.first, part.skip):
            shown[-1] = shown[-1]._replace(stop=part.stop, length=part.length, fence=part.fence)
        else:
            shown.append(part)
    return tuple(Excerpt(fragments[number], tuple(shown)) for number, shown in ranges.items())
