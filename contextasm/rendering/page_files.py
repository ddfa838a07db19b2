"""The files behind contexts on a page: every line, and whether it is shown; lines that are lost are grey and say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from contextasm.model import Decision, Span
from contextasm.rendering.fragment_texts import FragmentTexts
from contextasm.rendering.page import clipped, element, lines_of_text, words
from contextasm.rendering.page_layers import NamedContext

MAX_FILE_BYTES = 100_000
"""Number of bytes of one file's text on a page."""

MAX_BYTES = 1_000_000
"""Number of bytes of all files' texts on a page."""

MAX_LINE = 2000
"""Number of characters of one line."""

SHOWN, LOST, NO_FRAGMENT = "shown", "lost", "in no fragment"


class _State(NamedTuple):
    """What becomes of a line: `SHOWN`, `LOST` or `NO_FRAGMENT`, and the contexts that show it."""

    kind: str
    names: tuple[str, ...] = ()
    """Names of the contexts that show it; empty where all do."""


def file_anchors(texts: FragmentTexts) -> Mapping[str, str]:
    """The name of each opened file's place on a page, by path."""
    return {path: f"file-{number}" for number, path in enumerate(texts.paths, 1)}


def file_list(contexts: Sequence[NamedContext], texts: FragmentTexts, anchors: Mapping[str, str]) -> str:
    """Each opened file with its lines, folded; those beyond the room of a page are named with their figures alone."""
    by_path: dict[str, list[list[Decision]]] = {path: [[] for _ in contexts] for path in texts.paths}
    for place, each in enumerate(contexts):
        for decision in each.context.decisions:
            if decision.path in by_path:
                by_path[decision.path][place].append(decision)
    names = [each.name for each in contexts]
    parts: list[str] = []
    room = MAX_BYTES
    for path, decisions in by_path.items():
        start, lines = texts.lines(path)
        states = _states(start, lines, decisions, names)
        body, size = _file_body(start, lines, states, min(room, MAX_FILE_BYTES))
        room -= size
        parts.append(_file_part(path, anchors[path], states, body))
    return "\n".join(parts)


def _states(
    start: int, lines: Sequence[str], decisions: Sequence[Sequence[Decision]], names: Sequence[str]
) -> Sequence[_State]:
    """What becomes of each line; a blank line goes with the line above it."""
    first, stop = start, start + len(lines)
    covered = _numbers((decision.lines for own in decisions for decision in own), first, stop)
    shown = [_numbers((span for decision in own for span in decision.kept), first, stop) for own in decisions]
    states: list[_State] = []
    for number, line in enumerate(lines, start):
        own = tuple(name for name, numbers in zip(names, shown, strict=True) if number in numbers)
        state = _State(SHOWN, () if len(own) == len(names) else own) if own else _State(LOST)
        if not own and number not in covered:
            state = _State(NO_FRAGMENT)
        states.append(states[-1] if states and not line.strip() else state)
    return states


def _numbers(spans: Iterator[Span], first: int, stop: int) -> set[int]:
    return {number for start, end in spans for number in range(max(start, first), min(end + 1, stop))}


def _file_body(start: int, lines: Sequence[str], states: Sequence[_State], room: int) -> tuple[str, int]:
    """The runs of lines with one fate as HTML of at most `room` bytes, and its size."""
    runs: list[str] = []
    size = number = 0
    for state, group in groupby(zip(states, lines, strict=True), key=lambda pair: pair[0]):
        members = [line for _, line in group]
        html = _run(start + number, [clipped(line, MAX_LINE) for line in members], state)
        if size + len(html.encode()) > room:
            rest = f"{len(lines) - number:,} more lines are not on this page"
            return "\n".join((*runs, element("p", rest, class_="more"))), size
        runs.append(html)
        size += len(html.encode())
        number += len(members)
    return "\n".join(runs), size


def _run(number: int, lines: Sequence[str], state: _State) -> str:
    last = number + len(lines) - 1
    place = f"{number}" if last == number else f"{number}–{last}"
    fate = f"{state.kind} with {', '.join(state.names)}" if state.names else state.kind
    css = {SHOWN: "part" if state.names else "", LOST: "lost", NO_FRAGMENT: "lost none"}[state.kind]
    label = element("span", f"{place} {words(fate)}", class_="fate")
    return f'<div class="run {css}">{label}<pre>{lines_of_text(chr(10).join(lines))}</pre></div>'


def _file_part(path: str, anchor: str, states: Sequence[_State], body: str) -> str:
    shown = sum(state.kind == SHOWN for state in states)
    lost = len(states) - shown
    figures = f"{shown:,} line{'s' * (shown != 1)} shown" + (f", {lost:,} not" if lost else "")
    title = f"{element('span', words(path), class_='place')} <small>{figures}</small>"
    return f'<details><summary>{title}</summary>\n<div id="{anchor}">\n{body}\n</div></details>'
