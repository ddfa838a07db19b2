"""Chosen memories: what the effects of rules may mean among entries that an index answers for.

An index finds entries by what they are called; `apply` decides what is done with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from contextasm.model import LABEL_KINDS, EntryChoice, RuleEvaluation, Target
from contextasm.rules.evaluate import is_target
from contextasm.text.archived_paths import known_paths


def targets_in_pools(evaluation: RuleEvaluation) -> Sequence[Target]:
    """The targets of all effects, each once, without layers."""
    return [*dict.fromkeys(effect.target for effect in evaluation.effects if effect.target.kind != "layer")]


def choose_entries(targets: Iterable[Target]) -> EntryChoice:
    """The entries that the targets may mean. An entity is none: no memory has entities."""
    every = [*targets]
    return EntryChoice(
        ids=frozenset(target.value for target in every if target.kind == "id"),
        labels=frozenset((target.kind, target.value) for target in every if target.kind in LABEL_KINDS),
        has_path=partial(_is_path_of, [target for target in every if target.kind in {"path", "heading-path"}]),
    )


def mean_part_of(targets: Sequence[Target], path: str) -> bool:
    """Whether one of the targets may be a file, or a fragment whose id begins with its path."""
    starts = tuple(known_paths(path))
    return _is_path_of(targets, path) or any(
        target.kind == "id" and target.value.startswith(starts) for target in targets
    )


def _is_path_of(targets: Sequence[Target], path: str) -> bool:
    paths = known_paths(path)
    return any(
        target.value in paths if target.kind == "heading-path" else is_target(target, {"path": paths})
        for target in targets
        if target.kind in {"path", "heading-path"}
    )
