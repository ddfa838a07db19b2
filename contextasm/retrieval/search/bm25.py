"""BM25: similarity of each entry to a query by its words, from 0 to 1.

BM25 over word stems; an entry's neighbours add a share, and a day or an author that the query names adds a cue.
Reads no file, clock or environment, and knows no meaning: an entry that has no word and no day of it is not a hit.
Any `Index` of the same entries, in memory or in a file, gives the same figures. `fuse` joins them with similarity by
embeddings, in equal shares.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import Final

from contextasm.model import CONTRAST, MIN_MATCH, Score, grouped
from contextasm.retrieval.search.inverted_index import (
    BASES,
    COUNTED,
    QUESTION,
    SPEAKER_MARK,
    STOP,
    TIMED,
    Index,
    IndexColumns,
    IndexEntry,
    analyze,
    capitalized_words,
    is_dense,
    split_words,
    term,
)
from contextasm.retrieval.search.query_words import NamedDate, closeness, compound_terms, named_dates, similar_words

# Saturation of a repeated word.
_K1: Final = 0.9
# Shares of a match that the entries around it get, by distance: entries after it explain more than entries before it.
_SHARES: Final = ((1, 0.55), (2, 0.35), (3, 0.2), (-1, 0.35), (-2, 0.2), (-3, 0.1))
# A word that more than one in eight of many entries hold says nothing about their neighbours, and is slow to spread.
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
# A word with a typo in its ending can't be stemmed: it is tried without its last letters, too, at a higher threshold.
_ENDINGS: Final = (2, 3)
_ENDING_WEIGHT: Final = 0.9
_TYPO_RATIO_ENDING: Final = 80

MAX_CORRECTED: Final = 32
"""Words of a query, the first ones, that are corrected where no entry holds them: each is compared with every term."""

# Cues, as parts of the value of a word that only one entry holds.
_DAY: Final = 1.0
_AUTHOR: Final = 0.6
# A leading word is a name where so many entries, and this share of all, begin with it.
_AUTHOR_ENTRIES: Final = 3
_AUTHOR_SHARE: Final = 0.05
_ANSWER: Final = 0.2
# Factor below the worst match of an entry that matches nothing, and is by an author whom the query names.
_NO_MATCH: Final = 0.5
# Factor of an entry that ends in a question.
_IS_QUESTION: Final = 0.85
# Factor above the best other entry of an entry with exactly the words of the query.
_SAME_WORDS: Final = 1.25
# Share of a match that the best entry has where no entry holds a word of the query, but only words that are near one.
_ONLY_NEAR: Final = 0.8

_ASKS_WHEN: Final = re.compile(r"\bwhen\b", re.IGNORECASE)
_ASKS_HOW_MANY: Final = re.compile(r"\bhow (?:long|many|much|old|often)\b", re.IGNORECASE)


def similarities(
    query: str, index: Index, min_match: float = MIN_MATCH, min_cover: float = 0.0, *, authors_follow: bool = False
) -> dict[int, float]:
    """Similarity of each row that answers the query: 1 for the best; none for a sum below `min_match` of the best.

    If only words are found that are near the words of the query, the best has `_ONLY_NEAR`, cubed.
    None at all if the best sum is below `min_cover` of what a row with each word is worth, of many words with four: the
    best of the rows that are found without a correction, too.

    With `authors_follow` all rows of the authors that the query names are hits: below the others, by what they match.

    The sum of BM25 (Robertson, Spärck Jones; idf in Lucene's form, never negative) over the query's words, in which
    each row counts with the best of its own value and its neighbours' shares; plus the cues; over the best sum, cubed.
    """
    dates = named_dates(query)
    authors, terms = _named_authors_and_terms(query, dates, index)
    totals = _totals(terms, index) or _totals(_terms_of_names(authors, index), index)
    _add_cues(totals, dates, authors, _answering_flags(query), index)
    if min_cover:
        written = _totals(terms, index, max_corrected=0)
        _add_cues(written, dates, authors, _answering_flags(query), index)
        if max((totals[row] for row in written if row in totals), default=0.0) < min_cover * _worth(terms, index):
            return {}
    best = max(totals.values(), default=0.0)
    for row in _rows_with_same_words(query, index):
        totals[row] = best * _SAME_WORDS
    best = max(totals.values(), default=0.0)
    exact = (is_dense(word) or index.postings(word)[0] for word in terms)
    is_exact = authors or any(exact) or closeness(set(index.columns.days), dates)
    whole, least = (best if is_exact else best / _ONLY_NEAR), min_match * best
    is_asked = authors_follow and authors
    following = {row for row, author in enumerate(index.columns.authors) if author in authors} if is_asked else set()
    without_match = min((total for total in totals.values() if total > 0), default=0.0) * _NO_MATCH
    totals |= dict.fromkeys(following - totals.keys(), without_match)
    return {
        row: (total / whole) ** CONTRAST
        for row, total in totals.items()
        if total > 0 and (total >= least or row in following)
    }


def _worth(terms: Sequence[str], index: Index) -> float:
    """The value of a row that holds each term, of many terms that of four rare ones."""
    worths = (_rarity(max(len(index.postings(word)[0]), 1), index.size) for word in terms)
    return min(sum(worths), 4 * _rarity(1, index.size))


def _totals(terms: Sequence[str], index: Index, max_corrected: int = MAX_CORRECTED) -> dict[int, float]:
    """Sum of the values of each row that holds one of the terms, or that is next to such a row."""
    corrected = {*[word for word in terms if _can_be_corrected(word, index)][:max_corrected]}
    totals: dict[int, float] = {}
    for query_term in terms:
        for row, value in _row_values(query_term, index, is_corrected=query_term in corrected).items():
            totals[row] = totals.get(row, 0.0) + value
    return totals


def _terms_of_names(authors: frozenset[int], index: Index) -> list[str]:
    # Where nothing else of a query is found, what its authors wrote is better than nothing.
    names = sorted(index.authors[place].removesuffix(SPEAKER_MARK) for place in authors)
    return [*dict.fromkeys(map(term, names))]


def _named_authors_and_terms(query: str, dates: Sequence[NamedDate], index: Index) -> tuple[frozenset[int], list[str]]:
    """Places of the authors that a query names, and the terms to search for, each once.

    Names of authors are the commonest words of a log: they are a cue and no terms, unless the query holds no
    other, or none that is found (`_terms_of_names`).
    The words of a date are not corrected: they are searched for in the form in which they are written.
    """
    words = analyze(query)
    named = _named_authors(query, frozenset(words), index)
    topical = [word for word in words if word not in STOP] or words
    names = {index.authors[place].removesuffix(SPEAKER_MARK) for place in named}
    terms = dict.fromkeys(map(term, [word for word in topical if word not in names] or topical))
    date_terms = {word for date in dates for word in split_words(date.text)}
    return named, [word for word in terms if word not in date_terms or index.postings(word)[0]]


def _named_authors(query: str, words: frozenset[str], index: Index) -> frozenset[int]:
    """Places of the leading names in a query that enough entries begin with.

    A verb or a label begins entries, too: a name has a capital in the query, or a colon after it in the entries.
    """
    names = ((author.removesuffix(SPEAKER_MARK), place) for place, author in enumerate(index.authors))
    places_of = grouped(named for named in names if named[0] in words)
    capitalized = capitalized_words(query) if places_of else frozenset()
    least = max(_AUTHOR_ENTRIES, _AUTHOR_SHARE * index.size)
    named: set[int] = set()
    for name, places in places_of.items():
        counts = {index.authors[place]: index.columns.authors.count(place) for place in places}
        if sum(counts.values()) >= least and (name in capitalized or counts.get(name + SPEAKER_MARK, 0) >= least):
            named.update(places)
    return frozenset(named)


def _row_values(word: str, index: Index, *, is_corrected: bool) -> dict[int, float]:
    """Value of one term of the query for each row: the best of its own spellings, relatives and neighbours."""
    values_of: dict[int, float] = {}
    columns, size = index.columns, index.size
    penalty = index.length_penalty
    flat, slope = _K1 * (1 - penalty), _K1 * penalty / (index.average or 1.0)
    lengths = columns.lengths
    for spelling, weight in _spellings(word, index, is_corrected=is_corrected):
        rows, counts = index.postings(spelling)
        scale = weight * (_K1 + 1) * _rarity(len(rows), size)
        values = [scale * f / (f + flat + slope * lengths[row]) for row, f in zip(rows, counts, strict=True)]
        for row, value in zip(rows, values, strict=True):
            if value > values_of.get(row, 0.0):
                values_of[row] = value
        if size < _MANY or len(rows) * _COMMON <= size:
            _share_with_neighbours(rows, values, columns, values_of)
    return values_of


def _rarity(holders: int, size: int) -> float:
    return math.log(1 + (size - holders + 0.5) / (holders + 0.5))


def _share_with_neighbours(
    rows: Sequence[int], values: Sequence[float], columns: IndexColumns, values_of: dict[int, float]
) -> None:
    # A row keeps the largest of its own value and its neighbours' shares, never their sum.
    sections, kernels = columns.sections, columns.kernels
    for row, row_value in zip(rows, values, strict=True):
        section, value = sections[row], row_value * kernels[row] / 100
        for distance, share in _SHARES:
            # Before the first row the place is negative: Python then looks into the padding, which is not a section.
            neighbour = row + distance
            if sections[neighbour] == section and value * share > values_of.get(neighbour, 0.0):
                values_of[neighbour] = value * share


def _can_be_corrected(word: str, index: Index) -> bool:
    is_word = len(word) >= _TYPO_LENGTH and not word.isdecimal() and not is_dense(word)
    return is_word and not index.postings(word)[0]


def _spellings(word: str, index: Index, *, is_corrected: bool) -> list[tuple[str, float]]:
    """Terms that match a term of the query, with weights: itself and its relatives.

    Of a term that no entry holds, its corrections and the terms that it is part of, too, if it `is_corrected`.
    """
    if is_dense(word):
        return _character_pairs(word, index)
    relatives = index.beginning(word[:_PREFIX]) if len(word) >= _PREFIX else ()
    weights = dict.fromkeys(relatives, _PREFIX_WEIGHT)
    if index.postings(word)[0]:
        weights[word] = 1.0
    elif is_corrected:
        vocabulary = [known_term for known_term in index.beginning("") if known_term not in STOP]
        for similar, weight in (
            *_corrections(word, vocabulary, index),
            *compound_terms(word, vocabulary, partial(_is_held, index)),
        ):
            weights[similar] = max(weight, weights.get(similar, 0.0))
    return list(weights.items())


def _character_pairs(word: str, index: Index) -> list[tuple[str, float]]:
    if len(word) > 1:
        return [(word, 1.0)]
    # A single character matches every pair that has it.
    return [(pair, 1.0) for pair in index.beginning("") if len(pair) <= 2 and word in pair]


def _is_held(index: Index, known_term: str) -> bool:
    return bool(index.postings(known_term)[0])


def _corrections(word: str, vocabulary: Sequence[str], index: Index) -> Iterator[tuple[str, float]]:
    candidates = [*vocabulary, *(form for form, base in _terms_of_forms().items() if index.postings(base)[0])]
    ratios = _similar_terms(word, candidates, _TYPO_RATIO)
    for ending in _ENDINGS:
        if len(word) - ending >= _TYPO_LENGTH:
            for similar, ratio in _similar_terms(word[:-ending], candidates, _TYPO_RATIO_ENDING).items():
                ratios[similar] = max(ratio * _ENDING_WEIGHT, ratios.get(similar, 0.0))
    best_first = sorted(ratios.items(), key=lambda item: (-item[1], item[0]))
    held = (each for each in best_first if _is_held(index, each[0]))
    for similar, ratio in islice(held, _TYPO_LIMIT):
        yield similar, _TYPO_WEIGHT * ratio / 100


def _similar_terms(word: str, candidates: Sequence[str], cutoff: int) -> dict[str, float]:
    # Ratios go up to 100.
    ratios: dict[str, float] = {}
    for form, ratio in similar_words(word, candidates, cutoff):
        if form[0] == word[0] or ratio >= _TYPO_RATIO_OTHER_LETTER:
            similar = _terms_of_forms().get(form, form)
            ratios[similar] = max(ratio, ratios.get(similar, 0.0))
    return ratios


@lru_cache(maxsize=1)
def _terms_of_forms() -> Mapping[str, str]:
    # Irregular forms are candidates, too: a typo of `bought` should find `buy`.
    return {form: term(form) for form in BASES}


def _answering_flags(query: str) -> int:
    return (TIMED if _ASKS_WHEN.search(query) else 0) | (COUNTED if _ASKS_HOW_MANY.search(query) else 0)


def _add_cues(
    totals: dict[int, float], dates: Sequence[NamedDate], authors: frozenset[int], flags: int, index: Index
) -> None:
    # A row of a day that the query names is a hit without any word.
    columns, rarest = index.columns, _rarity(1, index.size)
    close = closeness(set(columns.days), dates) if dates else {}
    if any(date.month for date in dates):
        for row, day in enumerate(columns.days):
            if close.get(day) == 1.0:
                totals.setdefault(row, 0.0)
    for row, total in totals.items():
        flag = columns.flags[row]
        cue = _DAY * close.get(columns.days[row], 0.0)
        if columns.authors[row] in authors:
            cue += _AUTHOR
        if flag & flags:
            cue += _ANSWER
        totals[row] = (total + rarest * cue) * (_IS_QUESTION if flag & QUESTION else 1.0)


def _rows_with_same_words(query: str, index: Index) -> list[int]:
    # Exactly the topical words of the query, in the same numbers; the rarest word is looked up first.
    counts = Counter(split_words(query))
    postings = sorted(((*index.postings(word), count) for word, count in counts.items()), key=lambda item: len(item[0]))
    lengths = index.columns.lengths
    same: set[int] | None = None
    for rows, row_counts, count in postings:
        matching = {row for row, f in zip(rows, row_counts, strict=True) if f == count}
        same = matching if same is None else same & matching
        same = {row for row in same if lengths[row] == sum(counts.values())}
        if not same:
            return []
    return sorted(same or ())


# --- With embeddings -------------------------------------------------------------------------------------------------


_NEARNESS_SHARES = ((-2, 0.1), (-1, 0.2), (1, 0.2), (2, 0.1))
"""Shares of an entry's nearness that the entries around it get, by distance (measured)."""


def fuse(
    word_hits: Mapping[int, float],
    word_similarities: Mapping[int, float],
    nearness: Sequence[float],
    min_match: float,
    entries: Sequence[IndexEntry],
) -> dict[int, Score]:
    """Hits by words and by embeddings together, by row: similarity, and its two halves, each from 0 to 1.

    `word_hits` are hits only by words, and stay hits; `word_similarities` those without a minimum; `nearness` is the
    nearness of each row by embeddings, above 0 where it makes a hit by itself. Any other row that shares a word with
    the query or is near is a hit where the sum of its halves is at least `min_match` of the best sum.

    Without `nearness`, only hits by words are hits, and they have no halves.
    """
    if not nearness:
        return {row: (("similarity", similarity),) for row, similarity in word_hits.items()}
    by_words = _scaled([word_similarities.get(row, 0.0) ** (1 / CONTRAST) for row in range(len(nearness))], 0.0)
    by_meaning = _with_neighbour_shares(_scaled(nearness, min(nearness)), entries)
    by_meaning = _scaled(by_meaning, min(by_meaning))
    sums = [(words + meaning) / 2 for words, meaning in zip(by_words, by_meaning, strict=True)]
    candidates = [row for row, near in enumerate(nearness) if row in word_similarities or near > 0]
    best = max((sums[row] for row in candidates), default=0.0)
    return {
        row: (("similarity", (sums[row] / best) ** CONTRAST), ("words", by_words[row]), ("meaning", by_meaning[row]))
        for row in candidates
        if best > 0 and (row in word_hits or sums[row] >= min_match * best)
    }


def _scaled(values: Sequence[float], low: float) -> list[float]:
    # From 0, for `low`, to 1, for the largest. The low of words is always 0: a row without a word of the query has 0.
    high = max(values)
    return [(value - low) / (high - low) if high > low else float(high > 0) for value in values]


def _with_neighbour_shares(values: Sequence[float], entries: Sequence[IndexEntry]) -> list[float]:
    sums = [*values]
    for row, entry in enumerate(entries):
        for distance, share in _NEARNESS_SHARES:
            neighbour = row + distance
            if 0 <= neighbour < len(entries) and entries[neighbour].section == entry.section != "":
                sums[row] += values[neighbour] * share * entry.kernel
    return sums
