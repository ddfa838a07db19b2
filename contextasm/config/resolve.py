"""Prepare: from a command line, the environment and the workspace's files to a request with nothing left open."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from contextasm.config import options, values
from contextasm.config.build import (
    Counters,
    PreparedBuild,
    evaluate_rules,
    load_counter,
    make_summarizer,
    semantic_similarity,
)
from contextasm.config.options import Options, ProcessEnvironment
from contextasm.config.overrides import layer_settings, resolve_profile
from contextasm.config.settings import DEFAULTS, Setting, load_settings_file, resolve_settings
from contextasm.config.yaml_events import load_values
from contextasm.model import Build, ContextasmError, Data, Document, Parse, Problem, Profile, Request, Workspace
from contextasm.retrieval.memory_index.index import MemoryIndexes
from contextasm.text.decode import parse_data
from contextasm.text.templates import placeholders
from contextasm.workspace.cache import is_cache_allowed
from contextasm.workspace.folder import Folder, find_workspace
from contextasm.workspace.git import changed_files

if TYPE_CHECKING:
    from contextasm.model import Rule
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
    seconds = options.parse_deadline(flags.deadline)
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
    request = _request(flags, settings, profile, workspace, tokenizer)
    is_cached = is_cache_allowed(around.environment)
    build = Build(
        workspace=workspace,
        profile=profile,
        request=request,
        counter=counter,
        rules=evaluate_rules(workspace, file, flags, request, around),
        semantics=semantic_similarity(file, settings, flags.topic or "", workspace, around.environment),
        summarizer=make_summarizer(file, workspace, around, seconds),
        memory_index=MemoryIndexes(workspace, around.now, kept=is_cached) if isinstance(workspace, Folder) else None,
        parse_yaml=load_values,
    )
    return PreparedBuild(build, workspace, settings, counts, seconds)


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
        changed=changed_files(workspace.root) if uses(profile, "changed") else (),
        additional=flags.additional or "",
        filters=options.parse_filters(flags.since, flags.event_types, flags.entity_types, flags.exclude),
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


def uses(profile: Profile, name: str) -> bool:
    """Whether a path of the profile has this name in braces."""
    return any(name in placeholders(path) for layer in profile.layers for path in layer.query.paths)


def current_goal(profile: Profile, workspace: Workspace, parse: Parse) -> str:
    """The goal of the task that is worked on, if a layer shows it; else empty."""
    paths = [path for layer in profile.layers if "current-goal" in layer.query.sources for path in layer.query.paths]
    if not paths:
        return ""
    from contextasm.text.task_stack import parse_task_stack

    for path in paths:
        read = workspace.read(path)
        data = parse_data(read, parse) if isinstance(read, Document) else None
        if isinstance(data, Data) and (chain := parse_task_stack(data, []).path()):
            return chain[-1].goal
    return ""


def resolve_agent(setting: Setting, profile: Profile, workspace: Folder | GitWorkspace) -> Setting:
    """The agent: the one named, else the only one. It has an IDENTITY.md and an INSTRUCTIONS.md."""
    if not uses(profile, "agent"):
        _refuse_unused(setting, profile, "agent")
        return setting
    known = _names(workspace, "agents/*/IDENTITY.md")
    if not setting.value:
        if len(known) != 1:
            there = f"there are {', '.join(known)}" if known else "make one with `ctxasm init --agent NAME`"
            raise ContextasmError("agent", "none named", f"name one with -a NAME; {there}")
        return Setting(known[0], "the only agent")
    agent = str(setting.value)
    if not workspace.list(f"agents/{agent}"):
        values.require_known(agent, known, setting.origin, "agent")
    for path in (f"agents/{agent}/IDENTITY.md", f"agents/{agent}/INSTRUCTIONS.md"):
        if workspace.read(path) is None:
            hint = f"write it, or run `ctxasm init --agent {agent}`, which leaves what is there alone"
            raise ContextasmError(path, "is missing", hint)
    return setting


def check_team(setting: Setting, profile: Profile, workspace: Folder | GitWorkspace) -> None:
    """Raise for a team that is not there."""
    if not uses(profile, "team"):
        _refuse_unused(setting, profile, "team")
    elif setting.value and not workspace.list(f"teams/{setting.value}"):
        values.require_known(str(setting.value), _names(workspace, "teams/*/*.md"), setting.origin, "team")


def _names(workspace: Workspace, pattern: str) -> list[str]:
    """The names of the folders that hold a file of this pattern, `KIND/*/FILE`."""
    found = [(path, path.split("/")) for path in workspace.list(pattern)]
    for path, parts in found:
        if len(parts) < 3 and isinstance(problem := workspace.read(path), Problem):
            raise ContextasmError(path, problem.message, "put a folder there")
    return sorted({parts[1] for _, parts in found if len(parts) == 3})


def _refuse_unused(setting: Setting, profile: Profile, kind: str) -> None:
    """Raise for a name on the command line that the profile has no use for."""
    if setting.value and setting.origin.startswith("--"):
        raise ContextasmError(setting.origin, f"profile {profile.name} reads no {kind}", "leave it out")


def resolve_date(settings: Mapping[str, Setting], around: ProcessEnvironment) -> Setting:
    """The day that counts as today: the one that is named, else the clock's in the time zone."""
    setting = settings["date"]
    zone = str(settings["tz"].value)
    if setting.value and not zone:
        return setting
    try:
        day = today(zone, around.now())
    except (OSError, ValueError, KeyError) as error:  # a KeyError is what zoneinfo raises for a name it has not
        hint = "name one such as Europe/Berlin or UTC"
        raise ContextasmError(settings["tz"].origin, f"unknown time zone {zone}", hint) from error
    return setting if setting.value else Setting(day, f"the clock, {zone or 'local time'}")


def today(zone: str, now: float) -> date:
    """The day of a time, in seconds since 1970, in a time zone; an empty one is the machine's."""
    if not zone:
        return date.fromtimestamp(now)  # noqa: DTZ012 - local
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return datetime.fromtimestamp(now, ZoneInfo(zone)).date()
