"""The present of a workspace: the current task, what git calls changed, and the fields that rules ask about.

What costs something is found out only where a layer or a rule asks for it. Where there is no git, or the
workspace is in no repository, what git would tell is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from contextasm.model import Request
from contextasm.workspace.git_commands import changed_paths, current_branch

if TYPE_CHECKING:
    from contextasm.model import Facts, Rule


WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def gather_facts(
    rules: Iterable[Rule], request: Request, variables: Mapping[str, str], environment: Mapping[str, str], root: Path
) -> Facts:
    """The values of the fields that enabled rules ask about; `variables` come from `--var`."""
    known: dict[str, Callable[[], str | tuple[str, ...]]] = {
        "task.text": lambda: request.topic,
        "task.intent": lambda: _intent(request.topic),
        "agent": lambda: request.agent,
        "team": lambda: request.team,
        "date": request.date.isoformat,
        "weekday": lambda: WEEKDAYS[request.date.weekday()],
        "git.branch": lambda: current_branch(str(root), environment),
        "changed": lambda: changed_paths(str(root), environment),
    }
    asked = {condition.field for rule in rules if rule.enabled for condition in rule.when}
    found: dict[str, str | tuple[str, ...]] = {}
    for field in asked:
        prefix, _, name = field.partition(".")
        if prefix == "env":
            found[field] = environment.get(name, "")
        elif prefix == "var":
            found[field] = variables.get(name, "")
        elif field in known:
            found[field] = known[field]()
    return found


def _intent(topic: str) -> str:
    """What the topic asks for."""
    from contextasm.retrieval.query_signals import intent

    return intent(topic)
