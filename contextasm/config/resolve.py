"""Resolution of a request: command line options, environment and the workspace's files become a build.

Nothing is left open in it: neither a default nor the clock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from types import MappingProxyType

from contextasm.config.build import (
    Counters,
    PreparedBuild,
    evaluate_rules,
    load_counter,
    make_summarizer,
    semantic_similarity,
    unused_variables,
)
from contextasm.config.input import values
from contextasm.config.input.options import FileText, Options, ProcessEnvironment, parse_deadline
from contextasm.config.input.settings import FILE, Setting, load_settings_file, resolve_settings
from contextasm.config.input.yaml_loader import YamlMapping, load_yaml
from contextasm.config.owners import check_team, resolve_agent, uses_placeholder
from contextasm.config.profiles.overrides import ProfileReader, layer_settings, limit_layers
from contextasm.config.workspace_folder import attach_store, find_workspace, named_workspace, open_workspace
from contextasm.model import (
    CLEAN,
    Build,
    Cleaning,
    ContextasmError,
    Data,
    Document,
    Filters,
    Parse,
    Problem,
    Profile,
    Request,
    Rule,
    TokenCounter,
    Workspace,
    system_errors,
)
from contextasm.retrieval.memory_index.index import MemoryIndexes
from contextasm.text.cleaning.clean import clean_value, parse_data, shown_names
from contextasm.text.names.glob import plain_pattern
from contextasm.text.names.matching import mentions, nearest
from contextasm.workspace.cache import index_database
from contextasm.workspace.folder import Folder
from contextasm.workspace.outputs import OutputFile
from contextasm.workspace.reads import current_day, note_other_input, note_read
from contextasm.workspace.recording import RecordingWorkspace, answer_digest


def process_environment() -> ProcessEnvironment:
    """The environment of this process. Raises `ContextasmError` if its current folder is gone."""
    import time

    with system_errors("current folder", "can't be read", "change to a folder that exists"):
        folder = os.getcwd()
    return ProcessEnvironment(os.environ, folder, time.time)


def prepare_build(
    options: Options,
    process: ProcessEnvironment,
    workspace: Folder | None = None,
    counters: Counters | None = None,
    restrict_profile: Callable[[Profile], Profile] = lambda profile: profile,
    stored_profile: Profile | None = None,
    targets: Sequence[OutputFile] = (),
    overrides: Mapping[str, Setting] = MappingProxyType({}),
) -> PreparedBuild:
    """The build for the options. Raises `ContextasmError` for options, settings and files that can't be used.

    `workspace` is open already. `counters` are those loaded before; a new one is added. `restrict_profile` changes the
    profile before the rest is resolved; `stored_profile` and `overrides` take the place of it and of other settings.
    `targets` are the files that the text goes to: if no audience is named, they decide it.
    """
    seconds, workspace = parse_deadline(options.deadline), workspace or open_workspace(options, process)
    config, recording = RecordingWorkspace(workspace), RecordingWorkspace(workspace)  # no file is opened twice
    reader = ProfileReader(load_settings_file(config), workspace, process)
    settings, detected = _typed_settings(options, reader, targets, overrides)
    whole = stored_profile or reader.resolve(settings)
    store = attach_store(workspace, reader.settings_file, process, offline=options.offline)
    problems = [*store.refresh()] if store else []
    typed_files = tuple(os.path.join(process.folder, text.file) for text in options if isinstance(text, FileText))
    options = _cleaned_options(options, settings)
    profile = restrict_profile(limit_layers(whole, options))
    settings |= layer_settings(profile, reader.settings_file, options)
    _settle(settings, profile, whole, recording, reader)
    counter, counts = load_counter(str(settings["tokenizer"].value), process.environment, counters)
    history, thinking = _session_of_history(options, problems)
    request = _resolve_request(options, settings, profile, recording, reader)._replace(history=history)
    rules = evaluate_rules(config, reader, options, request, whole)
    problems += (*unused_variables(options, rules), *_missing_files(request.open, workspace))
    build = Build(recording, profile, request, counter, rules, problems=tuple(problems))
    build = _with_services(build, options, reader, settings, seconds)
    digests = reader.digests | {path: answer_digest(read) for path, read in config.reads.items()}
    options = options._replace(workspace=None, offline=False, open=request.open, exclude=request.filters.exclude)
    taken = "; ".join(filter(None, (thinking, detected)))
    return PreparedBuild(
        build, workspace, settings, reader.settings_file, counts, seconds, options, digests, taken, typed_files
    )


def counter_of_text(options: Options, process: ProcessEnvironment) -> TokenCounter:
    """The counter for a text outside of any workspace: that of `--tokenizer`, else of the settings that are found here.

    Raises `ContextasmError` for a tokenizer that is not known, and for settings that can't be used.
    """
    settings_file = YamlMapping(FILE, 1)
    is_named = options.tokenizer is not None or "CTXASM_TOKENIZER" in process.environment
    if not is_named and (root := named_workspace(options, process) or find_workspace(process.folder)):
        settings_file = load_settings_file(Folder(os.path.join(process.folder, root)))
    settings = resolve_settings({"tokenizer": options.tokenizer}, process.environment, settings_file)
    return load_counter(str(settings["tokenizer"].value), process.environment)[0]


def _typed_settings(
    options: Options, reader: ProfileReader, targets: Sequence[OutputFile], overrides: Mapping[str, Setting]
) -> tuple[dict[str, Setting], str]:
    """The settings, and words for a receipt: the profile of a folder without settings, or its unread files."""
    shared_by, workspace = "", reader.workspace
    if targets:
        from contextasm.config.keys.outputs import sharing_option  # here: most builds write no file

        shared_by = sharing_option(reader.settings_file, workspace.root, targets)
    typed = resolve_settings(options._asdict(), reader.process.environment, reader.settings_file, shared_by)
    settings, detected = reader.with_detected(typed)
    if not detected and settings["profile"].origin.startswith(("default", FILE)):
        detected = reader.unread_words(settings, (target.full for target in targets))
    return {**settings, **overrides}, detected


def _settle(
    settings: dict[str, Setting], profile: Profile, whole: Profile, recording: Workspace, reader: ProfileReader
) -> None:
    """Put the budget, the agent and the day into the settings that are meant if none is named.

    `whole` is the profile before options leave out or limit layers. Raises `ContextasmError`.
    """
    # The budget of a profile that is named for this build beats that of the settings' file.
    is_named = settings["profile"].origin.startswith(("--", "CTXASM_"))
    if "budget" not in settings or (is_named and settings["budget"].origin.startswith(FILE)):
        settings["budget"] = Setting(profile.budget, f"profile {profile.name}")
    settings["agent"] = resolve_agent(settings["agent"], profile, recording, whole, reader.workspace)
    check_team(settings["team"], profile, recording, whole)
    settings["date"] = resolve_date(settings, reader.process)


def _missing_files(paths: Sequence[str], workspace: Folder) -> Iterator[Problem]:
    """The problem of each file of `--open` that does not exist."""
    for path in paths:
        if not workspace.is_file(path):
            near = nearest(path, workspace.list(f"{path.rpartition('/')[0]}/*".lstrip("/")), 0.8)
            yield Problem("no-effect", f"--open {path}", 0, "no such file", f"did you mean {near}?" if near else "")


def _cleaned_options(options: Options, settings: Mapping[str, Setting]) -> Options:
    # They are shown, recorded, and sent to an embedder.
    cleaning = CLEAN
    if settings["privacy"].value == "off":
        note_other_input()  # what shows secrets is not stored
        cleaning = Cleaning(secrets="keep")
    return Options._make(clean_value(value, cleaning, 0, []) for value in options)


def _with_services(
    build: Build, options: Options, reader: ProfileReader, settings: dict[str, Setting], seconds: float | None
) -> Build:
    """The build with what it may ask: an embedder, a summarizer, git, and, for a folder, an index of memories."""
    workspace, process = reader.workspace, reader.process
    build = build._replace(
        semantics=semantic_similarity(reader, settings, options.topic or ""),
        summarizer=make_summarizer(reader.settings_file, workspace, process, seconds),
        repository=_repository(workspace, process),
        parse_yaml=load_yaml,
    )
    if not workspace.is_on_disk:
        return build
    assert isinstance(build.workspace, RecordingWorkspace)
    database = index_database(workspace.root, process.environment)  # None if nothing may be stored
    return build._replace(memory_index=MemoryIndexes(workspace, process.now, database, build.workspace.unfit))


def _repository(workspace: Folder, process: ProcessEnvironment) -> Callable[[], Sequence[str]]:
    """Names of the repository that the agent works in, that of the current folder, else of the workspace."""

    @cache
    def names() -> Sequence[str]:
        from contextasm.workspace.git.commands import repository_names  # here: few memories say where they hold

        return repository_names((process.folder, workspace.root), process.environment)

    return names


def _session_of_history(options: Options, problems: list[Problem]) -> tuple[str, str]:
    """The events of `--history`, and words for a receipt; empty for none. A problem is added to `problems`."""
    if options.history is None:
        return "", ""
    from contextasm.text.data.history import HISTORY, session_of_history  # here: most builds get no conversation

    if options.session:
        raise ContextasmError(HISTORY, "is the session, but --session names another", "leave one of them out")
    return session_of_history(options.history, problems)


def _changed_files(profile: Profile, reader: ProfileReader) -> tuple[str, ...]:
    """The files that git calls changed, if a layer of the profile reads them."""
    if not uses_placeholder(profile, "changed"):
        return ()
    from contextasm.workspace.git.commands import changed_files  # here: few profiles read changed files

    return changed_files(reader.workspace.root, reader.process.environment)


def _tracked_files(profile: Profile, workspace: Folder, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The files that git tracks, as they may be shown, if a layer of the profile shows the project's structure."""
    showing = (layer for layer in profile.layers if any(source.lists_project for source in layer.query.traits))
    depth = max((layer.query.depth for layer in showing), default=0)
    if not depth:
        return ()
    from contextasm.workspace.git.commands import tracked_files  # here: few profiles show it

    return tuple(shown_names(tracked_files(workspace, environment, depth)))


def _resolve_request(
    options: Options, settings: Mapping[str, Setting], profile: Profile, recording: Workspace, reader: ProfileReader
) -> Request:
    """The request of the settled settings; its topic is the current goal if none is typed.

    A field takes the value of the setting or option of its name, unless it is computed here.
    """
    since = values.parse_day_or_time(options.since, "--since") if options.since else ""
    workspace = reader.workspace
    exclude = tuple(id_or_path(workspace, text) for text in options.exclude)
    day = settings["date"].value
    assert isinstance(day, date)
    typed = options._asdict() | {name: str(setting.value) for name, setting in settings.items()}
    filters = Filters._make(typed[name] or default for name, default in Filters._field_defaults.items())
    computed = {
        "topic": options.topic or "",
        "date": day,
        "budget": values.parse_tokens(settings["budget"].value, "budget"),
        "session": values.parse_name(options.session or "", "--session"),
        "history": "",
        "open": tuple(workspace.relative(path) for path in options.open),
        "changed": _changed_files(profile, reader),
        "tracked": _tracked_files(profile, workspace, reader.process.environment),
        "filters": filters._replace(since=since, exclude=exclude),
    }
    request = Request(**{name: typed[name] for name in Request._fields if typed.get(name) is not None} | computed)
    topic = request.topic or current_goal(profile, recording, load_yaml, request)
    entities = [name for name in options.entities if not mentions(topic.casefold(), name)]
    return request._replace(topic=" ".join([topic, *entities]).strip())


def id_or_path(workspace: Folder, typed: str) -> str:
    """A typed id as it is; a typed path or pattern, as one of the workspace; a folder, as a pattern of all in it.

    The name of a file or folder that exists has no wildcards.
    """
    path = workspace.relative(typed)
    names = path.split("/")
    there = (workspace.exists("/".join(names[: n + 1])) for n in range(len(names)))
    plain = "/".join(plain_pattern(name) if is_there else name for name, is_there in zip(names, there, strict=True))
    if path and not workspace.exists(path):
        return plain if "/" in typed else typed
    return plain if workspace.is_file(path) or path == typed == "" else f"{plain}/*".lstrip("/")


def open_rules(options: Options, process: ProcessEnvironment) -> tuple[Rule, ...]:
    """The workspace's rules as written. Raises `ContextasmError` for files that can't be read or parsed."""
    from contextasm.config.rules.rule_files import load_rules

    workspace = open_workspace(options, process)
    return load_rules(workspace, load_settings_file(workspace))


def current_goal(profile: Profile, workspace: Workspace, parse: Parse, request: Request) -> str:
    """The goal of the current task as the request's audience may see it; empty if no layer shows it."""
    layers = [layer for layer in profile.layers if any(source.gives_topic for source in layer.query.traits)]
    paths = [path for layer in layers for path in layer.query.paths]
    if not paths:
        return ""
    from contextasm.retrieval.reading.audience import visible_workspace
    from contextasm.text.data.task_stack import parse_task_stack

    workspace = visible_workspace(workspace, profile, request, parse)
    for path in paths:
        document = workspace.read(path)
        data = parse_data(document, parse) if isinstance(document, Document) else None
        if isinstance(data, Data) and (chain := parse_task_stack(data, []).path()):
            return chain[-1].goal
    return ""


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
    except (OSError, ValueError, KeyError) as error:  # a KeyError is what zoneinfo raises for an unknown name
        hint = "name a zone such as Europe/Berlin or UTC"
        raise ContextasmError(settings["tz"].origin, f"unknown time zone `{zone}`", hint) from error
    note_read(current_day, zone, day.isoformat())
    return setting if setting.value else Setting(day, f"the clock, {zone or 'local time'}")


def today(zone: str, now: float) -> date:
    """The day of a time in a time zone; `now` is in seconds since 1970, and an empty zone is the machine's."""
    if not zone:
        return date.fromtimestamp(now)  # noqa: DTZ012 - local
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return datetime.fromtimestamp(now, ZoneInfo(zone)).date()
