"""Entries and their postings: which rows hold a term, how often, and what else is known of a row.

`Index` is what a search asks for; `build_index` makes one in memory, a store may offer the same. Decides nothing about
what a match is worth.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from contextasm.retrieval.search.analyzer import analyze, term
from contextasm.retrieval.search.dates import day_number
from contextasm.retrieval.search.word_lists import COUNTS, STOP, TIMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# How far neighbours reach; so many zeros follow the column of sections.
PADDING: Final = 3

# Flags of an entry: it ends in a question, says when, says how many.
QUESTION: Final = 1
TIMED: Final = 2
COUNTED: Final = 4
_DIGIT: Final = re.compile(r"\d")


class IndexEntry(NamedTuple):
    """One memory as the search sees it.

    `section` is its neighbourhood (same file and day; none if blank), `kernel` how much neighbours share: 1.0 in a
    daily log, where order is a story, 0.5 in a memory file.
    """

    text: str
    section: str = ""
    day: str = ""
    author: str = ""
    kernel: float = 1.0


class IndexColumns(NamedTuple):
    """What is known of each row besides its words; a row that holds no entry is all zeros.

    Sections are numbers from 1, followed by `PADDING` zeros; days YYYYMMDD; authors places in the list of names;
    kernels hundredths.
    """

    lengths: Sequence[int]
    sections: Sequence[int]
    days: Sequence[int]
    authors: Sequence[int]
    flags: Sequence[int]
    kernels: Sequence[int]


class Index(Protocol):
    """Postings of entries, wherever they are kept."""

    @property
    def size(self) -> int:
        """How many entries there are."""

    @property
    def average(self) -> float:
        """Their mean length."""

    @property
    def columns(self) -> IndexColumns:
        """What is known of each row."""

    @property
    def authors(self) -> Sequence[str]:
        """The names that the column of authors points to."""

    def postings(self, term: str) -> tuple[Sequence[int], Sequence[int]]:
        """The rows that hold a term, and how often each does."""

    def beginning(self, prefix: str) -> Sequence[str]:
        """The terms that begin with a prefix, in order; all of them for a blank one."""


class MemoryIndex(NamedTuple):
    """An index that lives no longer than the process."""

    size: int
    average: float
    columns: IndexColumns
    authors: Sequence[str]
    held: Mapping[str, tuple[Sequence[int], Sequence[int]]]
    vocabulary: Sequence[str]

    def postings(self, term: str) -> tuple[Sequence[int], Sequence[int]]:
        """The rows that hold a term, and how often each does."""
        return self.held.get(term, ((), ()))

    def beginning(self, prefix: str) -> Sequence[str]:
        """The terms that begin with a prefix, in order; all of them for a blank one."""
        first = bisect_left(self.vocabulary, prefix)
        last = bisect_left(self.vocabulary, prefix + "\U0010ffff")
        return self.vocabulary[first:last]


def build_index(entries: Sequence[IndexEntry]) -> MemoryIndex:
    """Entries as an index; row numbers are their positions."""
    held: dict[str, tuple[list[int], list[int]]] = {}
    lengths: list[int] = []
    flags: list[int] = []
    for row, entry in enumerate(entries):
        length, flag, counts = count_terms(entry.text)
        lengths.append(length)
        flags.append(flag)
        for word, times in counts.items():
            rows, repeats = held.setdefault(word, ([], []))
            rows.append(row)
            repeats.append(times)
    authors = sorted({entry.author for entry in entries})
    average = sum(lengths) / max(1, len(lengths))
    return MemoryIndex(
        len(entries), average, index_columns(entries, lengths, flags, authors), authors, held, sorted(held)
    )


def count_terms(text: str) -> tuple[int, int, Counter[str]]:
    """A text's length in words that carry its topic, its flags, and how often it holds each term, stop words too."""
    found = analyze(text)
    topical = sum(word not in STOP for word in found)
    flag = QUESTION if text.rstrip(" )]*_\"'”’").endswith(("?", "？")) else 0
    if not TIMES.isdisjoint(found):
        flag |= TIMED
    if not COUNTS.isdisjoint(found) or _DIGIT.search(text):
        flag |= COUNTED
    return topical or len(found), flag, Counter(map(term, found))


def index_columns(
    entries: Sequence[IndexEntry], lengths: Sequence[int], flags: Sequence[int], authors: Sequence[str]
) -> IndexColumns:
    """The columns of entries that stand in rows 0, 1, 2 and so on."""
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
