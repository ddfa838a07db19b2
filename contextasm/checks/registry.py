"""Checks: is the workspace sound? Each is a function from a scene to findings; a new one is a line in the table.

Nothing is written, and no check stops another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from contextasm.checks import budget as budgets
from contextasm.checks import config, dates, memories, outputs
from contextasm.checks import text as texts
from contextasm.checks.inspection import Scene
from contextasm.checks.report import Finding

Check = Callable[[Scene], Iterable[Finding]]

CHECKS: Mapping[str, Check] = {
    "config": config.config,
    "front-matter": config.front,
    "unreadable": config.unreadable,
    "required-file": config.required_file,
    "build": config.build,
    "log-name": dates.log_name,
    "bad-date": dates.bad_date,
    "future": dates.future,
    "date-mismatch": dates.date_mismatch,
    "over-budget": budgets.over_budget,
    "near-budget": budgets.near_budget,
    "cut": budgets.cut,
    "starved": budgets.starved,
    "memory": memories.memory,
    "duplicate-id": memories.duplicate_id,
    "superseded": memories.superseded,
    "expired": memories.expired,
    "duplicate": memories.duplicate,
    "hidden": texts.hidden,
    "secret": texts.secret,
    "reference": texts.reference,
    "non-ascii": texts.non_ascii,
    "stale-output": outputs.stale_output,
    "managed-block": outputs.managed_block,
}
"""Every check by the id that its findings have. An id never changes its meaning."""


def findings(scene: Scene) -> list[Finding]:
    """Everything that all checks find."""
    return [finding._replace(id=name) for name, check in CHECKS.items() for finding in check(scene)]
