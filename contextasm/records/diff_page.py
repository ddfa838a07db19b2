"""The page about the difference of two contexts: layers side by side, every change, and the lines that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from contextasm.records.diff import Difference, Shift, Side, layer_words, shift_place, shift_reason, summary
from contextasm.rendering.context_page import MAX_FILES_BYTES, MAX_LINE, owner_words, problem_section, request_line
from contextasm.rendering.page import NamedContext, element, layer_bars, layer_table, lines_of_text, page, words
from contextasm.rendering.page_fragments import (
    MAX_BEGINNING,
    MAX_FRAGMENT_BYTES,
    MAX_FRAGMENTS,
    FragmentTexts,
    limit_words,
)
from contextasm.text.cleaning.clean import clean_text
from contextasm.text.graphemes import beginning, clipped

_AROUND = 3
"""Number of equal lines that are shown on each side of a change."""


def difference_page(difference: Difference, style: str) -> str:
    """The page of a difference; `style` is the style sheet. Equal differences give equal bytes."""
    sides = (difference.before, difference.after)
    named = [NamedContext(side.label, side.context) for side in sides]
    title = (
        f"{difference.before.label} and {difference.after.label}: context of {owner_words(difference.after.context)}"
    )
    parts = (
        f"<header>{element('h1', words(title))}",
        *dict.fromkeys(request_line(side.context) for side in sides),
        f"{element('p', words(summary(difference), 2000), class_='receipt')}</header>",
        "<main>",
        f"<section>{element('h2', 'Tokens')}\n{layer_bars(named)}\n{layer_table(named)}</section>",
        *problem_section([side.context for side in sides]),
        f"<section>{element('h2', 'Changes')}",
        *_shift_list(difference),
        f"</section>\n<section>{element('h2', 'Text')}",
        *_text_runs(*(_clean_lines(side) for side in sides)),
        "</section>",
        "</main>",
    )
    return page(title, style, parts)


def _shift_list(difference: Difference) -> Iterator[str]:
    if not difference.shifts:
        yield element("p", "Both contexts show the same fragments.")
        return
    before, after = (FragmentTexts([side.context]) for side in (difference.before, difference.after))
    items: list[str] = []
    room = MAX_FRAGMENT_BYTES
    for shift in difference.shifts[:MAX_FRAGMENTS]:
        item = _shift_item(shift, before, after)
        room -= len(item.encode())
        if room < 0:
            break
        items.append(item)
    yield "\n".join(('<ol class="fragments">', *items, "</ol>"))
    if rest := len(difference.shifts) - len(items):
        yield element("p", f"{rest:,} more changes are not listed: {limit_words(len(items))}", class_="more")


def _shift_item(shift: Shift, before: FragmentTexts, after: FragmentTexts) -> str:
    text = after.text(shift.after) if shift.after else before.text(shift.before) if shift.before else ""
    text = text or (before.text(shift.before) if shift.before else "")
    about = element("p", words(shift_place(shift)), class_="place")
    if text := words(beginning(text, MAX_BEGINNING)):
        about += element("p", text, class_="text")
    old, new = shift.tokens
    css = {"entered": "included", "left": "left", "shortened": "truncated"}.get(shift.kind, "changed")
    what = f"{element('b', shift.kind, class_='outcome')} in {words(layer_words(shift))}"
    change = f"{what}, {new - old:+,} tokens ({old:,} to {new:,}): {words(shift_reason(shift))}"
    return f'<li><div>{about}</div><ul class="decisions">{element("li", change, class_=css)}</ul></li>'


def _clean_lines(side: Side) -> Sequence[str]:
    return clean_text(side.context.text).text.split("\n")[:-1]


def _text_runs(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """The lines that came and those that were lost, with a few equal lines around them."""
    if old == new:
        yield element("p", "Both texts are the same.")
        return
    room = MAX_FILES_BYTES
    for html in _runs(old, new):
        room -= len(html.encode())
        if room < 0:
            yield element("p", "The lines behind these are not on this page.", class_="more")
            return
        yield html


def _runs(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    matcher = SequenceMatcher(None, old, new)
    for number, group in enumerate(matcher.get_grouped_opcodes(_AROUND)):
        if number:
            yield element("p", "…", class_="more")
        for tag, old_start, old_stop, new_start, new_stop in group:
            if tag == "equal":
                yield from _run("", new_start, new[new_start:new_stop])
            else:
                yield from _run("lost", old_start, old[old_start:old_stop])
                yield from _run("came", new_start, new[new_start:new_stop])


def _run(kind: str, start: int, lines: Iterable[str]) -> Iterator[str]:
    """One run of lines as HTML, in pieces that a page can leave out one by one; `start` is counted from 0."""
    lines = [clipped(line, MAX_LINE) for line in lines]
    for at in range(0, len(lines), 100):
        piece = lines[at : at + 100]
        first, last = start + at + 1, start + at + len(piece)
        place = f"{first}" if first == last else f"{first}–{last}"
        label = element("span", f"{place} {kind or 'in both'}", class_="fate")
        text = lines_of_text("\n".join(piece))
        yield f'<div class="run {kind}">{label}<pre>{text}</pre></div>'
