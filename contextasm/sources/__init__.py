"""Sources: each finds the fragments of a layer. A new one is a module here and a line in the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from contextasm.model import Ask, Found, Meaning, Pools, Profile, Request, Workspace
from contextasm.sources.daily import daily
from contextasm.sources.document import document
from contextasm.sources.memories import recent, search

Source = Callable[[Ask], Found]

SOURCES: Mapping[str, Source] = {
    "document": document,
    "daily": daily,
    "recent": recent,
    "search": search,
}
"""Every source by the name that profiles use."""


def retrieve(
    workspace: Workspace,
    profile: Profile,
    request: Request,
    meaning: Meaning | None = None,
    pools: Pools | None = None,
) -> dict[str, Found]:
    """What is found for each layer, by the layer's id.

    Raises `ContextasmError` where a file of a required layer can't be read.
    """
    asks = (Ask(workspace, layer, request, meaning, pools) for layer in profile.layers)
    return {ask.layer.id: _first_that_finds(ask) for ask in asks}


def _first_that_finds(ask: Ask) -> Found:
    """What the first of a layer's sources brings that has anything in question, else what the last one brings."""
    found, in_vain = Found(), False
    for name in ask.layer.source:
        in_vain = in_vain or bool(found.fragments)
        found = SOURCES[name](ask)
        if any(fragment.out is None for fragment in found.fragments):
            break
    if not in_vain:
        return found
    return found._replace(fragments=tuple(fragment._replace(why="fallback") for fragment in found.fragments))
