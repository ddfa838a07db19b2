"""Whose build, and of which day: the agent, the team and today."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from contextasm.config import values
from contextasm.config.facts import uses
from contextasm.config.options import ProcessEnvironment
from contextasm.config.settings import Setting
from contextasm.model import ContextasmError, Problem, Profile, Workspace
from contextasm.workspace.folder import Folder

if TYPE_CHECKING:
    from contextasm.workspace.git import GitWorkspace


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
            todo = f"write it, or run `ctxasm init --agent {agent}`, which leaves what is there alone"
            raise ContextasmError(path, "is missing", todo)
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
