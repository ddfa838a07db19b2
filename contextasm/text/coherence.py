"""Coherence of texts: the mean share of the words that two of them have in common.

The one measure behind the figure of a finished context and the part of a score. No meaning, only words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_COMPARED = 60
"""Number of texts that are compared with each other: more take time and hardly change the mean."""


def words_of(lines: Iterable[str]) -> frozenset[str]:
    """The distinct words of some lines, of two letters or more, without the difference of case."""
    return frozenset(word for line in lines for word in re.findall(r"\w{2,}", line.casefold()))


def common_share(one: frozenset[str], other: frozenset[str]) -> float:
    """The number of common words as a share of the smaller set, 0 to 1; 0 where a set is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0
