"""The plan of upkeep: every action that the planners propose, in one order. Nothing is written here."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from contextasm.model import Problem
from contextasm.upkeep.action import Action
from contextasm.upkeep.feedback import feedback_problems, plan_feedback
from contextasm.upkeep.logs import plan_logs
from contextasm.upkeep.memories import plan_memories
from contextasm.upkeep.retention import plan_retention
from contextasm.upkeep.upkeep_input import UpkeepInput


class Plan(NamedTuple):
    """All that is to be done in a workspace on a day."""

    actions: tuple[Action, ...]
    """Without duplicates, those of one planner together. Where two overlap, the later one is left out."""
    problems: tuple[Problem, ...] = ()
    """Of files that can't be read, or whose names can't be shown, which the plan leaves alone, and of bad feedback."""


def make_plan(upkeep: UpkeepInput) -> Plan:
    """The actions of all planners, logs first; the same for the same input.

    Policies of retention count what stays after the actions for logs and memories, as an application does.
    """
    early = (*plan_logs(upkeep), *plan_memories(upkeep))
    actions = {action.id: action for action in chain(early, plan_retention(upkeep, early), plan_feedback(upkeep))}
    problems = (*upkeep.memory_files.problems, *upkeep.files.problems, *feedback_problems(upkeep))
    return Plan(tuple(actions.values()), problems)
