"""A whole application: plan and apply until nothing is left to do, so that a second application changes nothing.

What one action changes may make another one possible, or stand in its way: the next round plans anew. All rounds are
one application for `--undo`.
"""

from __future__ import annotations

from collections.abc import Callable

from contextasm.model import ContextasmError
from contextasm.upkeep.apply import Applied, apply_actions
from contextasm.upkeep.base.action import Action
from contextasm.upkeep.base.upkeep_input import UpkeepInput
from contextasm.upkeep.plan import make_plan, read_again
from contextasm.upkeep.retention.planner import RETENTION_VERBS
from contextasm.workspace.editing.journal import withdraw

MOST_ROUNDS = 10
"""Rounds of one application; what is still to be done after them waits for the next one."""


def apply_all(upkeep: UpkeepInput, selects: Callable[[Action], bool]) -> Applied:
    """Apply every action that `selects` takes. The caller holds the workspace's lock.

    What policies of retention shorten and evict comes after everything else: what leaves by itself makes room.
    Raises `ContextasmError` where a file can't be written; nothing is changed then, unless the error says so.
    """
    done = Applied()
    is_last = False
    for _ in range(MOST_ROUNDS):
        try:
            upkeep = read_again(upkeep)
            todo = [action for action in make_plan(upkeep).actions if action.changes_files and selects(action)]
            early = [action for action in todo if action.verb not in RETENTION_VERBS]
            is_last = is_last or not early
            result = apply_actions(upkeep.workspace.root, todo if is_last else early, upkeep.today, done.journal)
        except BaseException as error:
            if done.journal:
                withdraw(upkeep.workspace.root, done.journal, error)
            raise
        done = Applied((*done.actions, *result.actions), result.left_out, result.journal)
        if not result.actions:
            if is_last:
                break
            is_last = True
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
