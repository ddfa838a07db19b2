"""Prepare: from a command line, the environment and the workspace's files to a request with nothing left open."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contextasm.assemble import assemble
from contextasm.config import values
from contextasm.config.profiles import LAYER_KEYS, changed, layer_id, load_profile
from contextasm.config.settings import Setting, load_file, settle
from contextasm.config.tables import Table
from contextasm.kept import KeptPools
from contextasm.model import Context, ContextasmError, Layer, Pools, Problem, Profile, Request
from contextasm.store import CountCache, table
from contextasm.text.templates import names
from contextasm.tokens import ESTIMATE, Counter, exact
from contextasm.workspace import Folder, find

if TYPE_CHECKING:
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
    variables: tuple[str, ...] = ()
    """`NAME=VALUE`, one for each `--var`."""


class Surroundings(NamedTuple):
    """What a process finds itself in."""

    environment: Mapping[str, str]
    folder: Path
    """The current one."""
    now: Callable[[], float]
    """The time in seconds since 1970; asked for once, and only where nothing else names the day."""


class Job(NamedTuple):
    """A build that is ready to run."""

    workspace: Folder
    settings: Mapping[str, Setting]
    profile: Profile
    request: Request
    counter: Counter
    counts: CountCache | None
    """The remembered counts of an exact tokenizer."""
    fired: Fired | None = None
    """What the workspace's rules come to; None where it has none."""
    pools: Pools | None = None
    """Large pools of memories, kept in the workspace."""

    def run(self, request: Request | None = None, *, brief: bool = False) -> Context:
        """The context for the request, or for another one with the same profile and tokenizer.

        With `brief`, of many memories those not shown are told by number, and files whose memories are kept need not
        be opened.
        """
        pools = self.pools if brief else None
        asked = request or self.request
        context = assemble(self.workspace, self.profile, asked, self.counter, fired=self.fired, pools=pools)
        if self.counts:
            self.counts.save()
        return context


def open_workspace(flags: Flags, around: Surroundings) -> Folder:
    """The workspace that is named, else the nearest one upwards. Raises `ContextasmError` if there is none."""
    named = flags.workspace or around.environment.get("CTXASM_WORKSPACE")
    return Folder(around.folder / named if named else find(around.folder))


def prepare(flags: Flags, around: Surroundings, narrowed: Callable[[Profile], Profile] = lambda whole: whole) -> Job:
    """The build that is asked for, of as much of the profile as `narrowed` leaves.

    Raises `ContextasmError` for anything that can't be done as asked.
    """
    workspace = open_workspace(flags, around)
    file = load_file(workspace)
    typed = {key: getattr(flags, key) for key in ("agent", "team", "profile", "budget", "tokenizer", "date", "tz")}
    settings = settle({**typed, "format": flags.format}, around.environment, file)
    profile = narrowed(_profile(flags, settings, file, workspace, around))
    settings |= _layer_settings(profile, file, flags)
    settings.setdefault("budget", Setting(profile.budget, f"profile {profile.name}"))
    settings["agent"] = _agent(settings["agent"], profile, workspace)
    _check_team(settings["team"], profile, workspace)
    settings["date"] = today(settings, around)
    tokenizer = str(settings["tokenizer"].value)
    counter, counts = _counter(tokenizer, around.environment)
    day = settings["date"].value
    assert isinstance(day, date)
    request = Request(
        agent=str(settings["agent"].value),
        team=str(settings["team"].value),
        topic=flags.topic or "",
        date=day,
        budget=values.tokens(settings["budget"].value, "budget"),
        tokenizer=tokenizer,
        format=str(settings["format"].value),
    )
    fired = _fired(workspace, file, flags, request, around)
    pools = KeptPools(workspace, around.now, kept=not _is_set(around.environment, "CTXASM_NO_CACHE"))
    return Job(workspace, settings, profile, request, counter, counts, fired, pools)


def _fired(workspace: Folder, file: Table, flags: Flags, request: Request, around: Surroundings) -> Fired | None:
    """What the workspace's rules come to for a request; their modules are loaded where there are any."""
    variables = _variables(flags.variables)
    if "rules" not in file and not workspace.list("rules/*.yaml"):
        return None
    from contextasm.config.rules import load_rules
    from contextasm.facts import facts
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


def _profile(
    flags: Flags, settings: Mapping[str, Setting], file: Table, workspace: Folder, around: Surroundings
) -> Profile:
    """The profile that is named, with what the file and the flags change of its layers."""
    setting = settings["profile"]
    from_file = setting.origin.startswith(file.path)
    name = str(setting.value)
    if from_file and ("/" in name or name.endswith((".yaml", ".yml"))):
        values.inside(name, setting.origin)
    folder = Path(workspace.root) if from_file else around.folder
    profile = load_profile(name, setting.origin, folder)
    layers = changed(profile.layers, file.get("layers"), f"{file.where('layers')}: layers", new=False)
    return profile._replace(layers=_limited(layers, flags.layers))


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


def _uses(profile: Profile, name: str) -> bool:
    """Whether a path of the profile names the agent, or the team."""
    return any(name in names(path) for layer in profile.layers for path in layer.path)


def _agent(setting: Setting, profile: Profile, workspace: Folder) -> Setting:
    """The agent: the one named, else the only one. It has an IDENTITY.md and an INSTRUCTIONS.md."""
    if not _uses(profile, "agent"):
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


def _check_team(setting: Setting, profile: Profile, workspace: Folder) -> None:
    """Raise for a team that is not there."""
    if not _uses(profile, "team"):
        _refuse_unused(setting, profile, "team")
    elif setting.value and not workspace.list(f"teams/{setting.value}"):
        values.choice(str(setting.value), _names(workspace, "teams/*/*.md"), setting.origin, "team")


def _names(workspace: Folder, pattern: str) -> list[str]:
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


def today(settings: Mapping[str, Setting], around: Surroundings) -> Setting:
    """The day that counts as today: the one that is named, else the clock's in the time zone."""
    setting = settings["date"]
    zone = str(settings["tz"].value)
    if setting.value and not zone:
        return setting
    if not zone:
        return Setting(date.fromtimestamp(around.now()), "the clock, local time")  # noqa: DTZ012 - local
    from datetime import datetime
    from zoneinfo import ZoneInfo

    try:
        today = datetime.fromtimestamp(around.now(), ZoneInfo(zone)).date()
    except (OSError, ValueError, KeyError) as error:  # a KeyError is what zoneinfo raises for a name it has not
        todo = "name one such as Europe/Berlin or UTC"
        raise ContextasmError(settings["tz"].origin, f"unknown time zone {zone}", todo) from error
    return setting if setting.value else Setting(today, f"the clock, {zone}")


def _counter(name: str, environment: Mapping[str, str]) -> tuple[Counter, CountCache | None]:
    """The counter of a tokenizer, and the counts that it remembers."""
    if name == ESTIMATE.name:
        return ESTIMATE, None
    counts = CountCache(_cache_folder(environment), name)
    return exact(name, lambda: table(name), counts), counts


def _cache_folder(environment: Mapping[str, str]) -> Path | None:
    """Where counts are remembered (XDG base directories); None where they are not to be."""
    if _is_set(environment, "CTXASM_NO_CACHE"):
        return None
    base = environment.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        home = environment.get("HOME", "")
        if not home.startswith("/"):
            return None
        base = f"{home}/.cache"
    return Path(base) / "ctxasm"


def _is_set(environment: Mapping[str, str], name: str) -> bool:
    """Whether a variable says yes."""
    return environment.get(name, "0") not in {"", "0"}


def surroundings() -> Surroundings:
    """Those of this process."""
    import time

    return Surroundings(os.environ, Path.cwd(), time.time)
