"""Names: the nearest known one, for messages that put a slip right."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like `name`; empty where none is alike."""
    from difflib import get_close_matches

    folded = {each.casefold(): each for each in known}
    return next((folded[found] for found in get_close_matches(name.casefold(), folded, 1, 0.5)), "")
