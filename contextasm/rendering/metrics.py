"""Report: how much of what was asked answered, how good what is shown is, and how well it hangs together.

Read off a finished context; nothing is decided by it. Each figure is from 0 to 1, None where there is nothing to tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from contextasm.model import Context

_MANY = 60
"""Fragments that are compared with each other: more take time and hardly change the mean."""

_PENALTY = 0.1
"""What each conflict that nobody has settled takes off coherence."""


class ContextMetrics(NamedTuple):
    """Figures about a context."""

    coverage: float | None
    """The share of the layers whose sources answered without a failure."""
    quality: float | None
    """The mean score of what is shown, by tokens; None where nothing that is shown was scored."""
    coherence: float | None
    """How many words the shown fragments share, two at a time, less a penalty for conflicts; None for less than two."""


def context_metrics(context: Context) -> ContextMetrics:
    """The figures about a context."""
    return ContextMetrics(_coverage(context), _quality(context), _coherence(context))


def _coverage(context: Context) -> float | None:
    layers = [each.layer for each in context.allowances]
    late = {problem.path for problem in context.problems if problem.code == "source-timeout"}
    return _rounded(1 - len(late & {*layers}) / len(layers)) if layers else None


def _quality(context: Context) -> float | None:
    shown = [
        (dict(each.score).get("total", 0.0), each.tokens_after)
        for each in context.decisions
        if each.tokens_after and each.score
    ]
    total = sum(tokens for _, tokens in shown)
    return _rounded(sum(score * tokens for score, tokens in shown) / total) if total else None


def _coherence(context: Context) -> float | None:
    texts = [*_texts(context)][:_MANY]
    pairs = [len(one & other) / min(len(one), len(other)) for one, other in combinations(texts, 2)]
    if not pairs:
        return None
    conflicts = sum(problem.code == "conflict" for problem in context.problems)
    return _rounded(sum(pairs) / len(pairs) - _PENALTY * conflicts)


def _texts(context: Context) -> Iterator[set[str]]:
    """The words of each fragment that is shown, as far as the lines that are kept hold them."""
    documents = {each.path: (each.line, each.text.split("\n")) for each in context.documents}
    for decision in context.decisions:
        if decision.kept and decision.path in documents:
            first, lines = documents[decision.path]
            words = _words(lines[start - first : stop - first + 1] for start, stop in decision.kept)
            if words:
                yield words


def _words(parts: Iterator[Sequence[str]]) -> set[str]:
    """The words of lines, in small letters."""
    return {word for lines in parts for line in lines for word in re.findall(r"\w{2,}", line.casefold())}


def _rounded(value: float) -> float:
    """A figure from 0 to 1: the last digits of a sum differ between versions of Python."""
    return round(min(1.0, max(0.0, value)), 3)
