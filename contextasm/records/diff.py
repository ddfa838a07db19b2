"""Difference of two contexts, fragment by fragment.

Its sentences, its tables and its page are here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Literal, TypedDict

from contextasm.model import Context, Decision, NamedTuple, timed_out_layers
from contextasm.rendering import context_page
from contextasm.rendering import page as html
from contextasm.rendering.json_codec import Count, Day, Digest
from contextasm.rendering.tables import Table
from contextasm.rendering.wording import reason_words
from contextasm.text.cleaning.clean import clean_text
from contextasm.text.graphemes import beginning, clipped

ShiftKind = Literal["entered", "left", "shortened", "lengthened", "moved", "changed"]
"""Kinds of a shift: shown only after; shown only before; shown with less or with more of the fragment, because of the
room; shown in another layer; shown with another text."""


class Side(NamedTuple):
    """One of two contexts that are compared."""

    label: str
    """The context in the words of the command line, such as `HEAD~3` or `now`."""
    context: Context
    digests: Mapping[str, str]
    """The SHA-256 of every file that was opened, by path."""


class Shift(NamedTuple):
    """Change of one fragment, or of a section's text if no fragment accounts for the change."""

    kind: ShiftKind
    fragment: str
    before: Decision | None
    """None if the fragment was not found."""
    after: Decision | None
    """None if the fragment is not found any more."""
    layers: tuple[str, str]
    """Layers before and after; they differ if the fragment moved."""
    tokens: tuple[int, int]
    """Tokens of the shown text before and after."""
    timed_out: bool = False
    """Whether the side without the fragment had no answer in time from the layer's sources."""


class Difference(NamedTuple):
    """Two contexts side by side."""

    before: Side
    after: Side
    shifts: tuple[Shift, ...]
    """In the order of the fragments in their layers; fragments that left come last."""
    identical_bytes: int
    """The length in bytes of the identical beginning of both texts, which a provider's prompt cache can use again."""


def compare_contexts(before: Side, after: Side) -> Difference:
    """The fragments that entered, left, moved or are shown otherwise, and the length of the identical beginning."""
    pairs = _paired(html.numbered(before.context.decisions), html.numbered(after.context.decisions))
    shifts = [shift for old, new in pairs if (shift := _shift(old, new, before, after))]
    shifts += _section_shifts(before, after, {layer for shift in shifts for layer in shift.layers})
    order = list(dict.fromkeys(usage.layer for side in (after, before) for usage in side.context.allowances))
    shifts.sort(key=lambda shift: order.index(shift.layers[1]))
    pairs_of_bytes = zip(before.context.text.encode(), after.context.text.encode(), strict=False)
    identical = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs_of_bytes))
    return Difference(before, after, tuple(shifts), identical)


Pair = tuple[Decision | None, Decision | None]
"""Decisions on a fragment before and after; None for a context that does not have it."""


def _paired(before: Mapping[html.FragmentKey, Decision], after: Mapping[html.FragmentKey, Decision]) -> Sequence[Pair]:
    """Both decisions on each fragment, also if another layer shows it after."""
    pairs: dict[html.FragmentKey, Pair] = {key: (before.get(key), after.get(key)) for key in (*after, *before)}
    left = {key[1]: key for key, (old, new) in pairs.items() if _is_shown(old) and not _is_shown(new)}
    for key, (old, new) in list(pairs.items()):
        if _is_shown(new) and not _is_shown(old) and key[1] in left:
            old_key = left.pop(key[1])
            pairs[key], pairs[old_key] = (pairs[old_key][0], new), (None, pairs[old_key][1])
    return [*pairs.values()]


def _is_shown(decision: Decision | None) -> bool:
    return bool(decision and decision.tokens_after)


def _shift(old: Decision | None, new: Decision | None, before: Side, after: Side) -> Shift | None:
    latest = new or old
    if latest is None:
        return None
    tokens = (old.tokens_after if old else 0, new.tokens_after if new else 0)
    kind = _kind(old, new, before, after)
    layers = (old.layer if old else latest.layer, latest.layer)
    sides_without = [side for side, decision in ((before, old), (after, new)) if not decision]
    timed_out = any(latest.layer in timed_out_layers(side.context.problems) for side in sides_without)
    return Shift(kind, latest.fragment, old, new, layers, tokens, timed_out) if kind else None


def _kind(old: Decision | None, new: Decision | None, before: Side, after: Side) -> ShiftKind | None:
    """The kind; None if the fragment is shown as before."""
    if not old or not new or not old.tokens_after or not new.tokens_after:
        return "entered" if _is_shown(new) else "left" if _is_shown(old) else None
    if old.layer != new.layer:
        return "moved"
    if new.tokens_after < old.tokens_after and new.outcome in {"truncated", "shortened"}:
        return "shortened"
    if new.tokens_after > old.tokens_after and old.outcome in {"truncated", "shortened"}:
        return "lengthened"
    is_other_file = old.fragment == old.path and before.digests.get(old.path) != after.digests.get(new.path)
    is_edited = is_other_file and _section_texts(before, old.layer) != _section_texts(after, new.layer)
    return "changed" if is_edited or new.tokens_after != old.tokens_after else None


def _section_texts(side: Side, layer: str) -> Sequence[str]:
    return [section.text for section in side.context.sections if section.layer == layer]


def _section_shifts(before: Side, after: Side, shifted_layers: set[str]) -> list[Shift]:
    """Sections with another text, in layers of which no fragment accounts for the change."""
    old_sections = {(section.layer, section.heading): section for section in before.context.sections}
    return [
        Shift("changed", new.heading, None, None, (new.layer, new.layer), (old.tokens, new.tokens))
        for new in after.context.sections
        if new.layer not in shifted_layers
        and (old := old_sections.get((new.layer, new.heading)))
        and old.text != new.text
    ]


def shift_table(difference: Difference) -> Table:
    """Header, rows and columns of figures: the change of each fragment, and the reason."""
    rows = []
    for shift in difference.shifts:
        change = f"{shift.tokens[1] - shift.tokens[0]:+,}"
        rows.append((shift.kind, layer_words(shift), change, shift_place(shift), shift_reason(shift)))
    return ("what", "layer", "tokens", "where", "why"), rows, (2,)


def layer_words(shift: Shift) -> str:
    """The layer of a change; both layers of a fragment that moved."""
    old, new = shift.layers
    return new if old == new else f"{old} -> {new}"


def shift_place(shift: Shift) -> str:
    """The file and line of a change, or the heading of the section that changed."""
    decision = shift.after or shift.before
    if decision is None:
        return shift.fragment
    return f"{decision.path}:{decision.lines[0]}" if decision.lines[0] else decision.path


def shift_reason(shift: Shift) -> str:
    """The reason in words: that of the side on which the fragment is missing or cut."""
    if shift.kind == "entered":
        absence = _absence_words(shift, shift.before)
        return f"was out: {absence}" if absence else "is new"
    if shift.kind == "left":
        return _absence_words(shift, shift.after) or "is gone"
    if shift.kind == "shortened" and shift.after:
        return reason_words(shift.after.reason)
    if shift.kind == "lengthened" and shift.before:
        return f"was cut: {reason_words(shift.before.reason)}"
    return {"changed": "its text changed", "moved": "found by another layer"}.get(shift.kind, "")


def _absence_words(shift: Shift, decision: Decision | None) -> str:
    if shift.timed_out:
        return "its layer did not answer in time"
    return reason_words(decision.reason) if decision else ""


def summary(difference: Difference) -> str:
    """The figures of both texts in one line."""
    old, new = difference.before.context, difference.after.context
    length = len(new.text.encode())
    share = f" ({difference.identical_bytes * 100 // length} % of {length:,})" if length else ""
    return (
        f"{difference.before.label}: {old.tokens:,} tokens; {difference.after.label}: {new.tokens:,} tokens "
        f"({new.tokens - old.tokens:+,}); the first {difference.identical_bytes:,} bytes{share} are identical"
    )


class SideData(TypedDict):
    """One of two contexts that are compared."""

    label: str
    """The context in the words of the command line, such as `HEAD~3` or `now`."""
    etag: Digest
    """SHA-256 of its text."""
    tokens: Count
    """Its tokens."""
    bytes: Count
    """The length of its text."""
    budget: Count
    """The tokens that it may have."""
    date: Day
    """The day that counts as today."""


class ShiftData(TypedDict):
    """The change of a fragment, or of a section."""

    kind: ShiftKind
    """Shown only after, or only before; with less or more of it; in another layer; with another text."""
    fragment: str
    """Its id, or a section's heading if no fragment accounts for it."""
    path: str | None
    """Its file; null for a section."""
    line: Count | None
    """Its first line; 0 if the file was not opened, null for a section."""
    layer_before: str
    """The layer that showed it before."""
    layer_after: str
    """The layer that shows it after."""
    tokens_before: Count
    """Tokens that were shown of it."""
    tokens_after: Count
    """Tokens that are shown of it."""
    reason_before: str | None
    """Code of the reason of the decision before; null if the fragment was not found."""
    reason_after: str | None
    """Code of the reason of the decision after; null if the fragment is not found any more."""
    why: str
    """The reason in words."""


class DiffDocument(TypedDict):
    """The changes between two contexts, as `ctxasm diff --json` prints them."""

    schema: Literal["ctxasm.diff/1"]
    before: SideData
    """The first context."""
    after: SideData
    """The second context."""
    identical_bytes: Count
    """The length of the identical beginning of both contents: what a prompt cache keeps."""
    changes: list[ShiftData]
    """In the order of the fragments in their layers."""


def diff_data(difference: Difference) -> dict[str, object]:
    """The difference, with what `DiffDocument` has of it."""
    before, after = map(_side_data, (difference.before, difference.after))
    return difference._asdict() | {"before": before, "after": after, "changes": [*map(_shift_data, difference.shifts)]}


def _side_data(side: Side) -> dict[str, object]:
    request, size = side.context.request, len(side.context.text.encode())
    more = {"label": side.label, "bytes": size, "budget": request.budget, "date": request.date.isoformat()}
    return side.context._asdict() | more


def _shift_data(shift: Shift) -> dict[str, object]:
    decision = shift.after or shift.before
    return {
        **shift._asdict(),
        "path": decision.path if decision else None,
        "line": decision.lines[0] if decision else None,
        "layer_before": shift.layers[0],
        "layer_after": shift.layers[1],
        "tokens_before": shift.tokens[0],
        "tokens_after": shift.tokens[1],
        "reason_before": shift.before.reason.code if shift.before else None,
        "reason_after": shift.after.reason.code if shift.after else None,
        "why": shift_reason(shift),
    }


_AROUND = 3
"""Number of equal lines that are shown on each side of a change."""


def difference_page(difference: Difference, style: str) -> str:
    """The page of a difference; `style` is the style sheet. Equal differences give equal bytes."""
    sides = (difference.before, difference.after)
    named = [(side.label, side.context) for side in sides]
    owner = context_page.owner_words(difference.after.context)
    title = f"{difference.before.label} and {difference.after.label}: context of {owner}"
    parts = (
        f"<header>{html.element('h1', html.words(title))}",
        *dict.fromkeys(context_page.request_line(side.context) for side in sides),
        f"{html.element('p', html.words(summary(difference), 2000), class_='receipt')}</header>",
        "<main>",
        f"<section>{html.element('h2', 'Tokens')}\n{html.layer_bars(named)}\n{html.layer_table(named)}</section>",
        *context_page.problem_section([side.context for side in sides]),
        f"<section>{html.element('h2', 'Changes')}",
        *_shift_list(difference),
        f"</section>\n<section>{html.element('h2', 'Text')}",
        *_text_runs(*(clean_text(side.context.text).text.split("\n")[:-1] for side in sides)),
        "</section>",
        "</main>",
    )
    return html.page(title, style, parts)


def _shift_list(difference: Difference) -> Iterator[str]:
    if not difference.shifts:
        yield html.element("p", "Both contexts show the same fragments.")
        return
    before, after = (html.FragmentTexts([side.context]) for side in (difference.before, difference.after))
    listed = (_shift_item(shift, before, after) for shift in difference.shifts[: html.MAX_FRAGMENTS])
    items = [*html.that_fit(listed, html.MAX_FRAGMENT_BYTES)]
    yield "\n".join(('<ol class="fragments">', *items, "</ol>"))
    if rest := len(difference.shifts) - len(items):
        yield html.element("p", f"{rest:,} more changes are not listed: {html.limit_words(len(items))}", class_="more")


def _shift_item(shift: Shift, before: html.FragmentTexts, after: html.FragmentTexts) -> str:
    text = (after.text(shift.after) if shift.after else "") or (before.text(shift.before) if shift.before else "")
    about = html.element("p", html.words(shift_place(shift)), class_="place")
    if text := html.words(beginning(text, html.MAX_BEGINNING)):
        about += html.element("p", text, class_="text")
    old, new = shift.tokens
    css = {"entered": "included", "left": "left", "shortened": "truncated"}.get(shift.kind, "changed")
    what = f"{html.element('b', shift.kind, class_='outcome')} in {html.words(layer_words(shift))}"
    change = f"{what}, {new - old:+,} tokens ({old:,} to {new:,}): {html.words(shift_reason(shift))}"
    return f'<li><div>{about}</div><ul class="decisions">{html.element("li", change, class_=css)}</ul></li>'


def _text_runs(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """The lines that were added and removed, with a few equal lines around them."""
    if old == new:
        yield html.element("p", "Both texts are the same.")
        return
    runs = [*_runs(old, new)]
    fitting = [*html.that_fit(runs, context_page.MAX_FILES_BYTES)]
    yield from fitting
    if len(fitting) < len(runs):
        yield html.element("p", "The lines after these are not on this page.", class_="more")


def _runs(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    matcher = SequenceMatcher(None, old, new)
    for number, group in enumerate(matcher.get_grouped_opcodes(_AROUND)):
        if number:
            yield html.element("p", "…", class_="more")
        for tag, old_start, old_stop, new_start, new_stop in group:
            if tag == "equal":
                yield from _run("", new_start, new[new_start:new_stop])
            else:
                yield from _run("lost", old_start, old[old_start:old_stop])
                yield from _run("came", new_start, new[new_start:new_stop])


def _run(kind: str, start: int, lines: Iterable[str]) -> Iterator[str]:
    """One run of lines as HTML, in pieces that a page can leave out one by one; `start` is counted from 0."""
    lines = [clipped(line, context_page.MAX_LINE) for line in lines]
    for at in range(0, len(lines), 100):
        yield context_page.run_of_lines(start + at + 1, lines[at : at + 100], kind or "in both", kind)
