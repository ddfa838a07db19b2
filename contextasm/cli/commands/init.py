"""`ctxasm init`: create the first files of a workspace, an agent or a team; existing files stay as they are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

import typer

from contextasm.cli.options import JsonOption, QuietOption
from contextasm.cli.output import format_json, shown, write_stdout
from contextasm.config.input.options import Options
from contextasm.config.input.values import parse_name
from contextasm.config.resolve import process_environment
from contextasm.config.workspace_folder import open_workspace
from contextasm.text.names.templates import one_line
from contextasm.workspace.folder import MARKS, find_workspace
from contextasm.workspace.scaffold import StarterFile, create_file, owner_files, workspace_files


class StarterFileData(TypedDict):
    """One of the files and folders."""

    path: str
    """Its path; a folder's ends in `/`."""
    made: bool
    """Whether it is new; one that was there is left as it is."""


class InitDocument(TypedDict):
    """Files of a new workspace, as `ctxasm init --json` prints them."""

    schema: Literal["ctxasm.init/1"]
    files: list[StarterFileData]
    """Every file and folder, in order."""


FIRST_AGENT = "assistant"


def run(
    folder: Annotated[
        str | None,
        typer.Argument(
            metavar="[DIR]", help="The workspace (default: this folder; with -a or -t, the nearest one upwards)."
        ),
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option("--agent", "-a", metavar="NAME", help="Create this agent; repeatable.")
    ] = None,
    team: Annotated[
        list[str] | None, typer.Option("--team", "-t", metavar="NAME", help="Create this team; repeatable.")
    ] = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Create a workspace, an agent or a team; overwrite nothing.

    Without -a and -t, the workspace gets one agent, `assistant`, so that `ctxasm build` works at once.
    """
    agents, teams = _valid_names(agent, "--agent"), _valid_names(team, "--team")
    root = _root(folder, named=bool(agents or teams))
    made: list[dict[str, object]] = []
    try:
        for path, text in _starter_files(root, agents, teams):
            is_new = create_file(root, path, text)
            made.append({"path": one_line(f"{root / path}{'/' if text is None else ''}"), "made": is_new})
    finally:
        if json:
            write_stdout(format_json(InitDocument, {"files": made}))
        elif not quiet:
            lines = (f"{'made' if file['made'] else 'kept'} {file['path']}\n" for file in made)
            write_stdout(shown("".join(lines)))
    return 0


def _valid_names(names: Sequence[str] | None, flag: str) -> Sequence[str]:
    return [parse_name(name, flag) for name in names or ()]


def _root(folder: str | None, *, named: bool) -> Path:
    """The folder to create files in, relative to the current folder if it was found upwards."""
    process = process_environment()
    if folder is not None or not named:
        return Path(folder or ".")
    if process.environment.get("CTXASM_WORKSPACE"):
        return Path(os.path.relpath(open_workspace(Options(), process).root))
    # A folder of other tools gets agents only if a person says so: this folder becomes a workspace.
    found = find_workspace(process.folder)
    return Path(os.path.relpath(os.path.realpath(found))) if found else Path()


def _starter_files(root: Path, agents: Sequence[str], teams: Sequence[str]) -> Sequence[StarterFile]:
    """The files of a new workspace, if `root` is not one yet, and of the agents and teams.

    Without names, a workspace that has no agent but `assistant` gets the files of that one.
    """
    unnamed = not agents and not teams
    existing = {path.name for path in (root / "agents").glob("*") if path.is_dir()}
    if unnamed and existing <= {FIRST_AGENT}:
        agents = [FIRST_AGENT]
    files = workspace_files() if unnamed or not any((root / mark).exists() for mark in MARKS) else []
    for name in agents:
        files += owner_files("agent", name)
    for name in teams:
        files += owner_files("team", name)
    return files
