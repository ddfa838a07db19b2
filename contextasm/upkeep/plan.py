"""The plan of upkeep: every action of the planners, in one order, and its metrics. Nothing is written here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from itertools import chain

from contextasm.config.build import make_summarizer, semantic_similarity
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import load_settings_file, resolve_settings
from contextasm.config.keys.upkeep import parse_upkeep
from contextasm.config.profiles.overrides import ProfileReader
from contextasm.config.resolve import resolve_date
from contextasm.config.workspace_folder import attach_store, open_workspace
from contextasm.model import Problem
from contextasm.rendering.prometheus import Sample, Series, gauge, gauges
from contextasm.retrieval.reading.feedback import read_feedback
from contextasm.text.similarity import RELATED
from contextasm.upkeep.actions import Action
from contextasm.upkeep.feedback import plan_feedback
from contextasm.upkeep.input import UpkeepInput, without_variables
from contextasm.upkeep.logs import plan_logs, plan_long_files
from contextasm.upkeep.memories.planner import plan_memories
from contextasm.upkeep.retention import plan_retention


def make_plan(upkeep: UpkeepInput) -> Sequence[Action]:
    """All that is to be done in a workspace on a day: the actions of all planners, logs first, without duplicates.

    The plan is the same for the same input. If two actions overlap, an application leaves out the later one. Policies
    of retention count what stays after the actions for logs and memories, as an application does.
    """
    early = (*plan_logs(upkeep), *plan_long_files(upkeep), *plan_memories(upkeep))
    actions = {action.id: action for action in chain(early, plan_retention(upkeep, early), plan_feedback(upkeep))}
    return [*actions.values()]


def plan_problems(upkeep: UpkeepInput) -> Sequence[Problem]:
    """Problems of what a plan leaves out: files that can't be read or whose names can't be shown, and bad feedback.

    They are found while the plan is made.
    """
    _, feedback = read_feedback(upkeep.workspace, upkeep.today)
    return (*upkeep.problems, *feedback.problems)


def prepare_upkeep(options: Options, process: ProcessEnvironment) -> UpkeepInput:
    """The input for the workspace and the day of the options. Raises `ContextasmError` for settings that are wrong.

    The summarizer of a workspace that the person does not trust runs nothing.
    """
    workspace = open_workspace(options, process)
    settings_file = load_settings_file(workspace)
    attach_store(workspace, settings_file, process, offline=True)  # its memories are not changed: no server is asked
    settings = resolve_settings({"date": options.date, "tz": options.tz}, process.environment, settings_file)
    today = resolve_date(settings, process).value
    assert isinstance(today, date)
    reader = ProfileReader(settings_file, workspace, without_variables(workspace))  # a plan depends on no variable
    semantics = semantic_similarity(ProfileReader(settings_file, workspace, process), {}, "memories", near=RELATED)
    return UpkeepInput(
        workspace=workspace,
        settings=parse_upkeep(settings_file),
        settings_file=settings_file,
        today=today,
        summarizer=make_summarizer(settings_file, workspace, process, None),
        profiles=[*reader.all_named(resolve_settings({}, {}, settings_file))],
        semantics=semantics.get("memories"),
        environment=process.environment,
    )


def upkeep_series(actions: Sequence[Action], applied: Collection[str]) -> Iterator[Series]:
    """The series of a plan, and of the actions in it that were applied, by their ids."""
    planned = Counter((action.verb, _approval(action)) for action in actions)
    counts: list[Sample] = [(count, {"verb": verb, "approval": needed}) for (verb, needed), count in planned.items()]
    what = "Actions that the plan holds, by verb, and by whether a person has to approve or to decide."
    yield Series("ctxasm_tidy_planned_actions", "gauge", what, counts)
    done = [action for action in actions if action.id in applied]
    done_by_verb = {verb: sum(action.verb == verb for action in done) for verb, _ in planned}
    yield gauges("ctxasm_tidy_applied_actions", "Actions that were applied, by verb.", "verb", done_by_verb)
    for name, words, chosen in (("planned", "the plan would save", actions), ("applied", "were saved", done)):
        tokens, saved = sum(each.tokens_saved for each in chosen), sum(each.bytes_saved for each in chosen)
        yield gauge(f"ctxasm_tidy_{name}_saved_tokens", f"Tokens that {words}.", tokens)
        yield gauge(f"ctxasm_tidy_{name}_saved_bytes", f"Bytes of edited files that {words}.", saved)


def _approval(action: Action) -> str:
    return "for-a-person" if action.for_you else "needed" if action.needs_approval else "none"
