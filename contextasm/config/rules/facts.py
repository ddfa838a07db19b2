"""Facts that rules ask about: fields of the request, the day, git, environment variables and `--var`.

A fact is computed only if an enabled rule asks for it. Without git, or if the workspace is in no repository,
facts about git are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType

from contextasm.model import Facts, Request, Rule
from contextasm.workspace.reads import note_other_input

FIELDS = ("task.text", "task.intent", "agent", "team", "date", "weekday", "git.branch", "changed")
"""Besides these, `env.NAME` for names listed in the config and `var.NAME` for variables of `--var`."""

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _git() -> ModuleType:
    from contextasm.workspace.git import commands  # here: few rules ask git

    return commands


def gather_facts(
    rules: Iterable[Rule], request: Request, variables: Mapping[str, str], environment: Mapping[str, str], root: str
) -> Facts:
    """The values of the fields that enabled rules ask about; `variables` come from `--var`."""
    providers: dict[str, Callable[[], str | tuple[str, ...]]] = {
        "task.text": lambda: request.topic,
        "task.intent": lambda: _topic_intent(request.topic),
        "agent": lambda: request.agent,
        "team": lambda: request.team,
        "date": request.date.isoformat,
        "weekday": lambda: WEEKDAYS[request.date.weekday()],
        "git.branch": lambda: _git().current_branch(root, environment),
        "changed": lambda: _git().changed_paths(root, environment),
    }
    facts: dict[str, str | tuple[str, ...]] = {}
    for field in {condition.field for rule in rules if rule.enabled for condition in rule.when}:
        prefix, _, name = field.partition(".")
        if prefix == "env":
            note_other_input()  # a variable is a part of no stored key
            facts[field] = environment.get(name, "")
        elif prefix == "var":
            facts[field] = variables.get(name, "")
        elif field in providers:
            facts[field] = providers[field]()
    return facts


def _topic_intent(topic: str) -> str:
    from contextasm.retrieval.reading.query_signals import intent

    return intent(topic)
