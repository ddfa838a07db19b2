"""Checks: is the workspace sound? Each is a function from a scene to findings; a new one is a line in the table.

Nothing is written, and no check stops another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from contextasm.checks import budget as budgets
from contextasm.checks import config, dates, memories, outputs
from contextasm.checks import text as texts
from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection

Check = Callable[[Inspection], Iterable[Finding]]

CHECKS: Mapping[str, Check] = {
    "config": config.check_settings,
    "front-matter": config.check_front_matter,
    "unreadable": config.check_unreadable,
    "required-file": config.check_required_files,
    "build": config.check_builds,
    "log-name": dates.check_log_names,
    "bad-date": dates.check_bad_dates,
    "future": dates.check_future_dates,
    "date-mismatch": dates.check_date_mismatch,
    "over-budget": budgets.check_over_budget,
    "near-budget": budgets.check_near_budget,
    "cut": budgets.check_truncated,
    "starved": budgets.check_starved,
    "memory": memories.check_memories,
    "duplicate-id": memories.check_duplicate_ids,
    "superseded": memories.check_superseded,
    "expired": memories.check_expired,
    "duplicate": memories.check_duplicates,
    "hidden": texts.check_hidden_characters,
    "secret": texts.check_secrets,
    "reference": texts.check_references,
    "non-ascii": texts.check_non_ascii,
    "stale-output": outputs.check_stale_outputs,
    "managed-block": outputs.check_managed_blocks,
}
"""Every check by the id that its findings have. An id never changes its meaning."""


def run_checks(scene: Inspection) -> list[Finding]:
    """Everything that all checks find."""
    return [finding._replace(id=name) for name, check in CHECKS.items() for finding in check(scene)]
