"""Metrics of a finished context: coverage, quality and coherence, each from 0 to 1.

No decision depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TypedDict

from contextasm.model import Context, timed_out_layers
from contextasm.text.similarity import MAX_COMPARED, common_share, words_of

_CONFLICT_PENALTY = 0.1
"""Loss of coherence for each unresolved conflict."""


class ContextMetrics(TypedDict):
    """Metrics of a context."""

    coverage: float | None
    """Share of the layers whose sources answered in time; None without layers."""
    quality: float | None
    """Mean score of the shown fragments, weighted by tokens; None if no shown fragment has a score."""
    coherence: float | None
    """Mean share of common words of two shown fragments, less a penalty for conflicts; None for less than two."""


def context_metrics(context: Context) -> ContextMetrics:
    """Metrics computed from a finished context."""
    return {"coverage": _coverage(context), "quality": _quality(context), "coherence": context_coherence(context)}


def _coverage(context: Context) -> float | None:
    layers = [usage.layer for usage in context.allowances]
    late = timed_out_layers(context.problems) & {*layers}
    return _share(1 - len(late) / len(layers)) if layers else None


def _quality(context: Context) -> float | None:
    shown = [
        (dict(decision.score).get("total", 0.0), decision.tokens_after)
        for decision in context.decisions
        if decision.tokens_after and decision.score
    ]
    total = sum(tokens for _, tokens in shown)
    return _share(sum(score * tokens for score, tokens in shown) / total) if total else None


def context_coherence(context: Context) -> float | None:
    """The mean share of common words of two shown fragments, less a penalty for conflicts; None for less than two."""
    word_sets = [*_shown_words(context)][:MAX_COMPARED]
    pairs = [common_share(one, other) for one, other in combinations(word_sets, 2)]
    if not pairs:
        return None
    conflicts = sum(problem.code == "conflict" for problem in context.problems)
    return _share(sum(pairs) / len(pairs) - _CONFLICT_PENALTY * conflicts)


def _shown_words(context: Context) -> Iterator[frozenset[str]]:
    """The words of each shown fragment, of the lines that are shown."""
    documents = {document.path: (document.line, document.text.split("\n")) for document in context.documents}
    for decision in context.decisions:
        if decision.kept and decision.path in documents:
            first, lines = documents[decision.path]
            words = words_of(line for start, stop in decision.kept for line in lines[start - first : stop - first + 1])
            if words:
                yield words


def _share(value: float) -> float:
    # Rounded, for the last digits of a sum differ between versions of Python.
    return round(min(1.0, max(0.0, value)), 3)
