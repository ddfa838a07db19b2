"""The layers of contexts on a page: a bar for each context, and a table of their tokens that names the colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import Context, LayerUsage
from contextasm.rendering.page import element, table, words

COLOURS = 10
"""Number of colours; the layers after these have them again, paler."""

_WIDTH, _HEIGHT = 1000, 24


class NamedContext(NamedTuple):
    """A context with its name on a page, such as its budget."""

    name: str
    context: Context


def layer_colours(contexts: Sequence[Context]) -> Mapping[str, str]:
    """The class of the style sheet that colours each layer, by id."""
    ids = dict.fromkeys(usage.layer for context in contexts for usage in context.allowances)
    return {layer: f"c{number % COLOURS}{' pale' if number // COLOURS % 2 else ''}" for number, layer in enumerate(ids)}


def layer_bars(contexts: Sequence[NamedContext]) -> str:
    """A bar for each context, in tokens of one scale: its layers in their order, then the room that is left."""
    colours = layer_colours([each.context for each in contexts])
    longest = max(max(each.context.request.budget, each.context.tokens) for each in contexts) or 1
    rows = "\n".join(_bar_row(each, colours, longest) for each in contexts)
    return f'<div class="bars">\n{rows}\n</div>'


def _bar_row(named: NamedContext, colours: Mapping[str, str], longest: int) -> str:
    context = named.context
    figures = f"{context.tokens:,} of {context.request.budget:,} tokens"
    label = f"{named.name}: {figures}"
    pieces = "".join(_bar_pieces(context, colours, longest))
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none"'
    bar = f'<svg {size} role="img" aria-label="{words(label)}">{pieces}</svg>'
    name = element("span", words(named.name), class_="name")
    return f'<div class="bar">{name}{bar}{element("span", words(figures), class_="figures")}</div>'


def _bar_pieces(context: Context, colours: Mapping[str, str], longest: int) -> Iterator[str]:
    at = 0
    for usage in context.allowances:
        if usage.used:
            yield _piece(at, at + usage.used, longest, colours[usage.layer], f"{usage.layer}: {usage.used:,} tokens")
            at += usage.used
    if at < context.request.budget:
        yield _piece(at, context.request.budget, longest, "free", f"free: {context.request.budget - at:,} tokens")


def _piece(start: int, stop: int, longest: int, colour: str, title: str) -> str:
    left, right = (place * _WIDTH / longest for place in (start, stop))
    place = f'x="{left:.2f}" width="{right - left:.2f}" height="{_HEIGHT}"'
    return f'<rect class="{colour}" {place}><title>{words(title)}</title></rect>'


def layer_table(contexts: Sequence[NamedContext]) -> str:
    """The tokens of each layer, wanted and used, with a column for each context."""
    colours = layer_colours([each.context for each in contexts])
    usages = [{usage.layer: usage for usage in each.context.allowances} for each in contexts]
    headings = layer_headings([each.context for each in contexts])
    rows = [
        (
            f'<span class="key {colour}"></span>{words(layer)} {element("small", words(headings.get(layer, "")))}',
            f"{max(own[layer].wanted for own in usages if layer in own):,}",
            *(_used(own.get(layer)) for own in usages),
        )
        for layer, colour in colours.items()
    ]
    rows.append(("document", "", *(f"<b>{each.context.tokens:,}</b>" for each in contexts)))
    return table("Tokens of each layer", ("layer", "wanted", *(each.name for each in contexts)), rows)


def layer_headings(contexts: Sequence[Context]) -> Mapping[str, str]:
    """The headings of each layer's sections, by id."""
    headings: dict[str, dict[str, None]] = {}
    for context in contexts:
        for section in context.sections:
            headings.setdefault(section.layer, {})[section.heading] = None
    return {layer: ", ".join(titles) for layer, titles in headings.items()}


def _used(usage: LayerUsage | None) -> str:
    if usage is None:
        return "–"
    return f"{usage.used:,}{' <em>cut</em>' if usage.used < usage.wanted else ''}"
