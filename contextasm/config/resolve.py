"""Prepare: from a command line, the environment and the workspace's files to a request with nothing left open."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from contextasm.config import options_wanted as wanted
from contextasm.config import values
from contextasm.config.build import Counters, PreparedBuild, load_counter
from contextasm.config.build_aids import evaluate_rules, make_summarizer, semantic_similarity
from contextasm.config.facts import changed_files, current_goal, uses
from contextasm.config.options import Options, ProcessEnvironment
from contextasm.config.overrides import layer_settings, resolve_profile
from contextasm.config.resolve_names import check_team, resolve_agent, resolve_date
from contextasm.config.settings import DEFAULTS, Setting, load_settings_file, resolve_settings
from contextasm.config.yaml_events import load_values
from contextasm.model import Profile, Request
from contextasm.retrieval.memory_index.index import MemoryIndexes
from contextasm.workspace.cache import is_cache_allowed
from contextasm.workspace.folder import Folder, find_workspace

if TYPE_CHECKING:
    from contextasm.rules.evaluate import Rule
    from contextasm.workspace.git import GitWorkspace


def open_workspace(flags: Options, around: ProcessEnvironment) -> Folder:
    """The workspace that is named, else the nearest one upwards. Raises `ContextasmError` if there is none."""
    named = flags.workspace or around.environment.get("CTXASM_WORKSPACE")
    return Folder(around.folder / named if named else find_workspace(around.folder))


def prepare_build(
    flags: Options,
    around: ProcessEnvironment,
    workspace: Folder | GitWorkspace | None = None,
    counters: Counters | None = None,
    narrowed: Callable[[Profile], Profile] = lambda whole: whole,
) -> PreparedBuild:
    """The build that is asked for.

    Of as much of the profile as `narrowed` leaves; in `workspace` where that is opened already, and with what
    `counters` loaded before.

    Raises `ContextasmError` for anything that can't be done as asked.
    """
    seconds = wanted.parse_deadline(flags.deadline)
    workspace = workspace or open_workspace(flags, around)
    file = load_settings_file(workspace)
    typed = {key: getattr(flags, key) for key in DEFAULTS if key != "format"} | {"budget": flags.budget}
    settings = resolve_settings({**typed, "format": flags.format}, around.environment, file)
    profile = narrowed(resolve_profile(flags, settings, file, workspace, around))
    settings |= layer_settings(profile, file, flags)
    settings.setdefault("budget", Setting(profile.budget, f"profile {profile.name}"))
    settings["agent"] = resolve_agent(settings["agent"], profile, workspace)
    check_team(settings["team"], profile, workspace)
    settings["date"] = resolve_date(settings, around)
    tokenizer = str(settings["tokenizer"].value)
    counters = {} if counters is None else counters
    if tokenizer not in counters:
        counters[tokenizer] = load_counter(tokenizer, around.environment)
    counter, counts = counters[tokenizer]
    meaning = semantic_similarity(file, settings, flags.topic or "", workspace, around.environment)
    request = _request(flags, settings, profile, workspace, tokenizer)
    fired = evaluate_rules(workspace, file, flags, request, around)
    kept = is_cache_allowed(around.environment)
    pools = MemoryIndexes(workspace, around.now, kept=kept) if isinstance(workspace, Folder) else None
    return PreparedBuild(
        workspace,
        settings,
        profile,
        request,
        counter,
        counts,
        fired,
        make_summarizer(file, workspace, around, seconds),
        seconds,
        meaning,
        pools,
    )


def _request(
    flags: Options, settings: Mapping[str, Setting], profile: Profile, workspace: Folder | GitWorkspace, tokenizer: str
) -> Request:
    """What is asked for, with nothing left open. A profile that shows the current task takes its goal for the topic."""
    day = settings["date"].value
    assert isinstance(day, date)
    goal = "" if flags.topic else current_goal(profile, workspace, load_values)
    return Request(
        agent=str(settings["agent"].value),
        team=str(settings["team"].value),
        topic=flags.topic or goal,
        date=day,
        budget=values.parse_tokens(settings["budget"].value, "budget"),
        tokenizer=tokenizer,
        format=str(settings["format"].value),
        session=values.parse_name(flags.session or "", "--session"),
        open=tuple(workspace.relative(path) for path in flags.open),
        changed=changed_files(workspace.root) if uses(profile, "with_layer_changes") else (),
        additional=flags.additional or "",
        filters=wanted.parse_filters(flags.since, flags.event_types, flags.entity_types, flags.exclude),
        prefer=flags.prefer,
    )


def open_rules(flags: Options, around: ProcessEnvironment) -> tuple[Rule, ...]:
    """The workspace's rules, as they are written. Raises `ContextasmError` for what is not understood."""
    from contextasm.config.rules import load_rules

    workspace = open_workspace(flags, around)
    return load_rules(workspace, load_settings_file(workspace))


def process_environment() -> ProcessEnvironment:
    """Those of this process."""
    import time

    return ProcessEnvironment(os.environ, Path.cwd(), time.time)
