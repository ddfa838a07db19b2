"""`ctxasm init`: create the first files of a workspace, an agent or a team; existing files stay as they are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.options import JsonOption, QuietOption
from contextasm.cli.output import shown, write_json, write_stderr, write_stdout
from contextasm.config.input.options import Flag, Options, Texts
from contextasm.config.input.settings import FILE, load_settings_file, resolve_settings
from contextasm.config.input.values import parse_name
from contextasm.config.owners import uses_placeholder
from contextasm.config.profiles.overrides import ProfileReader, named_files
from contextasm.config.resolve import process_environment
from contextasm.config.workspace_folder import find_workspace, is_native, open_workspace
from contextasm.model import ContextasmError, Profile
from contextasm.text.names.matching import list_names
from contextasm.text.names.templates import one_line
from contextasm.workspace.folder import Folder
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


def init(
    *,
    folder: Annotated[
        str | None, Argument("[DIR]", "The workspace (default: this folder; with -a or -t, the nearest workspace).")
    ] = None,
    agents: Annotated[Texts, Flag("Create this agent; repeatable.", "NAME", "--agent -a")] = (),
    teams: Annotated[Texts, Flag("Create this team; repeatable.", "NAME", "--team -t")] = (),
    force: Annotated[bool, Flag("Create agents or teams even if the profile reads files of another program.")] = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Create a workspace, an agent or a team; overwrite nothing.

    Without -a and -t, the workspace gets one agent, `assistant`, so `ctxasm build` works at once. If the folder has
    files of another program, such as CLAUDE.md, it gets no agent, but settings for these files.
    """
    for flag, names in (("--agent", agents), ("--team", teams)):
        for name in names:
            parse_name(name, flag)
    root = _root(folder, named=bool(agents or teams))
    taken, profile = _profile_there(root)
    if profile and (agents or teams) and not force:
        raise _unread(Folder(root), taken, profile)
    _make(root, _starter_files(root, agents, teams, profile), json=json, quiet=quiet)
    if profile and not (agents or teams or quiet):
        write_stderr(f"ctxasm: {taken or f'profile {profile.name}'}; it needs no agent, so none was made")


run = Command(init)


def _make(root: Path, files: Sequence[StarterFile], *, json: bool, quiet: bool) -> None:
    """Make the files that are missing, and say what was made, also if one of them can't be."""
    made: list[dict[str, object]] = []
    try:
        for path, text in files:
            is_new = create_file(root, path, text)
            made.append({"path": one_line(f"{root / path}{'/' if text is None else ''}"), "made": is_new})
    finally:
        if json:
            write_json(InitDocument, {"files": made})
        elif not quiet:
            lines = (f"{'made' if file['made'] else 'kept'} {file['path']}\n" for file in made)
            write_stdout(shown("".join(lines)))


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


def _profile_there(root: Path) -> tuple[str, Profile | None]:
    """The profile that a folder has by its settings or by the files in it, if that reads no agent; and why it has it.

    None for any other folder, and for one that does not exist yet.
    """
    if not root.is_dir():
        return "", None
    workspace = Folder(root)
    with suppress(ContextasmError):  # a build reports settings that can't be used
        settings_file = load_settings_file(workspace)
        reader = ProfileReader(settings_file, workspace, process_environment())
        settings, taken = reader.with_detected(resolve_settings({}, {}, settings_file))
        profile = reader.with_all_layers(settings)
        return taken, None if uses_placeholder(profile, "agent") else profile
    return "", None


def _unread(workspace: Folder, taken: str, profile: Profile) -> ContextasmError:
    """The error of agents that would take the place of the files that are read in a folder now, or be unread."""
    if not taken:
        what = f"its profile {profile.name} reads no agents"
        return ContextasmError(FILE, what, "name another profile, or add --force")
    files = [path for path in named_files(profile) if workspace.is_file(path)]
    what = f"{list_names(files) or 'what is here'} would no longer be read ({taken})"
    return ContextasmError("init", what, "leave out --agent and --team to keep them, or add --force")


def _starter_files(
    root: Path, agents: Sequence[str], teams: Sequence[str], profile: Profile | None
) -> Sequence[StarterFile]:
    """The files of a new workspace, if `root` is not one yet, and of the agents and teams.

    Without names, a workspace that has no agent but `assistant` gets the files of that one. One with a `profile` that
    reads no agent gets none, only settings that name the profile.
    """
    unnamed = not agents and not teams
    if unnamed and profile:
        return workspace_files(profile.name, profile.budget)[:1]
    existing = {path.name for path in (root / "agents").glob("*") if path.is_dir()}
    if unnamed and existing <= {FIRST_AGENT}:
        agents = [FIRST_AGENT]
    files = workspace_files() if unnamed or not (root.is_dir() and is_native(Folder(root))) else []
    owners = (("agent", agents), ("team", teams))
    return [*files, *(file for kind, names in owners for name in names for file in owner_files(kind, name))]
