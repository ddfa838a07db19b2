"""The table of all checks: a check is a function from an inspection to findings, and a new one is a line here.

Nothing is written, and no check stops another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from contextasm.checks import budget, config, dates, memories, names, outputs, rules, skills, text
from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection

Check = Callable[[Inspection], Iterable[Finding]]

CHECKS: Mapping[str, Check] = {
    "config": config.check_settings,
    "front-matter": config.check_front_matter,
    "unreadable": config.check_unreadable,
    "required-file": config.check_required_files,
    "build": config.check_builds,
    "file-name": names.check_file_names,
    "pattern": names.check_patterns,
    "log-name": dates.check_log_names,
    "bad-date": dates.check_bad_dates,
    "future": dates.check_future_dates,
    "date-mismatch": dates.check_date_mismatch,
    "over-budget": budget.check_over_budget,
    "near-budget": budget.check_near_budget,
    "cut": budget.check_truncated,
    "starved": budget.check_starved,
    "memory": memories.check_memories,
    "duplicate-id": memories.check_duplicate_ids,
    "superseded": memories.check_superseded,
    "expired": memories.check_expired,
    "memory-path": memories.check_memory_paths,
    "duplicate": memories.check_duplicates,
    "hidden": text.check_hidden_characters,
    "secret": text.check_secrets,
    "comment": text.check_comments,
    "orders": text.check_orders,
    "reference": text.check_references,
    "skill": skills.check_skills,
    "retention": memories.check_retention,
    "lock-drift": outputs.check_lock,
    "rule-target": rules.check_rule_targets,
    "rule-condition": rules.check_rule_conditions,
    "stale-output": outputs.check_stale_outputs,
    "managed-block": outputs.check_managed_blocks,
    "private-block": text.check_private_blocks,
}
"""Each check by the id of its findings. An id never changes its meaning."""


def run_checks(inspection: Inspection) -> list[Finding]:
    """The findings of all checks, in the order of the table; what they quote is clean text."""
    return [finding.cleaned._replace(id=name) for name, check in CHECKS.items() for finding in check(inspection)]
