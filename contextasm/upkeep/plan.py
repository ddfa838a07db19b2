"""The plan of upkeep: every action that the planners propose, in one order. Nothing is written here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from contextasm.model import Problem
from contextasm.upkeep.action import Action
from contextasm.upkeep.feedback import feedback_problems, plan_feedback
from contextasm.upkeep.logs import plan_logs
from contextasm.upkeep.memories import plan_memories
from contextasm.upkeep.retention import plan_retention
from contextasm.upkeep.upkeep_input import UpkeepInput

Planner: TypeAlias = Callable[[UpkeepInput], Iterator[Action] | Sequence[Action]]
"""A function that proposes actions, in an order that depends on its input alone. It changes nothing."""

PLANNERS: tuple[Planner, ...] = (plan_logs, plan_memories, plan_retention, plan_feedback)
"""The planners, in the order in which a plan lists their actions."""


class Plan(NamedTuple):
    """All that is to be done in a workspace on a day."""

    actions: tuple[Action, ...]
    """Without duplicates, those of one planner together. Where two overlap, the later one is left out."""
    problems: tuple[Problem, ...] = ()
    """Of files that can't be read, or whose names can't be shown, which the plan leaves alone, and of bad feedback."""


def make_plan(upkeep: UpkeepInput) -> Plan:
    """The actions of all planners; the same for the same input."""
    actions = {action.id: action for planner in PLANNERS for action in planner(upkeep)}
    problems = (*upkeep.memory_files.problems, *upkeep.files.problems, *feedback_problems(upkeep))
    return Plan(tuple(actions.values()), problems)
