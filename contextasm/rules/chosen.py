"""Chosen entries: what the effects of rules mean among entries that an index answers for, and what they do with them.

An index finds entries by what they are called. Those that rules include need decisions of their own (`apply`); the
others fare alike where the same targets mean them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from contextasm.model import LABEL_KINDS, EntryChoice, EntryChoices, EntryOutcome, Reason, RuleEvaluation, Target
from contextasm.rules.evaluate import boost_factor, effects_of_targets, is_target, winning_claim
from contextasm.text.names.archived_paths import known_paths


def choose_entries(evaluation: RuleEvaluation) -> EntryChoices | None:
    """The entries that the targets of all effects mean; None where no effect has such a target.

    No entry that an index answers for has an entity, or is a section, unless a rule includes it.
    """
    included = [effect.target for effect in evaluation.of("always_include")]
    effects = (*evaluation.of("exclude"), *evaluation.of("boost"))
    others = tuple(
        dict.fromkeys(effect.target for effect in effects if effect.target.kind in {"path", "id", *LABEL_KINDS})
    )
    if not (included or others):
        return None
    return EntryChoices(
        included=_choice(included),
        others=tuple(_choice([target]) for target in others),
        outcome=partial(_outcome, evaluation, others),
    )


def _choice(targets: Sequence[Target]) -> EntryChoice:
    return EntryChoice(
        ids=frozenset(target.value for target in targets if target.kind == "id"),
        labels=frozenset((target.kind, target.value) for target in targets if target.kind in LABEL_KINDS),
        has_path=partial(_is_path_of, [target for target in targets if target.kind in {"path", "heading-path"}]),
    )


def _is_path_of(targets: Sequence[Target], path: str) -> bool:
    paths = known_paths(path)
    return any(
        target.value in paths if target.kind == "heading-path" else is_target(target, {"path": paths})
        for target in targets
    )


def _outcome(
    evaluation: RuleEvaluation, targets: Sequence[Target], meant: set[int], is_protected: bool
) -> EntryOutcome:
    """The outcome of an entry that no rule includes, and these of the targets mean, by their places."""
    means = {targets[place] for place in meant}.__contains__
    effects = effects_of_targets(evaluation, means, protected=is_protected)
    claim = winning_claim(effects)
    return EntryOutcome(Reason.of("rule", rule=claim.rules[0]) if claim else None, boost_factor(effects))
