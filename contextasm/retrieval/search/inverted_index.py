"""Inverted index: entries, the rows and numbers of their terms, and columns with other facts of each row.

A search reads `Index`; `build_index` makes one in memory, and `memory_index` has one in a file. Scores nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from contextasm.retrieval.search.analyzer import analyze, term
from contextasm.retrieval.search.dates import day_number
from contextasm.retrieval.search.word_lists import COUNTS, STOP, TIMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Greatest distance of neighbours, and number of zeros behind the column of sections.
PADDING: Final = 3

# Flags of an entry: it ends in a question, names a time, names a number.
QUESTION: Final = 1
TIMED: Final = 2
COUNTED: Final = 4

MOST_CACHED: Final = 2000
"""Entries of an index that is cached for the next build of the process."""

_DIGIT: Final = re.compile(r"\d")


class IndexEntry(NamedTuple):
    """A text as a search sees it, such as a memory or a section of a page."""

    text: str
    section: str = ""
    """Name of its neighbourhood, such as file and day; empty for an entry without neighbours."""
    day: str = ""
    author: str = ""
    """Name that it begins with (`analyzer.leading_name`); empty for none."""
    kernel: float = 1.0
    """Weight of its neighbours' matches: 1.0 in a daily log, where order is a story, 0.5 in a memory file."""


class IndexColumns(NamedTuple):
    """Facts of each row besides its terms; a row that holds no entry has zeros."""

    lengths: Sequence[int]
    sections: Sequence[int]
    """Numbers from 1, followed by `PADDING` zeros."""
    days: Sequence[int]
    """As YYYYMMDD; 0 for none."""
    authors: Sequence[int]
    """Places in the list of names."""
    flags: Sequence[int]
    kernels: Sequence[int]
    """In hundredths."""


class Index(Protocol):
    """An inverted index, in memory or in a file."""

    @property
    def size(self) -> int:
        """Number of entries."""

    @property
    def average(self) -> float:
        """Mean length of the entries."""

    @property
    def columns(self) -> IndexColumns:
        """Facts of each row besides its terms."""

    @property
    def authors(self) -> Sequence[str]:
        """Names that the column of authors points to."""

    def postings(self, term: str) -> tuple[Sequence[int], Sequence[int]]:
        """Rows that hold a term, and its number in each of them."""

    def beginning(self, prefix: str) -> Sequence[str]:
        """Terms that begin with a prefix, in order; all of them for an empty one. It may be that no row holds one."""


class MemoryIndex(NamedTuple):
    """An inverted index in memory."""

    size: int
    average: float
    columns: IndexColumns
    authors: Sequence[str]
    postings_of: Mapping[str, tuple[Sequence[int], Sequence[int]]]
    """Rows and counts, by term."""
    vocabulary: Sequence[str]
    """All terms, in order."""

    def postings(self, term: str) -> tuple[Sequence[int], Sequence[int]]:
        """Rows that hold a term, and its number in each of them."""
        return self.postings_of.get(term, ((), ()))

    def beginning(self, prefix: str) -> Sequence[str]:
        """Terms that begin with a prefix, in order; all of them for an empty one."""
        first = bisect_left(self.vocabulary, prefix)
        last = bisect_left(self.vocabulary, prefix + "\U0010ffff")
        return self.vocabulary[first:last]


def build_index(entries: Sequence[IndexEntry]) -> MemoryIndex:
    """Index entries in memory; their positions are the row numbers. Equal entries share one, which nobody changes."""
    return _cached_index(tuple(entries)) if len(entries) <= MOST_CACHED else _new_index(entries)


@lru_cache(maxsize=8)
def _cached_index(entries: tuple[IndexEntry, ...]) -> MemoryIndex:
    return _new_index(entries)


def _new_index(entries: Sequence[IndexEntry]) -> MemoryIndex:
    postings_of: dict[str, tuple[list[int], list[int]]] = {}
    lengths: list[int] = []
    flags: list[int] = []
    for row, entry in enumerate(entries):
        length, flag, words = text_words(entry.text)
        lengths.append(length)
        flags.append(flag)
        for name, count in Counter(map(term, words)).items():
            rows, row_counts = postings_of.setdefault(name, ([], []))
            rows.append(row)
            row_counts.append(count)
    authors = sorted({entry.author for entry in entries})
    average = sum(lengths) / max(1, len(lengths))
    columns = index_columns(entries, lengths, flags, authors)
    return MemoryIndex(len(entries), average, columns, authors, postings_of, sorted(postings_of))


def text_words(text: str) -> tuple[int, int, list[str]]:
    """A text's length in words, its flags, and its words in order; `analyzer.term` gives the term of each.

    Stop words have no part in the length, except where the text holds nothing else.
    """
    words = analyze(text)
    topical = sum(word not in STOP for word in words)
    flag = QUESTION if text.rstrip(" )]*_\"'”’").endswith(("?", "？")) else 0
    if not TIMES.isdisjoint(words):
        flag |= TIMED
    if not COUNTS.isdisjoint(words) or _DIGIT.search(text):
        flag |= COUNTED
    return topical or len(words), flag, words


def index_columns(
    entries: Sequence[IndexEntry], lengths: Sequence[int], flags: Sequence[int], authors: Sequence[str]
) -> IndexColumns:
    """Columns of entries whose positions are the row numbers."""
    sections: dict[str | int, int] = {}
    places = {name: place for place, name in enumerate(authors)}
    return IndexColumns(
        lengths,
        [sections.setdefault(entry.section or row, len(sections) + 1) for row, entry in enumerate(entries)]
        + [0] * PADDING,
        [day_number(entry.day) for entry in entries],
        [places[entry.author] for entry in entries],
        flags,
        [round(100 * entry.kernel) for entry in entries],
    )
