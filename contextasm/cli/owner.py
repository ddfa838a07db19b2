"""Whose files a command works on that keeps something: an agent's or a team's.

No command: what `remember`, `log`, `show` and `edit` share.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from contextasm.workspace.folder import Folder

AgentOption = Annotated[str | None, typer.Option("--agent", "-a", metavar="NAME", help="Whose: this agent's.")]
TeamOption = Annotated[str | None, typer.Option("--team", "-t", metavar="NAME", help="Whose: this team's.")]
DateOption = Annotated[
    str | None,
    typer.Option("--date", metavar="YYYY-MM-DD", help="The day that counts as today; `today` for the clock's."),
]
ZoneOption = Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="The time zone that today is taken in.")]
WorkspaceOption = Annotated[
    str | None, typer.Option("--workspace", "-w", metavar="DIR", help="The workspace; else searched upwards.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Do not say what was done.")]


class OwnerOptions(NamedTuple):
    """What was typed; None for what was not."""

    agent: str | None
    team: str | None
    workspace: str | None
    date: str | None = None
    tz: str | None = None


class Owner(NamedTuple):
    """An owner's folder, and the day that counts as today."""

    workspace: Folder
    path: str
    """Such as `agents/luna`; empty where none was named and none is needed."""
    day: date


def find_owner(asked: OwnerOptions, *, needed: bool = True) -> Owner:
    """The agent's, which is the default, or the team's where only a team is named on the command line.

    The agent is the one named, by a flag, a variable or the settings, else the only one. Where none is needed, only
    flags count. Raises `ContextasmError` for a name that is not there.
    """
    from contextasm.config.options import Options
    from contextasm.config.resolve import open_workspace, process_environment, resolve_date
    from contextasm.config.settings import load_settings_file, resolve_settings
    from contextasm.model import ContextasmError

    around = process_environment()
    workspace = open_workspace(Options(workspace=asked.workspace), around)
    if asked.agent and asked.team:
        raise ContextasmError("--team", "there is an --agent, too", "name the one whose files are meant")
    flags = {"agent": asked.agent, "team": asked.team, "date": asked.date, "tz": asked.tz}
    settings = resolve_settings(flags, around.environment, load_settings_file(workspace))
    day = resolve_date(settings, around).value
    assert isinstance(day, date)
    if asked.team:
        path = _named(workspace, "teams", asked.team, "--team")
    elif asked.agent or needed:
        agent = settings["agent"]
        path = _named(workspace, "agents", str(agent.value), agent.origin) if agent.value else _only_agent(workspace)
    else:
        path = ""
    return Owner(workspace, path, day)


def _named(workspace: Folder, kind: str, name: str, origin: str) -> str:
    """The folder of a name. Raises `ContextasmError`, with the nearest, where there is none."""
    from contextasm.config.values import require_known

    if not workspace.list(f"{kind}/{name}"):
        known = sorted({path.split("/")[1] for path in workspace.list(f"{kind}/*/*.md")})
        require_known(name, known, origin, kind.removesuffix("s"))
    return f"{kind}/{name}"


def _only_agent(workspace: Folder) -> str:
    """The folder of the only agent there is."""
    from contextasm.model import ContextasmError

    known = sorted({path.split("/")[1] for path in workspace.list("agents/*/IDENTITY.md")})
    if len(known) != 1:
        there = f"there are {', '.join(known)}" if known else "make one with `ctxasm init --agent NAME`"
        raise ContextasmError("agent", "none named", f"name one with -a NAME, or a team with -t NAME; {there}")
    return f"agents/{known[0]}"


def storable_text(text: str, where: str) -> str:
    """A text that a file can hold. Raises `ContextasmError` for an empty one and for what is no Unicode."""
    from contextasm.model import ContextasmError
    from contextasm.text.memory_writer import clean_lines

    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ContextasmError(where, f"character {error.start + 1} is no Unicode", "give UTF-8 text") from error
    if "\0" in text:
        raise ContextasmError(where, "holds a NUL character", "take it out")
    if not (own := clean_lines(text)):
        raise ContextasmError(where, "is empty", "give the words to be kept")
    return own
