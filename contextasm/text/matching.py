"""Names: the nearest known one, for messages that put a slip right."""

from __future__ import annotations

import re
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], alike: float = 0.5) -> str:
    """The known name most like `name`, at least `alike` (0 to 1) of it; empty where there is none."""
    from difflib import get_close_matches

    folded = {each.casefold(): each for each in known}
    return next((folded[found] for found in get_close_matches(name.casefold(), folded, 1, alike)), "")


def mentions(text: str, name: str) -> bool:
    """Whether a text, case folded, holds a name as whole words."""
    folded = name.casefold()
    return folded in text and re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", text) is not None
