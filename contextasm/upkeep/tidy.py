"""A whole application: plan and apply until nothing is left to do, so that a second application changes nothing.

What one action changes may make another one possible, or stand in its way: the next round plans anew. All rounds are
one application for `--undo`.
"""

from __future__ import annotations

from collections.abc import Callable

from contextasm.model import ContextasmError
from contextasm.upkeep.action import Action
from contextasm.upkeep.apply import Applied, apply_actions
from contextasm.upkeep.plan import make_plan
from contextasm.upkeep.prepare import read_again
from contextasm.upkeep.upkeep_input import UpkeepInput

MOST_ROUNDS = 10
"""Rounds of one application; what is still to be done after them waits for the next one."""


def apply_all(upkeep: UpkeepInput, selects: Callable[[Action], bool]) -> Applied:
    """Apply every action that `selects` takes. The caller holds the workspace's lock.

    Raises `ContextasmError` where a file can't be written; nothing is changed then.
    """
    done = Applied()
    for _ in range(MOST_ROUNDS):
        upkeep = read_again(upkeep)
        selected = [action for action in make_plan(upkeep).actions if action.changes_files and selects(action)]
        if not selected:
            break
        result = apply_actions(upkeep.workspace.root, selected, upkeep.today, done.journal)
        done = Applied((*done.actions, *result.actions), result.left_out, result.journal)
        if not result.actions:
            break
    return done


def apply_named(upkeep: UpkeepInput, names: list[str]) -> Applied:
    """Apply the actions with these ids, in the order of the plan. The caller holds the workspace's lock.

    Raises `ContextasmError` for an id that the plan does not have; nothing is changed then.
    """
    upkeep = read_again(upkeep)
    selected = named_actions(make_plan(upkeep).actions, names)
    return apply_actions(upkeep.workspace.root, selected, upkeep.today)


def named_actions(actions: tuple[Action, ...], names: list[str]) -> list[Action]:
    """The actions with these ids. Raises `ContextasmError` for an id that none of them has."""
    ids = {action.id for action in actions}
    for name in names:
        if name not in ids:
            what = f"the plan has no action {name}"
            raise ContextasmError("tidy", what, "run `ctxasm tidy` for the ids; they change with the files")
    return [action for action in actions if action.id in names]
