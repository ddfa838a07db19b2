"""Prepare: from a command line, the environment and the workspace's files to a request with nothing left open."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from contextasm.config import options_wanted as wanted
from contextasm.config import values
from contextasm.config.build import Counters, Job, counting
from contextasm.config.build_aids import fired_rules, meaning_of, summarizer_of
from contextasm.config.facts import changed_files, current_goal, uses
from contextasm.config.options import Flags, Surroundings
from contextasm.config.overrides import layer_settings, profile_of
from contextasm.config.resolve_names import agent_setting, check_team, day_setting, today
from contextasm.config.settings import DEFAULTS, Setting, load_file, settle
from contextasm.config.yaml_events import load_data
from contextasm.model import Profile, Request
from contextasm.retrieval.memory_index.index import KeptPools
from contextasm.workspace.cache import is_remembering
from contextasm.workspace.folder import Folder, find

if TYPE_CHECKING:
    from contextasm.rules.evaluate import Rule
    from contextasm.workspace.git import Revision

__all__ = [
    "Counters",
    "Flags",
    "Job",
    "Surroundings",
    "counting",
    "day_setting",
    "open_rules",
    "open_workspace",
    "prepare",
    "surroundings",
    "today",
]


def open_workspace(flags: Flags, around: Surroundings) -> Folder:
    """The workspace that is named, else the nearest one upwards. Raises `ContextasmError` if there is none."""
    named = flags.workspace or around.environment.get("CTXASM_WORKSPACE")
    return Folder(around.folder / named if named else find(around.folder))


def prepare(
    flags: Flags,
    around: Surroundings,
    workspace: Folder | Revision | None = None,
    counters: Counters | None = None,
    narrowed: Callable[[Profile], Profile] = lambda whole: whole,
) -> Job:
    """The build that is asked for.

    Of as much of the profile as `narrowed` leaves; in `workspace` where that is opened already, and with what
    `counters` loaded before.

    Raises `ContextasmError` for anything that can't be done as asked.
    """
    seconds = wanted.seconds(flags.deadline)
    workspace = workspace or open_workspace(flags, around)
    file = load_file(workspace)
    typed = {key: getattr(flags, key) for key in DEFAULTS if key != "format"} | {"budget": flags.budget}
    settings = settle({**typed, "format": flags.format}, around.environment, file)
    profile = narrowed(profile_of(flags, settings, file, workspace, around))
    settings |= layer_settings(profile, file, flags)
    settings.setdefault("budget", Setting(profile.budget, f"profile {profile.name}"))
    settings["agent"] = agent_setting(settings["agent"], profile, workspace)
    check_team(settings["team"], profile, workspace)
    settings["date"] = day_setting(settings, around)
    tokenizer = str(settings["tokenizer"].value)
    counters = {} if counters is None else counters
    if tokenizer not in counters:
        counters[tokenizer] = counting(tokenizer, around.environment)
    counter, counts = counters[tokenizer]
    meaning = meaning_of(file, settings, flags.topic or "", workspace, around.environment)
    request = _request(flags, settings, profile, workspace, tokenizer)
    fired = fired_rules(workspace, file, flags, request, around)
    kept = is_remembering(around.environment)
    pools = KeptPools(workspace, around.now, kept=kept) if isinstance(workspace, Folder) else None
    return Job(
        workspace,
        settings,
        profile,
        request,
        counter,
        counts,
        fired,
        summarizer_of(file, workspace, around, seconds),
        seconds,
        meaning,
        pools,
    )


def _request(
    flags: Flags, settings: Mapping[str, Setting], profile: Profile, workspace: Folder | Revision, tokenizer: str
) -> Request:
    """What is asked for, with nothing left open. A profile that shows the current task takes its goal for the topic."""
    day = settings["date"].value
    assert isinstance(day, date)
    goal = "" if flags.topic else current_goal(profile, workspace, load_data)
    return Request(
        agent=str(settings["agent"].value),
        team=str(settings["team"].value),
        topic=flags.topic or goal,
        date=day,
        budget=values.tokens(settings["budget"].value, "budget"),
        tokenizer=tokenizer,
        format=str(settings["format"].value),
        session=values.name(flags.session or "", "--session"),
        open=tuple(workspace.relative(path) for path in flags.open),
        changed=changed_files(workspace.root) if uses(profile, "changed") else (),
        additional=flags.additional or "",
        filters=wanted.filters(flags.since, flags.event_types, flags.entity_types, flags.exclude),
        prefer=flags.prefer,
    )


def open_rules(flags: Flags, around: Surroundings) -> tuple[Rule, ...]:
    """The workspace's rules, as they are written. Raises `ContextasmError` for what is not understood."""
    from contextasm.config.rules import load_rules

    workspace = open_workspace(flags, around)
    return load_rules(workspace, load_file(workspace))


def surroundings() -> Surroundings:
    """Those of this process."""
    import time

    return Surroundings(os.environ, Path.cwd(), time.time)
