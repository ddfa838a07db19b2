"""Resolution of a request: command line options, environment and the workspace's files become a build.

Nothing is left open in it: neither a default nor the clock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from contextasm.config import values
from contextasm.config.build import (
    Counters,
    PreparedBuild,
    evaluate_rules,
    load_counter,
    make_summarizer,
    semantic_similarity,
)
from contextasm.config.options import Options, ProcessEnvironment, parse_deadline, parse_filters
from contextasm.config.overrides import layer_settings, limit_layers, resolve_profile
from contextasm.config.settings import DEFAULTS, Setting, load_settings_file, resolve_settings
from contextasm.config.yaml_loader import YamlMapping, load_yaml
from contextasm.model import Build, ContextasmError, Data, Document, Parse, Problem, Profile, Request, Workspace
from contextasm.retrieval.memory_index.index import MemoryIndexes
from contextasm.text.decode import parse_data
from contextasm.text.templates import placeholders
from contextasm.workspace.cache import is_cache_allowed
from contextasm.workspace.folder import Folder, find_workspace
from contextasm.workspace.git_commands import changed_files
from contextasm.workspace.recording import RecordingWorkspace
from contextasm.workspace.snapshot import answer_digest

if TYPE_CHECKING:
    from contextasm.model import Rule, TokenCounter
    from contextasm.workspace.cache import TokenCountCache
    from contextasm.workspace.git import GitWorkspace

OwnerKind = Literal["agent", "team"]

OWNER_FILES: Mapping[OwnerKind, str] = {"agent": "agents/*/IDENTITY.md", "team": "teams/*/*.md"}
"""Pattern of the files that make a folder an owner's."""


def process_environment() -> ProcessEnvironment:
    """The environment of this process."""
    import time

    return ProcessEnvironment(os.environ, Path.cwd(), time.time)


def open_workspace(options: Options, process: ProcessEnvironment) -> Folder:
    """The workspace that is named, else the nearest one upwards. Raises `ContextasmError` if there is none."""
    name = options.workspace or process.environment.get("CTXASM_WORKSPACE")
    return Folder(process.folder / name if name else find_workspace(process.folder))


def prepare_build(
    options: Options,
    process: ProcessEnvironment,
    workspace: Folder | GitWorkspace | None = None,
    counters: Counters | None = None,
    restrict_profile: Callable[[Profile], Profile] = lambda profile: profile,
    stored_profile: Profile | None = None,
) -> PreparedBuild:
    """The build for the options.

    `workspace` is one that is open already. `counters` are those loaded before; a new one is added. `restrict_profile`
    changes the profile before anything else is resolved. `stored_profile` takes the place of the one that the settings
    name.

    Raises `ContextasmError` for options, settings and files that can't be used.
    """
    seconds = parse_deadline(options.deadline)
    workspace = workspace or open_workspace(options, process)
    config = RecordingWorkspace(workspace)
    settings_file = load_settings_file(config)
    settings = _option_settings(options, process, settings_file)
    digests: dict[str, str] = {}
    whole = stored_profile or resolve_profile(settings, settings_file, workspace, process, digests)
    profile = restrict_profile(limit_layers(whole, options))
    settings |= layer_settings(profile, settings_file, options)
    settings.setdefault("budget", Setting(profile.budget, f"profile {profile.name}"))
    # The build reads through it, too: no file is opened twice. The memory index compares the disk as it is now.
    recording = RecordingWorkspace(workspace)
    settings["agent"] = resolve_agent(settings["agent"], profile, recording, whole)
    check_team(settings["team"], profile, recording, whole)
    settings["date"] = resolve_date(settings, process)
    counter, counts = _load_counter_once(str(settings["tokenizer"].value), process.environment, counters)
    request = _resolve_request(options, settings, profile, workspace, process.environment)
    if not request.topic:
        request = request._replace(topic=current_goal(profile, recording, load_yaml))
    is_cached = is_cache_allowed(process.environment)
    topic = options.topic or ""
    build = Build(
        workspace=recording,
        profile=profile,
        request=request,
        counter=counter,
        rules=evaluate_rules(config, workspace, settings_file, options, request, process, whole),
        semantics=semantic_similarity(settings_file, settings, topic, workspace, process.environment),
        summarizer=make_summarizer(settings_file, workspace, process, seconds),
        memory_index=MemoryIndexes(workspace, process.now, enabled=is_cached)
        if isinstance(workspace, Folder)
        else None,
        parse_yaml=load_yaml,
    )
    for path, read in config.reads.items():
        digests[path] = answer_digest(read)
    options = options._replace(workspace=None, open=request.open, exclude=request.filters.exclude)
    return PreparedBuild(build, workspace, settings, counts, seconds, options, digests)


def _option_settings(options: Options, process: ProcessEnvironment, settings_file: YamlMapping) -> dict[str, Setting]:
    by_name = {key: getattr(options, key) for key in (*DEFAULTS, "budget")}
    return resolve_settings(by_name, process.environment, settings_file)


def _load_counter_once(
    tokenizer: str, environment: Mapping[str, str], counters: Counters | None
) -> tuple[TokenCounter, TokenCountCache | None]:
    counters = {} if counters is None else counters
    if tokenizer not in counters:
        counters[tokenizer] = load_counter(tokenizer, environment)
    return counters[tokenizer]


def _resolve_request(
    options: Options,
    settings: Mapping[str, Setting],
    profile: Profile,
    workspace: Folder | GitWorkspace,
    environment: Mapping[str, str],
) -> Request:
    day = settings["date"].value
    assert isinstance(day, date)
    return Request(
        agent=str(settings["agent"].value),
        team=str(settings["team"].value),
        topic=options.topic or "",
        date=day,
        budget=values.parse_tokens(settings["budget"].value, "budget"),
        tokenizer=str(settings["tokenizer"].value),
        format=str(settings["format"].value),
        session=values.parse_name(options.session or "", "--session"),
        open=tuple(workspace.relative(path) for path in options.open),
        changed=changed_files(workspace.root, environment) if uses_placeholder(profile, "changed") else (),
        additional=options.additional or "",
        filters=parse_filters(
            options.since,
            options.event_types,
            options.entity_types,
            [id_or_path(workspace, text) for text in options.exclude],
        ),
        prefer=options.prefer,
    )


def id_or_path(workspace: Folder | GitWorkspace, typed: str) -> str:
    """A typed id as it is; a typed path or pattern, as one of the workspace; a folder, as a pattern of all in it."""
    path = workspace.relative(typed)
    if path and not workspace.exists(path):
        return path if "/" in typed else typed
    return path if workspace.is_file(path) or path == typed == "" else f"{path}/*".lstrip("/")


def open_rules(options: Options, process: ProcessEnvironment) -> tuple[Rule, ...]:
    """The workspace's rules as written. Raises `ContextasmError` for files that can't be read or parsed."""
    from contextasm.config.rules import load_rules

    workspace = open_workspace(options, process)
    return load_rules(workspace, load_settings_file(workspace))


def uses_placeholder(profile: Profile, name: str) -> bool:
    """Whether a path of the profile has this name in braces."""
    return any(name in placeholders(path) for layer in profile.layers for path in layer.query.paths)


def current_goal(profile: Profile, workspace: Workspace, parse: Parse) -> str:
    """The goal of the current task; empty where no layer shows it, or there is none."""
    paths = [path for layer in profile.layers if "current-goal" in layer.query.sources for path in layer.query.paths]
    if not paths:
        return ""
    from contextasm.text.task_stack import parse_task_stack

    for path in paths:
        document = workspace.read(path)
        data = parse_data(document, parse) if isinstance(document, Document) else None
        if isinstance(data, Data) and (chain := parse_task_stack(data, []).path()):
            return chain[-1].goal
    return ""


def resolve_agent(setting: Setting, profile: Profile, workspace: Workspace, whole: Profile | None = None) -> Setting:
    """The agent of a build: the one that is named, else the only one.

    `whole` is the profile before `--scope` left out layers: an option is unused where that does not use it. Raises
    `ContextasmError` for an unknown agent, for one without IDENTITY.md or INSTRUCTIONS.md, where none is named and
    there is not exactly one, and for an option `--agent` that the profile does not use.
    """
    if not uses_placeholder(profile, "agent"):
        _refuse_unused_option(setting, whole or profile, "agent")
        return setting
    names = owner_names(workspace, "agent")
    if not setting.value:
        return Setting(only_agent(names), "the only agent")
    agent = str(setting.value)
    folder = owner_folder(workspace, "agent", agent, setting.origin)
    for path in (f"{folder}/IDENTITY.md", f"{folder}/INSTRUCTIONS.md"):
        if workspace.read(path) is None:
            hint = f"write it, or run `ctxasm init --agent {agent}`, which leaves what is there alone"
            raise ContextasmError(path, "is missing", hint)
    return setting


def check_team(setting: Setting, profile: Profile, workspace: Workspace, whole: Profile | None = None) -> None:
    """Raise `ContextasmError` for an unknown team, and for an option `--team` that the profile does not use.

    `whole` is the profile before `--scope` left out layers: an option is unused where that does not use it.
    """
    is_used = uses_placeholder(profile, "team")
    if not is_used:
        _refuse_unused_option(setting, whole or profile, "team")
    if setting.value and (is_used or setting.origin.startswith("--")):
        owner_folder(workspace, "team", str(setting.value), setting.origin)


def owner_folder(workspace: Workspace, kind: OwnerKind, name: str, origin: str) -> str:
    """The folder of an agent or a team, such as `agents/luna`.

    Raises `ContextasmError` at `origin`, with the nearest name, where there is no such folder.
    """
    folder = f"{kind}s/{name}"
    if not workspace.list(folder):
        values.require_known(name, owner_names(workspace, kind), origin, kind)
    return folder


def only_agent(names: Sequence[str], advice: str = "name one with -a NAME") -> str:
    """The name of the only agent. Raises `ContextasmError`, with `advice`, where there are none or several."""
    if len(names) != 1:
        agents = f"there are {', '.join(names)}" if names else "make one with `ctxasm init --agent NAME`"
        raise ContextasmError("agent", "none named", f"{advice}; {agents}")
    return names[0]


def owner_names(workspace: Workspace, kind: OwnerKind) -> list[str]:
    """The names of all agents, or of all teams. Raises `ContextasmError` for a folder that leads out."""
    paths = [(path, path.split("/")) for path in workspace.list(OWNER_FILES[kind])]
    for path, parts in paths:
        if len(parts) < 3 and isinstance(problem := workspace.read(path), Problem):
            raise ContextasmError(path, problem.message, "put a folder there")
    return sorted({parts[1] for _, parts in paths if len(parts) == 3})


def _refuse_unused_option(setting: Setting, profile: Profile, kind: OwnerKind) -> None:
    if setting.value and setting.origin.startswith("--") and not uses_placeholder(profile, kind):
        raise ContextasmError(setting.origin, f"profile {profile.name} reads no {kind}", "leave it out")


def resolve_date(settings: Mapping[str, Setting], process: ProcessEnvironment) -> Setting:
    """The day that counts as today: the one that is named, else the clock's in the time zone.

    Raises `ContextasmError` for an unknown time zone.
    """
    setting = settings["date"]
    zone = str(settings["tz"].value)
    if setting.value and not zone:
        return setting
    try:
        day = today(zone, process.now())
    except (OSError, ValueError, KeyError) as error:  # a KeyError is what zoneinfo raises for a name it has not
        hint = "name one such as Europe/Berlin or UTC"
        raise ContextasmError(settings["tz"].origin, f"unknown time zone {zone}", hint) from error
    return setting if setting.value else Setting(day, f"the clock, {zone or 'local time'}")


def today(zone: str, now: float) -> date:
    """The day of a time in a time zone; `now` is in seconds since 1970, and an empty zone is the machine's."""
    if not zone:
        return date.fromtimestamp(now)  # noqa: DTZ012 - local
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return datetime.fromtimestamp(now, ZoneInfo(zone)).date()
