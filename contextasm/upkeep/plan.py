"""The plan of upkeep: every action of the planners, in one order, and its metrics. Nothing is written here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from contextasm.config.build import make_summarizer
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import load_settings_file, resolve_settings
from contextasm.config.input.yaml_loader import YamlMapping, load_yaml
from contextasm.config.keys.upkeep import parse_upkeep
from contextasm.config.profiles.overrides import workspace_profiles
from contextasm.config.resolve import resolve_date
from contextasm.config.workspace_folder import attach_store, open_workspace
from contextasm.model import Problem
from contextasm.rendering.prometheus import Series
from contextasm.retrieval.reading.audience import private_patterns
from contextasm.upkeep.actions import Action
from contextasm.upkeep.feedback import feedback_problems, plan_feedback
from contextasm.upkeep.input import MemoryFiles, UpkeepInput
from contextasm.upkeep.logs import plan_logs
from contextasm.upkeep.memories.planner import plan_memories
from contextasm.upkeep.retention import plan_retention
from contextasm.workspace.folder import Folder


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


def prepare_upkeep(options: Options, process: ProcessEnvironment) -> UpkeepInput:
    """The input for the workspace and the day of the options. Raises `ContextasmError` for settings that are wrong.

    The summarizer of a workspace that the person does not trust runs nothing.
    """
    workspace = open_workspace(options, process)
    settings_file = load_settings_file(workspace)
    attach_store(workspace, settings_file, process, offline=True)  # its memories are left alone: no server is asked
    settings = resolve_settings({"date": options.date, "tz": options.tz}, process.environment, settings_file)
    today = resolve_date(settings, process).value
    assert isinstance(today, date)
    return UpkeepInput(
        workspace=workspace,
        settings=parse_upkeep(settings_file),
        settings_file=settings_file,
        today=today,
        summarizer=make_summarizer(settings_file, workspace, process, None),
        memory_files=MemoryFiles(workspace, load_yaml, _private_paths(workspace, settings_file)),
    )


def _private_paths(workspace: Folder, settings_file: YamlMapping) -> Sequence[str]:
    """Patterns of the private layers of all profiles of the workspace: a plan depends on no variable of the process."""
    process = ProcessEnvironment({}, Path(workspace.root), lambda: 0.0)  # no day is asked for
    settings = resolve_settings({}, {}, settings_file)
    profiles = workspace_profiles(settings, settings_file, workspace, process, {})
    return [*dict.fromkeys(pattern for profile in profiles for pattern in private_patterns(profile))]


def read_again(upkeep: UpkeepInput) -> UpkeepInput:
    """The same input over the files as they are now; the settings stay."""
    workspace = Folder(Path(upkeep.workspace.root), upkeep.workspace.overlay)
    return upkeep._replace(workspace=workspace, memory_files=upkeep.memory_files.read_again(workspace))


def upkeep_series(actions: Sequence[Action], applied: Collection[str] = ()) -> Iterator[Series]:
    """The series of a plan, and of the actions in it that were applied, by their ids."""
    planned = Counter((action.verb, _approval(action)) for action in actions)
    verbs = dict.fromkeys(action.verb for action in actions)
    done = [action for action in actions if action.id in applied]
    yield Series(
        "ctxasm_tidy_planned_actions",
        "gauge",
        "Actions that the plan holds, by verb, and by whether a person has to approve them, or to decide alone.",
        [(count, {"verb": verb, "approval": approval}) for (verb, approval), count in planned.items()],
    )
    yield Series(
        "ctxasm_tidy_applied_actions",
        "gauge",
        "Actions that were applied, by verb.",
        [(sum(action.verb == verb for action in done), {"verb": verb}) for verb in verbs],
    )
    for name, what, chosen in (("planned", "the plan would save", actions), ("applied", "were saved", done)):
        yield Series(
            f"ctxasm_tidy_{name}_saved_tokens",
            "gauge",
            f"Tokens that {what}.",
            [(sum(action.tokens_saved for action in chosen), {})],
        )
        yield Series(
            f"ctxasm_tidy_{name}_saved_bytes",
            "gauge",
            f"Bytes of edited files that {what}.",
            [(sum(action.bytes_saved for action in chosen), {})],
        )


def _approval(action: Action) -> str:
    if not action.changes_files:
        return "for-a-person"
    return "needed" if action.needs_approval else "none"
