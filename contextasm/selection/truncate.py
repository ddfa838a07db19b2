"""Truncate: the most of a section that fits a room.

The choice is among nested states: the first k blocks of the keep order, then the first sentences of the next block, or
the first rows of a table and lines of long code. A sentence is cut between words only if nothing else would be shown.
The last state that costs no more than the room is taken, so more room never loses a line that less room kept
(docs/architecture.md, law 7). Where `fit` keeps the end, the next block shows its last lines.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, zip_longest
from typing import TypeVar

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
from contextasm.text.markdown.blocks import TextBlock, blocks, is_underline, keep_order, list_mark, structural_length

LONG_WORD = 40
"""Characters. A longer run without a blank (Japanese, Chinese, encoded data) is cut between graphemes."""

LEAST_LINES = {"text": 1, "table": 3, "fence": 2, "raw": 1}
"""Lines of the smallest part of a block that is worth showing: a table's head, its rule and one row."""

WHOLE_CODE = 60
"""Lines of code of the longest fence that is whole or not at all, with any room: else law 7 would not hold.

Only where nothing else would be shown may it be cut (`_some_lines`)."""

KEEP = {"start": "start", "end": "tail", "both": "ends"}
"""The order of `keep_order` by the name of the end of a text that is spared.

`both` keeps three quarters of the beginning and one of the end.
"""

Size = Callable[[str], int]
"""Gives the units of a text."""

Cost = Callable[[Sequence[Excerpt]], int]
"""Gives the units of a whole section, heading and markers included, that shows these excerpts."""

Fits = Callable[[LineRange], bool]
"""Whether a part of a block fits, with the blocks before it."""

State = TypeVar("State")


class _Piece(NamedTuple):
    """A block of one of the fragments, and the part of it that is shown."""

    number: int
    """Number of the fragment in keep order."""
    block: TextBlock
    lines: LineRange
    titles: tuple[int, ...] = ()
    """Lines of the headings that its text is under, which are shown wherever the end of a text is kept."""
    is_last: bool = False
    """Whether the end of a text is kept, and lines of the block may be shown without those above them."""


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

    `is_alone` says whether nothing else is shown with them. With `by_lines`, the first lines of the first block are
    shown rather than nothing, whatever it is; of headings the last ones if the end is kept.
    """
    lines = [fragment.text.split("\n") for fragment in fragments]
    pieces: list[_Piece] = []
    growing = _growing(pieces, _pieces(fragments, lines), lines, counter.units)
    count = _furthest(growing, room, lambda count: cost(_excerpts(fragments, pieces[:count])) <= room) or 0
    chosen = pieces[:count]
    if count == len(pieces):
        return _excerpts(fragments, chosen)
    left = room - (cost(_excerpts(fragments, chosen)) if chosen else 0)
    following = pieces[count]
    display, own = fragments[following.number].display, lines[following.number]

    def with_part(part: LineRange) -> tuple[Excerpt, ...]:
        return _excerpts(fragments, [*chosen, following._replace(lines=part)])

    def fits(part: LineRange) -> bool:
        return cost(with_part(part)) <= room

    block = following.block._replace(kind="raw") if display.fence else following.block
    if by_lines and following.is_last:
        part = _last_part(block, own, left, counter, fits, is_alone=not chosen)
        block = block._replace(kind="text")
    else:
        part = _part(block, own, left, counter, fits, may_tear=is_alone and not chosen)
    if part is None and by_lines and not chosen:
        part = _some_lines(block, own, left, counter, fits, is_end=display.keep in {"end", "tail"})
    return with_part(part) if part else _excerpts(fragments, chosen)


def _growing(
    pieces: list[_Piece], following: Iterable[_Piece], lines: Sequence[Sequence[str]], size: Size
) -> Iterator[tuple[int, int]]:
    """The number of pieces after each that is added to them, and the units that it adds at least."""
    line_ends = 0
    for piece in following:
        pieces.append(piece)
        shown = "\n".join([*lines[piece.number][piece.block.first : piece.block.stop], ""])
        bare = size(shown.rstrip("\n"))
        # The line ends after a block are paid for once another block follows.
        yield len(pieces), line_ends + bare
        line_ends = size(shown) - bare


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
        raise ContextasmError("budget", f"{budget} tokens are too few for a line and its marker", "give more", 1)
    return laid_out(excerpts)


def block_sizes(fragments: Sequence[Fragment], counter: TokenCounter) -> list[int]:
    """Units of each block of some fragments with its line ends, in keep order; marks of headings do not count.

    A heading may have more of these than in its file.
    """
    lines = [fragment.text.split("\n") for fragment in fragments]
    pieces = _pieces(fragments, lines)
    rows = ([*lines[each.number][each.block.first : each.block.stop], ""] for each in pieces)
    return [counter.units("\n".join(row.lstrip("#") for row in own)) for own in rows]


def first_blocks(fragments: Sequence[Fragment], count: int) -> tuple[Excerpt, ...]:
    """The first blocks in keep order, as excerpts of their fragments."""
    return _excerpts(fragments, [*_pieces(fragments, [fragment.text.split("\n") for fragment in fragments])][:count])


def _pieces(fragments: Sequence[Fragment], lines: Sequence[Sequence[str]]) -> Iterator[_Piece]:
    """Every block of every fragment, in keep order.

    In a group of a layer that spares the end, such as a day of logs, the folders take turns section by section, the one
    with the shortest text first: the long log of an agent does not push out the log of its team.
    """
    for _, group in groupby(enumerate(fragments), _turn_group):
        folders = grouped((fragment.location.path.rpartition("/")[0], number) for number, fragment in group)
        by_length = sorted(folders.values(), key=lambda numbers: sum(len(fragments[number].text) for number in numbers))
        streams = [
            chain.from_iterable(_sections(number, lines[number], fragments[number].display.keep) for number in numbers)
            for numbers in by_length
        ]
        for turn in zip_longest(*streams, fillvalue=()):
            yield from chain.from_iterable(turn)


def _turn_group(item: tuple[int, Fragment]) -> str | int:
    # Fragments outside of a group come one after the other.
    number, fragment = item
    return fragment.display.group if fragment.display.group and fragment.display.keep == "end" else number


def _sections(number: int, lines: Sequence[str], keep: str) -> Iterator[Sequence[_Piece]]:
    titles: dict[int, tuple[int, ...]] = {}
    above: list[tuple[int, int]] = []  # level and line of each heading that the text is under
    # From the start on, only as many blocks are looked for as there is room for.
    own_blocks = blocks(lines) if keep == "start" else [*blocks(lines)]
    for block in () if keep == "start" else own_blocks:
        own = (line for line in range(block.first, block.body) if lines[line].strip())
        for level, line in zip(block.levels, own, strict=True):
            above = [*(each for each in above if each[0] < level), (level, line)]
        titles[block.first] = tuple(line for _, line in above)
    for section in keep_order(own_blocks, lines, keep):
        is_last = keep == "tail" and _may_show_last(section[0], lines)
        yield [
            _Piece(number, each, LineRange(each.first, each.stop), titles.get(each.first, ()), is_last)
            for each in section
        ]


def _may_show_last(block: TextBlock, lines: Sequence[str]) -> bool:
    is_long = block.kind == "text" and block.end(lines) > block.body + 1
    return (is_long or block.kind in {"table", "fence"}) and len(block.levels) < 2


def _furthest(states: Iterable[tuple[State, int]], room: int, fits: Callable[[State], bool]) -> State | None:
    """The last of nested states that fits.

    Each comes with the least size that it adds, so that no more states are looked at than could fit.
    """
    reached: list[State] = []
    used = 0
    for state, size in states:
        used += size
        if used > room:
            break
        reached.append(state)
    while reached and not fits(reached[-1]):
        reached.pop()
    return reached[-1] if reached else None


def _furthest_by_doubling(states: Iterable[State], fits: Callable[[State], bool]) -> State | None:
    """A state that fits, found without the sizes of the steps: single letters take more tokens than a word.

    The states looked at are the first, second, fourth and so on, then halves between the last that fits and the first
    that does not. More room never leads to an earlier state, even where a state costs less than the one before it.
    """
    remaining = iter(states)
    reached: list[State] = []
    fitting, step = 0, 1
    while True:
        reached += islice(remaining, step - len(reached))
        count = min(step, len(reached))
        if not count or not fits(reached[count - 1]):
            break
        fitting = count
        if count < step:
            return reached[count - 1]
        step *= 2
    beyond = len(reached)
    while beyond - fitting > 1:
        middle = (fitting + beyond) // 2
        if fits(reached[middle - 1]):
            fitting = middle
        else:
            beyond = middle
    return reached[fitting - 1] if fitting else None


def _part(
    block: TextBlock, lines: Sequence[str], left: int, counter: TokenCounter, fits: Fits, *, may_tear: bool
) -> LineRange | None:
    """The most of one block that fits: of plain text its first sentences, of others its first lines.

    `left` is the room that is not taken by the blocks before it; looking further than that would be in vain. With
    `may_tear`, words of a first sentence that is too long.
    """
    stop = block.end(lines)
    if block.kind == "fence" and stop - block.body <= WHOLE_CODE + 2:
        return None
    if block.kind != "text":
        least = block.body + LEAST_LINES.get(block.kind, stop)
        sizes = _row_sizes(lines[least - 1 : stop - 1], counter)
        rows = ((LineRange(block.first, end, fence=block.fence), units) for end, units in enumerate(sizes, least))
        return _furthest(rows, left, fits)

    # A state is a place in a line: to take all beginnings out of a long line would cost its square.
    def part_up_to(place: tuple[int, int]) -> LineRange:
        line, end = place
        return LineRange(block.first, line, lines[line][:end])

    starts = {*block.statement_starts(lines)}
    states = _places(lines, block.body, stop, starts, lambda line: sentence_ends(line, list_mark(line)))
    place = _furthest_by_doubling(states, lambda place: fits(part_up_to(place)))
    if place is None and may_tear:
        states = _places(lines, block.body, stop, range(block.body + 1, stop), _words)
        place = _furthest_by_doubling(states, lambda place: fits(part_up_to(place)))
    return part_up_to(place) if place else None


def _last_part(
    block: TextBlock, lines: Sequence[str], left: int, counter: TokenCounter, fits: Fits, *, is_alone: bool
) -> LineRange | None:
    """The most of the last lines of one block that fit, or words of its last line if these are all that is shown."""
    stop = block.end(lines)
    if block.kind == "fence" and stop - block.body <= WHOLE_CODE + 2 and not is_alone:
        return None
    head = block.body + LEAST_LINES[block.kind] - 1
    # Of a fence no closing without a line of code, and no underline without its heading.
    last = stop - 1 - (block.kind == "fence")
    starts = (min(line - is_underline(lines[line]), last) for line in range(stop - 1, head - 1, -1))
    parts = (LineRange(max(start, head), block.stop, lead="\n".join(lines[block.body : head])) for start in starts)
    part = _furthest(zip(parts, _row_sizes(lines[head:stop][::-1], counter), strict=True), left, fits)
    if part is None and is_alone and block.kind == "text":
        words = (LineRange(stop - 1, stop - 1, lines[stop - 1][:end]) for end in _words(lines[stop - 1]))
        return _furthest_by_doubling(words, fits)
    return part


def _some_lines(
    block: TextBlock, lines: Sequence[str], left: int, counter: TokenCounter, fits: Fits, *, is_end: bool
) -> LineRange | None:
    """The most of a block's first lines that fit, where no part fits that `_part` gives, each of which has all these.

    Of plain text only its headings, since its words did not fit; of a fence no opening without a line of code. With
    `is_end`, the last of its lines if these are headings.
    """
    stop = block.body if block.kind == "text" else block.end(lines)
    least = block.body + LEAST_LINES["fence"] if block.kind == "fence" else 0

    def first_lines(end: int) -> LineRange:
        in_body = end > block.body
        return LineRange(block.first, max(end, least * in_body), fence=block.fence * in_body)

    if is_end and block.kind in {"text", "heading"}:
        stop = next((end for end in range(stop, block.first, -1) if lines[end - 1].strip()), block.first)
        sizes = _row_sizes(lines[block.first : stop][::-1], counter)
        return _furthest(((LineRange(stop - n, stop), units) for n, units in enumerate(sizes, 1)), left, fits)
    sizes = _row_sizes(lines[block.first : stop], counter)
    return _furthest(((first_lines(end), units) for end, units in enumerate(sizes, block.first + 1)), left, fits)


def _places(
    lines: Sequence[str], first: int, stop: int, starts: Collection[int], ends: Callable[[str], Iterable[int]]
) -> Iterator[tuple[int, int]]:
    """The places where some lines may be cut: before a line of `starts`, with 0, and after some characters of one."""
    for number in range(first, stop):
        line = lines[number]
        if number in starts:
            yield number, 0
        length, least = len(line.rstrip()), structural_length(line)
        for end in ends(line):
            if least < end < length:
                yield number, end
            elif end >= length and number + 1 < stop:
                yield number + 1, 0


def _row_sizes(rows: Sequence[str], counter: TokenCounter) -> Iterator[int]:
    """The least units that each further line adds, with the line ends before it where these are counted apart.

    Without the line ends, hundreds of states that can't fit would be laid out. Of exact tokens, one may hold the end of
    a line, but none reaches across it after a letter or a digit (`tokens.py`). Empty lines at an end are not shown.
    """
    line_ends, above = "", ""
    for row in rows:
        is_apart = bool(line_ends) and (counter.adds_up or above[-1:].isalnum())
        yield counter.units(line_ends + row if is_apart else row) if row else 0
        if row:
            line_ends, above = "", row
        line_ends += "\n"


def _words(line: str) -> Iterator[int]:
    """The end of each step by which a line may grow, the last one left out: it would be the whole line."""
    from contextasm.text.graphemes import grapheme_ends  # here: few texts are cut between words

    mark = list_mark(line)
    end = 0
    for word in re.finditer(r"\S+", line[mark:]):
        for length in grapheme_ends(word[0]) if len(word[0]) > LONG_WORD else (len(word[0]),):
            if end:
                yield end
            end = mark + word.start() + length


def _excerpts(fragments: Sequence[Fragment], pieces: Sequence[_Piece]) -> tuple[Excerpt, ...]:
    """The pieces put together again with the headings above them, fragment by fragment."""
    own = {(piece.number, line) for piece in pieces for line in range(piece.lines.first, piece.block.body)}
    above = {(piece.number, line) for piece in pieces for line in piece.titles} - own
    parts = [(number, LineRange(title, title + 1)) for number, title in above]
    ranges: dict[int, list[LineRange]] = {}
    for number, part in sorted([*parts, *((piece.number, piece.lines) for piece in pieces)]):
        shown = ranges.setdefault(number, [])
        if shown and shown[-1].stop == part.first and not (shown[-1].words or shown[-1].fence or part.lead):
            shown[-1] = shown[-1]._replace(stop=part.stop, words=part.words, fence=part.fence)
        else:
            shown.append(part)
    return tuple(Excerpt(fragments[number], tuple(shown)) for number, shown in ranges.items())
