"""What a fragment says, apart from the form that it is shown in: enough to tell whether another one says the same."""

from __future__ import annotations

import re
from typing import NamedTuple

from contextasm.model import Fragment
from contextasm.text.markdown import list_lead

SAME_PERCENT = 92
"""Per cent: two texts this much alike say the same (digest, X7)."""

NUMBER = r"\d+(?:[.,:/-]\d+)*"
"""Two texts that hold other numbers never say the same."""
_NEGATION = r"\b(?:no|not|never|none|without|cannot|nicht|kein\w*|nie|ohne)\b|n['’]t\b"


class Fingerprint(NamedTuple):
    """What of a fragment tells it from another."""

    folded: str
    """Without list mark and type, in small letters, every run of blanks one."""
    figures: tuple[str, ...]
    """Its numbers and negations, in order."""


def fingerprint(fragment: Fragment) -> Fingerprint:
    """What of a fragment tells it from another."""
    own = fragment.said or fragment.text[len(list_lead(fragment.text)) :]
    folded = " ".join(own.casefold().split())
    figures = (*re.findall(NUMBER, folded), *(each.group() for each in re.finditer(_NEGATION, folded)))
    return Fingerprint(folded, figures)
