"""Words to similarities: how well each memory answers a query, from 0 to 1.

BM25 over word stems, where a memory also takes part in what its neighbours say, and a day or an author that the
query names counts. Reads no file, clock or environment, and knows no meaning: a memory that shares no word with
the query is not found. Postings come from memory (`build_index`) or from a store (`Index`); both give the same figures.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from contextasm.retrieval.search.analyzer import analyze, is_dense, split_words, term
from contextasm.retrieval.search.dates import closeness, named_dates
from contextasm.retrieval.search.inverted_index import (
    COUNTED,
    QUESTION,
    TIMED,
    Index,
)
from contextasm.retrieval.search.word_lists import BASES, STOP

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from contextasm.retrieval.search.dates import NamedDate
    from contextasm.retrieval.search.inverted_index import IndexColumns


# How fast a repeated word stops counting, and how much a long text is held against it (memories are short).
_K1: Final = 0.9
_B: Final = 0.2
# What a match is worth to the entries around it, by distance: what follows explains more than what came before.
_SHARES: Final = ((1, 0.55), (2, 0.35), (3, 0.2), (-1, 0.35), (-2, 0.2), (-3, 0.1))
# A word that more than one in eight of many entries hold says nothing about their neighbours, and is dear to spread.
_MANY: Final = 2000
_COMMON: Final = 8

_PREFIX: Final = 5
_PREFIX_WEIGHT: Final = 0.5
# Few people mistype the first letter: where it differs, more of the rest has to agree.
_TYPO_WEIGHT: Final = 0.9
_TYPO_RATIO: Final = 75
_TYPO_RATIO_OTHER_LETTER: Final = 80
_TYPO_LENGTH: Final = 4
_TYPO_LIMIT: Final = 5
# A slip in its ending keeps a word from being stemmed: it is tried with its last letters off as well, with more care.
_ENDINGS: Final = (2, 3)
_ENDING_WEIGHT: Final = 0.9
_TYPO_RATIO_ENDING: Final = 80

# Cues, as parts of what a word that one entry alone holds is worth.
_DAY: Final = 1.0
_AUTHOR: Final = 0.6
_ANSWER: Final = 0.2
# What is left of an entry that only asks.
_ASKS_ITSELF: Final = 0.85
# The whole score sets similarity beside importance and age; left as it is, the difference between a hit and half a
# hit would count less there than a week.
CONTRAST: Final = 3
# What an entry with the very words of the query is lifted above the best other one.
_SAME: Final = 1.25

_ASKS_WHEN: Final = re.compile(r"\bwhen\b", re.IGNORECASE)
_ASKS_HOW_MANY: Final = re.compile(r"\bhow (?:long|many|much|old|often)\b", re.IGNORECASE)


def similarities(query: str, index: Index, floor: float = 0.5) -> dict[int, float]:
    """Rows with how well they answer the query: 1 for the best, nothing for a sum below `floor` of the best.

    The sum of BM25 (Robertson, Spärck Jones; idf in Lucene's form, never negative) over the query's words, in which
    each row counts with the best of its own value and its neighbours' shares; plus the cues; over the best sum, cubed.
    """
    dates = named_dates(query)
    named, wanted = _read(query, dates, index)
    totals: dict[int, float] = {}
    for word in wanted:
        for row, value in _values(word, index).items():
            totals[row] = totals.get(row, 0.0) + value
    _add_cues(totals, dates, named, _asked(query), index)
    best = max(totals.values(), default=0.0)
    for row in _same(query, index):
        totals[row] = best * _SAME
    best = max(totals.values(), default=0.0)
    return {row: (total / best) ** CONTRAST for row, total in totals.items() if total > 0 and total >= floor * best}


def _read(query: str, dates: Sequence[NamedDate], index: Index) -> tuple[frozenset[int], list[str]]:
    """The authors that a query names, as numbers, and the terms it asks for, each once.

    Names of authors are the commonest words of a log: they count as a cue, not as words, unless there is no other.
    The words of a date are no slips of the pen: they are looked for only as they stand.
    """
    found = analyze(query)
    spelled = [analyze(name) for name in index.authors]
    named = frozenset(place for place, name in enumerate(spelled) if name and set(name) <= set(found))
    topical = [word for word in found if word not in STOP] or found
    names = {word for place in named for word in spelled[place]}
    asked = dict.fromkeys(map(term, [word for word in topical if word not in names] or topical))
    dated = {word for date in dates for word in split_words(date.text)}
    return named, [word for word in asked if word not in dated or index.postings(word)[0]]


def _values(word: str, index: Index) -> dict[int, float]:
    """What one word of the query is worth to each row: the best of its own spellings, relatives and neighbours."""
    found: dict[int, float] = {}
    columns, size = index.columns, index.size
    flat, slope = _K1 * (1 - _B), _K1 * _B / (index.average or 1.0)
    lengths = columns.lengths
    for spelling, weight in _spellings(word, index):
        rows, counts = index.postings(spelling)
        scale = weight * (_K1 + 1) * _rarity(len(rows), size)
        values = [scale * f / (f + flat + slope * lengths[row]) for row, f in zip(rows, counts, strict=True)]
        for row, value in zip(rows, values, strict=True):
            if value > found.get(row, 0.0):
                found[row] = value
        if size < _MANY or len(rows) * _COMMON <= size:
            _share(rows, values, columns, found)
    return found


def _rarity(holders: int, size: int) -> float:
    return math.log(1 + (size - holders + 0.5) / (holders + 0.5))


def _share(rows: Sequence[int], values: Sequence[float], columns: IndexColumns, found: dict[int, float]) -> None:
    """Give neighbours in the same section their share of each value; the largest counts, never the sum."""
    sections, kernels = columns.sections, columns.kernels
    for row, own in zip(rows, values, strict=True):
        section, value = sections[row], own * kernels[row] / 100
        for distance, share in _SHARES:
            # Before the first row the place is negative: Python then looks into the padding, which is no section.
            near = row + distance
            if sections[near] == section and value * share > found.get(near, 0.0):
                found[near] = value * share


def _spellings(word: str, index: Index) -> list[tuple[str, float]]:
    """The terms that stand for a word of the query, with their weights: itself, its relatives, else what is near."""
    if is_dense(word):
        return _pairs(word, index)
    relatives = index.beginning(word[:_PREFIX]) if len(word) >= _PREFIX else ()
    weights = dict.fromkeys(relatives, _PREFIX_WEIGHT)
    if index.postings(word)[0]:
        weights[word] = 1.0
    elif len(word) >= _TYPO_LENGTH and not word.isdecimal():
        for near, weight in _near(word, index):
            weights[near] = max(weight, weights.get(near, 0.0))
    return list(weights.items())


def _pairs(word: str, index: Index) -> list[tuple[str, float]]:
    """A pair of characters as it is; a lone one with every pair that holds it."""
    if len(word) > 1:
        return [(word, 1.0)]
    return [(held, 1.0) for held in index.beginning("") if len(held) <= 2 and word in held]


def _near(word: str, index: Index) -> Iterator[tuple[str, float]]:
    """The terms that an unknown word may be a slip of, with their weights."""
    slips = [held for held in index.beginning("") if held not in STOP]
    slips += [form for form, base in _filed().items() if index.postings(base)[0]]
    near = _close_to(word, slips, _TYPO_RATIO)
    for ending in _ENDINGS:
        if len(word) - ending >= _TYPO_LENGTH:
            for held, ratio in _close_to(word[:-ending], slips, _TYPO_RATIO_ENDING).items():
                near[held] = max(ratio * _ENDING_WEIGHT, near.get(held, 0.0))
    for held, ratio in sorted(near.items(), key=lambda item: (-item[1], item[0]))[:_TYPO_LIMIT]:
        yield held, _TYPO_WEIGHT * ratio / 100


def _close_to(word: str, slips: Sequence[str], cutoff: int) -> dict[str, float]:
    """The terms of words that a word resembles, with how much, up to 100."""
    from rapidfuzz import fuzz, process  # here: most queries hold no unknown word

    close: dict[str, float] = {}
    for held, ratio, _ in process.extract(word, slips, scorer=fuzz.ratio, score_cutoff=cutoff, limit=None):
        if held[0] == word[0] or ratio >= _TYPO_RATIO_OTHER_LETTER:
            filed = _filed().get(held, held)
            close[filed] = max(ratio, close.get(filed, 0.0))
    return close


@lru_cache(maxsize=1)
def _filed() -> Mapping[str, str]:
    """The irregular forms with their terms: a slip in `bought` should find `buy`."""
    return {form: term(form) for form in BASES}


def _asked(query: str) -> int:
    """The flags of entries that can answer this kind of question."""
    return (TIMED if _ASKS_WHEN.search(query) else 0) | (COUNTED if _ASKS_HOW_MANY.search(query) else 0)


def _add_cues(
    totals: dict[int, float], dates: Sequence[NamedDate], named: frozenset[int], asked: int, index: Index
) -> None:
    """Add what speaks for a row besides its words. A day that the query names is found without any word."""
    columns, rarest = index.columns, _rarity(1, index.size)
    close = closeness(set(columns.days), dates) if dates else {}
    if any(date.month for date in dates):
        for row, day in enumerate(columns.days):
            if close.get(day) == 1.0:
                totals.setdefault(row, 0.0)
    for row, total in totals.items():
        flag = columns.flags[row]
        cue = _DAY * close.get(columns.days[row], 0.0)
        if columns.authors[row] in named:
            cue += _AUTHOR
        if flag & asked:
            cue += _ANSWER
        totals[row] = (total + rarest * cue) * (_ASKS_ITSELF if flag & QUESTION else 1.0)


def _same(query: str, index: Index) -> list[int]:
    """The rows that hold the query's topical words, each as often, and no others: looked up rarest word first."""
    counts = Counter(split_words(query))
    held = sorted(((*index.postings(word), times) for word, times in counts.items()), key=lambda item: len(item[0]))
    lengths = index.columns.lengths
    rows: set[int] | None = None
    for holders, repeats, times in held:
        fitting = {row for row, f in zip(holders, repeats, strict=True) if f == times}
        rows = fitting if rows is None else rows & fitting
        rows = {row for row in rows if lengths[row] == sum(counts.values())}
        if not rows:
            return []
    return sorted(rows or ())
