"""Metrics of upkeep: what a plan holds, as series of a Prometheus text file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from contextasm.rendering.prometheus import Sample, Series
from contextasm.upkeep.base.action import Action


def upkeep_series(actions: Sequence[Action], applied: Collection[str] = ()) -> Iterator[Series]:
    """The series of a plan, and of the actions in it that were applied, by their ids."""
    planned = Counter((action.verb, _approval(action)) for action in actions)
    verbs = dict.fromkeys(action.verb for action in actions)
    done = [action for action in actions if action.id in applied]
    yield Series(
        "ctxasm_tidy_planned_actions",
        "gauge",
        "Actions that the plan holds, by verb, and by whether a person has to approve them, or to decide alone.",
        [Sample(count, {"verb": verb, "approval": approval}) for (verb, approval), count in planned.items()],
    )
    yield Series(
        "ctxasm_tidy_applied_actions",
        "gauge",
        "Actions that were applied, by verb.",
        [Sample(sum(action.verb == verb for action in done), {"verb": verb}) for verb in verbs],
    )
    for name, what, chosen in (("planned", "the plan would save", actions), ("applied", "were saved", done)):
        yield Series(
            f"ctxasm_tidy_{name}_saved_tokens",
            "gauge",
            f"Tokens that {what}.",
            [Sample(sum(action.tokens_saved for action in chosen))],
        )
        yield Series(
            f"ctxasm_tidy_{name}_saved_bytes",
            "gauge",
            f"Bytes of edited files that {what}.",
            [Sample(sum(action.bytes_saved for action in chosen))],
        )


def _approval(action: Action) -> str:
    if not action.changes_files:
        return "for-a-person"
    return "needed" if action.needs_approval else "none"
