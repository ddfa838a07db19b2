"""`ctxasm tidy`: show what would keep memories and logs worth reading, do it, or take it back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from contextasm.cli import output
from contextasm.cli.command_line import Argument, Command
from contextasm.cli.options import Receipt
from contextasm.cli.owner import recover_first, refuse_outputs, require_recovered
from contextasm.config.input.options import Flag, Options, Text
from contextasm.config.resolve import process_environment
from contextasm.model import ContextasmError, NamedTuple
from contextasm.rendering.json_codec import INLINE, Day
from contextasm.rendering.prometheus import exposition
from contextasm.text.names.places import WORKSPACE_PATTERNS
from contextasm.upkeep.actions import Action
from contextasm.upkeep.apply import apply_all, apply_named, named_actions
from contextasm.upkeep.input import UpkeepInput
from contextasm.upkeep.plan import make_plan, plan_problems, prepare_upkeep, upkeep_series
from contextasm.workspace.atomic import as_bytes, refuse_unwritable, write
from contextasm.workspace.editing.files import locked
from contextasm.workspace.editing.journal import take_back
from contextasm.workspace.outputs import OutputFile

PATIENCE = 5.0
"""Seconds to wait while another ctxasm writes in the workspace."""

_MOST_TARGETS = 3
"""Targets of an action that a table names; of more it has the first, the last and their number."""


class TidyFlags(NamedTuple):
    """The flags of `tidy`, as typed."""

    apply: Annotated[bool, Flag("Apply the actions with these ids, or those of --safe or --all.")] = False
    safe: Annotated[bool, Flag("Use only the actions that need no approval.")] = False
    every: Annotated[bool, Flag("Use all actions, including those that need approval.", names="--all")] = False
    undo: Annotated[bool, Flag("Undo the last --apply, byte for byte.")] = False
    metrics: Annotated[Text, Flag("Write metrics of the plan to this Prometheus text file.", "FILE")] = None


def tidy(
    options: Options,
    *,
    ids: Annotated[tuple[str, ...], Argument("ID", "Use only these actions of the plan.", "action")] = (),
    flags: TidyFlags,
    receipt: Receipt,
) -> int:
    """Plan the upkeep of memories and logs. Nothing changes without --apply.

    An action that needs approval changes what an agent reads. Removed text goes to the folder archive/ next to its
    file. The exit code is 1 if a named action fails.
    """
    _refuse_contradictions(ids, flags)
    upkeep = prepare_upkeep(options, process_environment())
    if flags.undo:
        return _take_back(upkeep, receipt)
    target = None
    if flags.metrics is not None:
        target = OutputFile.named("metrics", flags.metrics)
        refuse_outputs([target], upkeep.workspace, options, WORKSPACE_PATTERNS)
        refuse_unwritable(target.path)
    if flags.apply:
        return _apply(upkeep, ids, flags, target, receipt)
    return _show_plan(upkeep, ids, flags, target, receipt)


run = Command(tidy, ("workspace", "date", "tz"))


def _refuse_contradictions(names: Sequence[str], flags: TidyFlags) -> None:
    chosen = [*filter(None, ("the ids" * bool(names), "--safe" * flags.safe, "--all" * flags.every))]
    if flags.undo and flags.metrics is not None:
        raise ContextasmError("--metrics", "--undo makes no plan", "leave one of them out")
    if flags.undo and (flags.apply or chosen):
        raise ContextasmError("--undo", "undoes the whole last --apply", "leave out the other options")
    if chosen[1:]:
        raise ContextasmError("tidy", f"{chosen[0]} and {chosen[1]} contradict each other", "give one of them")
    if flags.apply and not chosen:
        hint = "give ids of actions, --safe or --all; `ctxasm tidy` shows the plan"
        raise ContextasmError("--apply", "no action is named", hint)


def _write_metrics(
    target: OutputFile | None, upkeep: UpkeepInput, actions: Sequence[Action], applied: Sequence[Action] = ()
) -> None:
    """Write the metrics of a plan, if there is a file for them, and of its actions that were applied."""
    if not target:
        return

    series = upkeep_series(actions, {action.id for action in applied})
    write(target.path, as_bytes(exposition(series, {"workspace": Path(upkeep.workspace.root).name})))


def _show_plan(
    upkeep: UpkeepInput, names: Sequence[str], flags: TidyFlags, target: OutputFile | None, receipt: Receipt
) -> int:
    recover_first(upkeep.workspace, PATIENCE)
    actions = make_plan(upkeep)
    actions = named_actions(actions, [*names]) if names else actions
    actions = [action for action in actions if not (flags.safe and action.needs_approval)]
    if receipt.json:
        output.write_json(TidyPlan, {"date": str(upkeep.today), "actions": actions})
    elif actions:
        header = ("id", "do", "what", "why", "tokens", "bytes", "approval")
        output.write_table(header, [*map(_row, actions)], (4, 5))
    _write_metrics(target, upkeep, actions)
    output.show_problems(plan_problems(upkeep))
    if not (receipt.json or receipt.quiet):
        output.write_stderr(_advice(actions))
    return 0


def _apply(
    upkeep: UpkeepInput, names: Sequence[str], flags: TidyFlags, target: OutputFile | None, receipt: Receipt
) -> int:
    receipt.require_stdout()
    with locked(upkeep.workspace, patience=PATIENCE) as recovery:
        require_recovered(recovery)
        if names:
            applied = apply_named(upkeep, [*names])
        else:
            applied = apply_all(upkeep, lambda action: flags.every or not action.needs_approval)
    planned = [*applied.actions, *(action for action, _ in applied.left_out)]
    _write_metrics(target, upkeep, planned, applied.actions)
    left_out = [{"action": action, "why": why} for action, why in applied.left_out]
    document = {"date": str(upkeep.today), "applied": applied.actions, "left_out": left_out}
    receipt.write(
        TidyApplication, document, (f"{action.id} {action.verb} {_targets(action)}" for action in applied.actions)
    )
    for action, why in applied.left_out:
        output.write_stderr(f"ctxasm: {action.id} {action.verb}: left out: {why}")
    if not (receipt.json or receipt.quiet):
        count = len(applied.actions)
        done = f"{_action_count(count)} applied; `ctxasm tidy --undo` undoes {'them' if count > 1 else 'it'}"
        nothing = "nothing was applied" if applied.left_out else "nothing to do"
        output.write_stderr(f"ctxasm: {done if count else nothing}")
    return 1 if applied.left_out else 0


def _take_back(upkeep: UpkeepInput, receipt: Receipt) -> int:
    receipt.require_stdout()
    with locked(upkeep.workspace, patience=PATIENCE) as recovery:
        # The application that was interrupted is the last one: the one before it stays.
        journal = require_recovered(recovery) or take_back(upkeep.workspace.root)
    verbs = {entry.path: "removed" if entry.before is None else "restored" for entry in journal.entries}
    files = [{"path": path, "outcome": verb} for path, verb in verbs.items()]
    lines = (f"{verb} {path}" for path, verb in verbs.items())
    receipt.write(TidyUndo, {"date": str(upkeep.today), "taken_back": files}, lines)
    return 0


def _row(action: Action) -> Sequence[str]:
    saved = [f"{-number:+,}" if number else "-" for number in (action.tokens_saved, action.bytes_saved)]
    approval = "for you" if action.for_you else "needed" if action.needs_approval else "no"
    return (action.id, action.verb, _targets(action), action.reason, *saved, approval)


def _targets(action: Action) -> str:
    targets = action.targets
    if len(targets) <= _MOST_TARGETS:
        return ", ".join(targets)
    return f"{targets[0]} .. {targets[-1].rpartition('/')[2]} ({len(targets):,})"


def _advice(actions: Sequence[Action]) -> str:
    todo = [action for action in actions if not action.for_you]
    if not todo:
        count = _action_count(len(actions))
        return f"ctxasm: {count} for you to decide" if actions else "ctxasm: there is nothing to do"
    safe = sum(not action.needs_approval for action in todo)
    return (
        f"ctxasm: {_action_count(len(todo))}, of which {len(todo) - safe} need approval; nothing has changed: "
        "apply some with `ctxasm tidy --apply ID ...`, those without approval with `--safe`, or all with `--all`"
    )


def _action_count(number: int) -> str:
    return f"{number:,} action{'s' * (number != 1)}"


class ActionData(TypedDict):
    """One action."""

    id: Annotated[str, ("pattern", "^[0-9a-f]{8}$")]
    """Eight hexadecimal digits that name it."""
    verb: str
    """What is done, in a word."""
    targets: list[str]
    """The files, places or memories that are concerned."""
    reason: str
    """Why, in words."""
    needs_approval: bool
    """Whether it is done only if it is named, or with --all."""
    for_you: bool
    """Whether only a person can do it."""
    tokens_saved: int
    """Tokens by which builds may get smaller; negative if they grow."""
    bytes_saved: int
    """Bytes by which the files get smaller; negative if they grow."""


class TidyPlan(TypedDict):
    """A plan of upkeep, as `ctxasm tidy --json` prints it."""

    schema: Literal["ctxasm.tidy/1"]
    date: Day
    """The day that counts as today."""
    actions: list[ActionData]
    """The plan."""


class LeftOutAction(TypedDict):
    """One action, and why it was left out."""

    action: Annotated[ActionData, INLINE]
    """The action."""
    why: str
    """Why it was left out."""


class TidyApplication(TypedDict):
    """The actions of a plan that were done, and the others, as `ctxasm tidy --apply --json` prints them."""

    schema: Literal["ctxasm.tidy/1"]
    date: Day
    """The day that counts as today."""
    applied: list[ActionData]
    """Actions that were carried out."""
    left_out: list[LeftOutAction]
    """Actions that were not."""


class RestoredFile(TypedDict):
    """One file."""

    path: str
    """The file, relative to the workspace."""
    outcome: Literal["restored", "removed"]
    """What became of it."""


class TidyUndo(TypedDict):
    """The files that were restored, as `ctxasm tidy --undo --json` prints them."""

    schema: Literal["ctxasm.tidy/1"]
    date: Day
    """The day that counts as today."""
    taken_back: list[RestoredFile]
    """Files that are as they were before the last application."""
