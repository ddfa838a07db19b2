"""Likeness: whether two texts say the same in nearly the same letters.

Letters only: no meaning, no language. What is to become of two texts that are alike is for the callers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple
from unicodedata import normalize

from contextasm.model import Document, Fragment
from contextasm.text.front_matter import attributes
from contextasm.text.markdown import list_lead
from contextasm.text.memory_parser import TASK_MARKS, TYPE, bullet_end

_ROUGH = 90
"""Per cent: below that, what `memory_texts` gives of a memory need not be looked at more closely."""

_BULLET = re.compile(r"\n[-*+][ \t]")
_BLANKS = ("  ", *"\t\r\v\f\x1c\x1d\x1e\x1f\x85\u1680\u2028\u2029")
"""What `fold_text` makes one blank, and normal form KC does not."""


class SimilarText(NamedTuple):
    """A text that is like another one."""

    at: int
    """Its place among those that were compared."""
    share: float
    """How much alike they are, 0 to 1."""


def fold_text(text: str) -> str:
    """A text without what does not tell two apart: case, width and form of letters, kinds of blanks."""
    return " ".join(normalize("NFKC", text).casefold().split())


def similarity(one: str, other: str) -> float:
    """How much alike two folded texts are, 0 to 1; 0 where they hold other numbers.

    "Keep 3 copies" and "Keep 5 copies" differ in one letter and in all that matters.
    """
    from rapidfuzz.distance import Indel

    if re.findall(NUMBER, one) != re.findall(NUMBER, other):
        return 0.0
    length = len(one) + len(other)
    return (length - Indel.distance(one, other)) / length if length else 1.0


def is_same(one: str, other: str) -> bool:
    """Whether two folded texts say the same. In whole numbers, for at the boundary a rounded share may fall short."""
    from rapidfuzz.distance import Indel

    if re.findall(NUMBER, one) != re.findall(NUMBER, other):
        return False
    length = len(one) + len(other)
    return Indel.distance(one, other) * 100 <= (100 - SAME_PERCENT) * length


def find_similar(text: str, others: Sequence[str]) -> list[SimilarText]:
    """Those of many folded texts that may be the same as this one, the most alike first."""
    if not others:
        return []
    from rapidfuzz import fuzz, process

    found = process.extract(text, others, scorer=fuzz.ratio, limit=None, score_cutoff=_ROUGH)
    return [SimilarText(at, ratio / 100) for _, ratio, at in found]


def nearest_of_many(name: str, known: Collection[str]) -> str:
    """The known name most like `name`; empty where none is half like it.

    Unlike `text.names` it is quick with thousands of names.
    """
    from rapidfuzz import process

    found = process.extractOne(name, known, score_cutoff=50)
    return found[0] if found else ""


def memory_texts(document: Document) -> list[str]:
    """What the memories of a file say, folded: read in a hurry, in no order, with things among it that are none.

    A hundred thousand of them take `text.memories` some seconds, and this a quarter of one.
    """
    if document.front.get("type"):
        return [fold_text(document.text)]
    text = normalize("NFKC", "\n".join(_texts(document.text))).casefold()
    lines = text.split("\n")
    return [" ".join(line.split()) for line in lines] if any(blank in text for blank in _BLANKS) else lines


def _texts(text: str) -> Iterator[str]:
    """The text of each bullet in one line, without type and attributes."""
    for each in _BULLET.split("\n" + text)[1:]:
        own = " ".join(_lines(each).split()) if "\n" in each else each.strip()
        if own[:1] == "[" and (found := TYPE.match(own)) and found[1] not in TASK_MARKS:
            own = own[found.end() :]
        if own[-1:] == "}" and "=" in own[own.rfind("{") :]:
            own = attributes(own)[0]
        yield own


def _lines(text: str) -> str:
    """The lines that belong to a bullet, of those up to the next one."""
    lines = text.split("\n")
    return "\n".join(lines[: bullet_end(lines, 0)])


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
    own = fragment.statement or fragment.text[len(list_lead(fragment.text)) :]
    folded = " ".join(own.casefold().split())
    figures = (*re.findall(NUMBER, folded), *(each.group() for each in re.finditer(_NEGATION, folded)))
    return Fingerprint(folded, figures)
