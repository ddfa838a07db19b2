"""Similarity of texts by their letters: the fold, the share of equal letters, and the threshold for saying the same.

No meaning but for the words that turn it (`text.polarity`). The callers decide what happens to two texts that say the
same.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from contextasm.model import Document, Fragment
from contextasm.text.front_matter import attributes
from contextasm.text.markdown import list_lead
from contextasm.text.memory_parser import TASK_MARKS, TYPE, bullet_end, is_one_memory
from contextasm.text.polarity import negations, numbers, polarity

SAME_PERCENT = 92
"""Per cent: two texts this much alike say the same (digest, X7)."""

_CANDIDATE_PERCENT = SAME_PERCENT - 2
"""Per cent: below it, the hasty text that `memory_texts` gives of a memory rules the memory out."""

_BULLET = re.compile(r"\n[-*+][ \t]")
_BLANKS = ("  ", *"\t\r\v\f\x1c\x1d\x1e\x1f\x85\u1680\u2028\u2029")
"""Blanks that `fold_text` makes one, and normal form KC does not."""


class SimilarText(NamedTuple):
    """A text that is like another one."""

    at: int
    """Its place among the texts that were compared."""
    share: float
    """Similarity, 0 to 1."""


def fold_text(text: str) -> str:
    """A text without the differences that tell no two apart: case, width and form of letters, kinds of blanks."""
    return " ".join(normalize("NFKC", text).casefold().split())


def similarity(one: str, other: str) -> float:
    """Similarity of two folded texts, 0 to 1; 0 where they differ in a number or in their polarity.

    "Keep 3 copies" and "Keep 5 copies" differ in one letter and in all that matters.
    """
    from rapidfuzz.distance import Indel

    if not _has_same_figures(one, other):
        return 0.0
    length = len(one) + len(other)
    return (length - Indel.distance(one, other)) / length if length else 1.0


def is_same(one: str, other: str) -> bool:
    """Whether two folded texts say the same. In whole numbers, for at the boundary a rounded share may fall short."""
    from rapidfuzz.distance import Indel

    if not _has_same_figures(one, other):
        return False
    length = len(one) + len(other)
    return Indel.distance(one, other) * 100 <= (100 - SAME_PERCENT) * length


def _has_same_figures(one: str, other: str) -> bool:
    return _figures(one) == _figures(other)


@lru_cache(maxsize=4096)
def _figures(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    # One text is compared with many.
    return numbers(text), polarity(text)


def find_similar(text: str, others: Sequence[str], least_percent: int = _CANDIDATE_PERCENT) -> list[SimilarText]:
    """The texts in `others`, all folded, that may say the same as `text`, the most similar first.

    `least_percent` is the least similarity by letters alone; a caller confirms each with `is_same` or `similarity`.
    """
    if not others:
        return []
    from rapidfuzz import fuzz, process

    matches = process.extract(text, others, scorer=fuzz.ratio, limit=None, score_cutoff=least_percent)
    return [SimilarText(at, ratio / 100) for _, ratio, at in matches]


def memory_texts(document: Document) -> list[str]:
    """The folded texts of a file's memories, in no order, with some texts among them that are no memory.

    For a hundred thousand memories `text.memory_parser` takes some seconds, and this hasty reading a quarter of one.
    """
    if is_one_memory(document):
        return [fold_text(document.text)]
    text = normalize("NFKC", "\n".join(_bullet_texts(document.text))).casefold()
    lines = text.split("\n")
    return [" ".join(line.split()) for line in lines] if any(blank in text for blank in _BLANKS) else lines


def _bullet_texts(text: str) -> Iterator[str]:
    """The text of each bullet in one line, without type and attributes."""
    for bullet in _BULLET.split("\n" + text)[1:]:
        line = " ".join(_own_lines(bullet).split()) if "\n" in bullet else bullet.strip()
        if line[:1] == "[" and (kind := TYPE.match(line)) and kind[1] not in TASK_MARKS:
            line = line[kind.end() :]
        if line[-1:] == "}" and "=" in line[line.rfind("{") :]:
            line = attributes(line)[0]
        yield line


def _own_lines(text: str) -> str:
    # The text reaches up to the next bullet; paragraphs between the two belong to neither.
    lines = text.split("\n")
    return "\n".join(lines[: bullet_end(lines, 0)])


class Fingerprint(NamedTuple):
    """The parts of a fragment that tell it from another one."""

    folded: str
    """Text without list mark and type, folded."""
    figures: tuple[str, ...]
    """Its numbers and negations, in order."""
    polarity: tuple[str, ...]
    """Its words that turn the meaning of a text, in order."""


def fingerprint(fragment: Fragment) -> Fingerprint:
    """The folded text of a fragment, with the numbers, negations and other words in it that decide its meaning."""
    return text_fingerprint(fragment.statement or fragment.text[len(list_lead(fragment.text)) :])


def text_fingerprint(text: str) -> Fingerprint:
    """A text folded, with the numbers, negations and other words in it that decide its meaning."""
    folded = fold_text(text)
    return Fingerprint(folded, (*numbers(folded), *negations(folded)), polarity(folded))
