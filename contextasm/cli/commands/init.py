"""`ctxasm init`: the first files of a workspace, an agent or a team; what is there stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.output import write_stdout_bytes

if TYPE_CHECKING:
    from contextasm.workspace.scaffold import StarterFile

FIRST_AGENT = "assistant"


def run(
    folder: Annotated[
        str | None,
        typer.Argument(metavar="[DIR]", help="The workspace; else this folder, or with -a or -t the nearest upwards."),
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option("--agent", "-a", metavar="NAME", help="Make this agent; repeatable.")
    ] = None,
    team: Annotated[
        list[str] | None, typer.Option("--team", "-t", metavar="NAME", help="Make this team; repeatable.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not list what was made and what was kept.")] = False,
) -> int:
    """Make a workspace, an agent or a team; nothing is overwritten.

    Without -a and -t it makes a workspace with one agent, `assistant`, so that `ctxasm build` works at once.
    """
    import os

    from contextasm.workspace.scaffold import create_file

    agents, teams = _names(agent, "--agent"), _names(team, "--team")
    root = _root(folder, named=bool(agents or teams))
    lines: list[str] = []
    try:
        for path, text in _plan(root, agents, teams):
            made = create_file(root, path, text)
            lines.append(f"{'made' if made else 'kept'} {root / path}{'/' if text is None else ''}\n")
    finally:
        if not quiet:
            write_stdout_bytes(os.fsencode("".join(lines)))
    return 0


def _names(given: list[str] | None, flag: str) -> list[str]:
    """The names, each a sound one. Raises `ContextasmError`."""
    from contextasm.config.values import parse_name
    from contextasm.model import ContextasmError

    if "" in (given or ()):
        raise ContextasmError(flag, "the name is empty", "give a name")
    return [parse_name(each, flag) for each in given or ()]


def _root(folder: str | None, *, named: bool) -> Path:
    """The folder to make things in, as a person here would write it."""
    import os

    from contextasm.config.options import Options
    from contextasm.config.resolve import open_workspace, process_environment
    from contextasm.model import ContextasmError

    around = process_environment()
    if folder is not None or not named:
        return Path(folder or ".")
    try:
        return Path(os.path.relpath(open_workspace(Options(), around).root))
    except ContextasmError:
        if around.environment.get("CTXASM_WORKSPACE"):
            raise
        return Path()  # no workspace here or above: this folder becomes one


def _plan(root: Path, agents: list[str], teams: list[str]) -> list[StarterFile]:
    """What is to be made. A folder that is no workspace becomes one; a workspace without agents gets its first."""
    from contextasm.workspace.folder import MARKS
    from contextasm.workspace.scaffold import agent_files, team_files, workspace_files

    bare = not agents and not teams
    known = {path.name for path in (root / "agents").glob("*") if path.is_dir()}
    if bare and known <= {FIRST_AGENT}:
        agents = [FIRST_AGENT]
    files = workspace_files() if bare or not any((root / mark).exists() for mark in MARKS) else []
    for each in agents:
        files += agent_files(each)
    for each in teams:
        files += team_files(each)
    return files
