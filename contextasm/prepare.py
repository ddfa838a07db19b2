"""Prepare: from a command line, the environment and the workspace's files to a request with nothing left open."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contextasm.assemble import assemble
from contextasm.config import values, wanted
from contextasm.config.profiles import (
    LAYER_KEYS,
    changed,
    layer_id,
    load_profile,
    read_file,
    with_strategy,
    within,
)
from contextasm.config.quick import load_data
from contextasm.config.settings import DEFAULTS, Setting, load_file, settle
from contextasm.config.tables import Table
from contextasm.kept import KeptPools
from contextasm.model import (
    Context,
    ContextasmError,
    Document,
    Layer,
    Meaning,
    Pools,
    Problem,
    Profile,
    Request,
    Summarizer,
    Workspace,
)
from contextasm.present import changed_files, current_goal, facts, uses
from contextasm.sources import FOR_SOURCES, RunAll, one_by_one
from contextasm.store import CountCache, cache_folder, table
from contextasm.tokens import ESTIMATE, Counter, exact
from contextasm.workspace import Folder, find

if TYPE_CHECKING:
    from contextasm.revision import Revision
    from contextasm.rules import Fired, Rule


class Flags(NamedTuple):
    """What was typed, nothing checked yet; None for what was not."""

    workspace: str | None = None
    agent: str | None = None
    team: str | None = None
    topic: str | None = None
    profile: str | None = None
    budget: str | None = None
    tokenizer: str | None = None
    date: str | None = None
    tz: str | None = None
    format: str | None = None
    layers: tuple[str, ...] = ()
    """`ID=N`, one for each `--layer`."""
    strategy: str | None = None
    scope: str | None = None
    session: str | None = None
    open: tuple[str, ...] = ()
    additional: str | None = None
    since: str | None = None
    event_types: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    deadline: str | None = None
    """Milliseconds."""
    variables: tuple[str, ...] = ()
    """`NAME=VALUE`, one for each `--var`."""


class Surroundings(NamedTuple):
    """What a process finds itself in."""

    environment: Mapping[str, str]
    folder: Path
    """The current one."""
    now: Callable[[], float]
    """The time in seconds since 1970; asked for once, and only where nothing else names the day."""


Counters = dict[str, tuple[Counter, CountCache | None]]
"""Counters by the name of their tokenizer, and the counts that each remembers."""


class Job(NamedTuple):
    """A build that is ready to run."""

    workspace: Folder | Revision
    settings: Mapping[str, Setting]
    profile: Profile
    request: Request
    counter: Counter
    counts: CountCache | None
    """The remembered counts of an exact tokenizer."""
    fired: Fired | None = None
    """What the workspace's rules come to; None where it has none."""
    summarizer: Summarizer | None = None
    seconds: float | None = None
    """From the start of a build to its deadline."""
    meaning: Meaning | None = None
    """The second opinion of searches; None where none is configured, or there is no topic."""

    pools: Pools | None = None
    """Large pools of memories, kept in the workspace."""

    def run(
        self, request: Request | None = None, workspace: Workspace | None = None, *, brief: bool = False
    ) -> Context:
        """The context for the request, or for another one with the same profile and tokenizer.

        `workspace` stands for the job's own one where given. With `brief`, of many memories those not shown are told by
        number, and files whose memories are kept need not be opened.
        """
        context = assemble(
            workspace or self.workspace,
            self.profile,
            request or self.request,
            self.counter,
            meaning=self.meaning,
            fired=self.fired,
            parse=load_data,
            summarizer=self.summarizer,
            run_all=_run_all(self.seconds),
            pools=self.pools if brief else None,
        )
        if self.counts:
            self.counts.save()
        return context


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
    profile = narrowed(_profile(flags, settings, file, workspace, around))
    settings |= _layer_settings(profile, file, flags)
    settings.setdefault("budget", Setting(profile.budget, f"profile {profile.name}"))
    settings["agent"] = _agent(settings["agent"], profile, workspace)
    _check_team(settings["team"], profile, workspace)
    settings["date"] = day_setting(settings, around)
    tokenizer = str(settings["tokenizer"].value)
    counters = {} if counters is None else counters
    if tokenizer not in counters:
        counters[tokenizer] = counting(tokenizer, around.environment)
    counter, counts = counters[tokenizer]
    meaning = _meaning(file, settings, flags.topic or "", workspace, around.environment)
    day = settings["date"].value
    assert isinstance(day, date)
    goal = "" if flags.topic else current_goal(profile, workspace, load_data)
    request = Request(
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
    fired = _fired(workspace, file, flags, request, around)
    kept = not _is_set(around.environment, "CTXASM_NO_CACHE")
    pools = KeptPools(workspace, around.now, kept=kept) if isinstance(workspace, Folder) else None
    return Job(
        workspace,
        settings,
        profile,
        request,
        counter,
        counts,
        fired,
        _summarizer(file, workspace, around, seconds),
        seconds,
        meaning,
        pools,
    )


def _fired(
    workspace: Folder | Revision, file: Table, flags: Flags, request: Request, around: Surroundings
) -> Fired | None:
    """What the workspace's rules come to for a request; their modules are loaded where there are any."""
    variables = _variables(flags.variables)
    if "rules" not in file and not workspace.list("rules/*.yaml"):
        return None
    from contextasm.config.rules import load_rules
    from contextasm.rules import evaluate

    rules = load_rules(workspace, file)
    return evaluate(rules, facts(rules, request, variables, around.environment, Path(workspace.root)))


def open_rules(flags: Flags, around: Surroundings) -> tuple[Rule, ...]:
    """The workspace's rules, as they are written. Raises `ContextasmError` for what is not understood."""
    from contextasm.config.rules import load_rules

    workspace = open_workspace(flags, around)
    return load_rules(workspace, load_file(workspace))


def _variables(given: tuple[str, ...]) -> dict[str, str]:
    """What `--var NAME=VALUE` gives to rules."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.isidentifier():
            raise ContextasmError("--var", f"{each} gives no variable a value", "write NAME=VALUE, such as phase=beta")
        found[name] = value
    return found


def _meaning(
    file: Table, settings: dict[str, Setting], topic: str, workspace: Folder | Revision, environment: Mapping[str, str]
) -> Meaning | None:
    """The second opinion that the file configures, or a problem in its place; the settings get what it is."""
    if file.get("embedder") is None:
        return None
    from contextasm.config.embedder import embedder, refusal, words

    chosen = embedder(file)
    refused = refusal(chosen, workspace.root, environment)
    settings["embedder"] = Setting(words(chosen, refused), file.where("embedder"))
    if refused or not topic.strip():
        return (lambda _topic, _texts: refused) if refused else None
    from contextasm.embedding import Opinion

    return Opinion(chosen, workspace.root, environment, cache_folder(environment))


def _profile(
    flags: Flags, settings: Mapping[str, Setting], file: Table, workspace: Folder | Revision, around: Surroundings
) -> Profile:
    """The profile that is named, with what the file and the flags change of its layers."""
    setting = settings["profile"]
    from_file = setting.origin.startswith(file.path)
    name = str(setting.value)
    if from_file and ("/" in name or name.endswith((".yaml", ".yml"))):
        values.inside(name, setting.origin)
    folder = Path(workspace.root) if from_file else around.folder
    profile = load_profile(name, setting.origin, folder, read=_reader(workspace) if from_file else read_file)
    strategy = settings["strategy"]
    if strategy.value:
        profile = with_strategy(profile, str(strategy.value), strategy.origin)
    layers = changed(profile.layers, file.get("layers"), f"{file.where('layers')}: layers", new=False)
    enabled = tuple(layer for layer in layers if layer.enabled)
    return profile._replace(layers=_limited(within(enabled, flags.scope), flags.layers))


def _reader(workspace: Folder | Revision) -> Callable[[Path, str], str]:
    """What reads the files of profiles that the workspace's settings name: of the revision, where it is one."""

    def read(path: Path, where: str) -> str:
        if isinstance(workspace, Folder) or not path.is_relative_to(workspace.root):
            return read_file(path, where)
        name = path.relative_to(workspace.root).as_posix()
        document = workspace.read(name)
        if not isinstance(document, Document):
            what = document.message if document else "no such file"
            raise ContextasmError(where, f"{name}: {what}", "name a profile's file that can be read")
        return document.data.decode("utf-8-sig")

    return read


def _limited(layers: tuple[Layer, ...], limits: tuple[str, ...]) -> tuple[Layer, ...]:
    """The layers with the limits that `--layer ID=N` sets."""
    by_id = {layer.id: layer for layer in layers}
    for limit in limits:
        key, equals, number = limit.partition("=")
        if not equals:
            raise ContextasmError("--layer", f"{limit} has no =", "write ID=N, such as L3=1500")
        layer = by_id[layer_id(key, by_id, "--layer")]
        if layer.required:
            raise ContextasmError("--layer", f"{key} is required and never cut", "limit another layer")
        by_id[key] = layer._replace(max_tokens=values.tokens(number, f"--layer {key}"))
    return tuple(by_id.values())


def _layer_settings(profile: Profile, file: Table, flags: Flags) -> dict[str, Setting]:
    """What the layers say other than the defaults, each with where it comes from."""
    tables = file.get("layers")
    changes = [each for each in tables if isinstance(each, Table)] if isinstance(tables, list) else []
    lines = {(each["id"], key): each.where(key) for each in changes for key in each}
    typed = {limit.partition("=")[0] for limit in flags.layers}
    found: dict[str, Setting] = {}
    for layer in profile.layers:
        plain = Layer(layer.id, (), (), ())
        for key in LAYER_KEYS:
            if getattr(layer, key) != getattr(plain, key):
                origin = lines.get((layer.id, key), f"profile {profile.name}")
                origin = "--layer" if key == "max_tokens" and layer.id in typed else origin
                found[f"layers.{layer.id}.{key}"] = Setting(getattr(layer, key), origin)
    return found


def _agent(setting: Setting, profile: Profile, workspace: Folder | Revision) -> Setting:
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
        values.choice(agent, known, setting.origin, "agent")
    for path in (f"agents/{agent}/IDENTITY.md", f"agents/{agent}/INSTRUCTIONS.md"):
        if workspace.read(path) is None:
            todo = f"write it, or run `ctxasm init --agent {agent}`, which leaves what is there alone"
            raise ContextasmError(path, "is missing", todo)
    return setting


def _check_team(setting: Setting, profile: Profile, workspace: Folder | Revision) -> None:
    """Raise for a team that is not there."""
    if not uses(profile, "team"):
        _refuse_unused(setting, profile, "team")
    elif setting.value and not workspace.list(f"teams/{setting.value}"):
        values.choice(str(setting.value), _names(workspace, "teams/*/*.md"), setting.origin, "team")


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


def day_setting(settings: Mapping[str, Setting], around: Surroundings) -> Setting:
    """The day that counts as today: the one that is named, else the clock's in the time zone."""
    setting = settings["date"]
    zone = str(settings["tz"].value)
    if setting.value and not zone:
        return setting
    try:
        day = today(zone, around.now())
    except (OSError, ValueError, KeyError) as error:  # a KeyError is what zoneinfo raises for a name it has not
        todo = "name one such as Europe/Berlin or UTC"
        raise ContextasmError(settings["tz"].origin, f"unknown time zone {zone}", todo) from error
    return setting if setting.value else Setting(day, f"the clock, {zone or 'local time'}")


def today(zone: str, now: float) -> date:
    """The day of a time, in seconds since 1970, in a time zone; an empty one is the machine's."""
    if not zone:
        return date.fromtimestamp(now)  # noqa: DTZ012 - local
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return datetime.fromtimestamp(now, ZoneInfo(zone)).date()


def counting(name: str, environment: Mapping[str, str]) -> tuple[Counter, CountCache | None]:
    """The counter of a tokenizer, and the counts that it remembers."""
    if name == ESTIMATE.name:
        return ESTIMATE, None
    counts = CountCache(cache_folder(environment), name)
    return exact(name, lambda: table(name), counts), counts


def _run_all(seconds: float | None) -> RunAll:
    """What runs the sources: one by one without a deadline, else side by side, which takes threads."""
    if seconds is None:
        return one_by_one
    from contextasm.waiting import until

    return until(seconds)


def _summarizer(
    file: Table, workspace: Folder | Revision, around: Surroundings, seconds: float | None
) -> Summarizer | None:
    """What the file names to say texts in fewer words; its modules are loaded for those who have one.

    Under a deadline of so many seconds it has the part of it that is kept for assembly.
    """
    if file.get("summarizer") is None:
        return None
    from contextasm.config.summarizer import summarizer
    from contextasm.config.trust import VARIABLE, is_allowed
    from contextasm.summaries import Summaries

    command = summarizer(file)
    assert command
    if seconds is not None:
        command = command._replace(timeout=min(command.timeout, seconds * (1 - FOR_SOURCES)))
    summaries = Summaries(command, workspace.root, around.environment, cache_folder(around.environment))
    if not is_allowed(workspace.root, around.environment):
        summaries.forbid(VARIABLE)
    return summaries


def _is_set(environment: Mapping[str, str], name: str) -> bool:
    """Whether a variable says yes."""
    return environment.get(name, "0") not in {"", "0"}


def surroundings() -> Surroundings:
    """Those of this process."""
    import time

    return Surroundings(os.environ, Path.cwd(), time.time)
