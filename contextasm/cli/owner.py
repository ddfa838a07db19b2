"""The agent or team whose files a command reads or writes.

No command: shared by `remember`, `log`, `show` and `edit`.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from contextasm.cli.output import show_problems

if TYPE_CHECKING:
    from contextasm.config.options import Options
    from contextasm.model import Problem, Secret
    from contextasm.workspace.folder import Folder

OWNER = ("agent", "team", "workspace")
"""Fields of `Options` that name an owner."""

READ_OWNER = (*OWNER, "offline")
"""Fields of `Options` of commands that read an owner's memories."""

OWNER_AND_DAY = (*OWNER, "date", "tz")


class Owner(NamedTuple):
    """The folder of an agent or team, and the day that counts as today."""

    workspace: Folder
    path: str
    """Such as `agents/luna`; empty where no owner is named and none is needed."""
    day: date


def find_owner(options: Options, *, needed: bool = True, memories: bool = False) -> Owner:
    """The agent, or the team where the command line names a team only.

    For a command that reads `memories`, the mirror of a shared store is brought up to date.

    The agent is the one that a flag, a variable or the settings name, else the only one of the workspace. Where none is
    needed, only the flags count. Raises `ContextasmError` for an unknown name.
    """
    from contextasm.config.owners import only_agent, owner_folder, owner_names
    from contextasm.config.resolve import process_environment, resolve_date
    from contextasm.config.settings import load_settings_file, resolve_settings
    from contextasm.config.workspace_folder import attach_store, open_workspace
    from contextasm.model import ContextasmError

    process = process_environment()
    workspace = open_workspace(options, process)
    if options.agent and options.team:
        raise ContextasmError("--team", "an --agent is given, too", "name only one of the two")
    flags = {"agent": options.agent, "team": options.team, "date": options.date, "tz": options.tz}
    settings_file = load_settings_file(workspace)
    settings = resolve_settings(flags, process.environment, settings_file)
    overlay = attach_store(workspace, settings_file, process, offline=options.offline)
    if overlay and memories:
        show_problems(overlay.refresh())
    day = resolve_date(settings, process).value
    assert isinstance(day, date)
    agent = settings["agent"]
    if options.team:
        path = owner_folder(workspace, "team", options.team, "--team")
    elif not options.agent and not needed:
        path = ""
    elif agent.value:
        path = owner_folder(workspace, "agent", str(agent.value), agent.origin)
    else:
        name = only_agent(owner_names(workspace, "agent"), "name one with -a NAME, or a team with -t NAME")
        path = f"agents/{name}"
    return Owner(workspace, path, day)


def is_read_as_memories(workspace: Folder, path: str) -> bool:
    """Whether a shipped profile, or the profile that the settings name, reads memories from a path of the workspace."""
    from contextasm.config.overrides import resolve_profile
    from contextasm.config.resolve import process_environment
    from contextasm.config.settings import load_settings_file, resolve_settings
    from contextasm.text.glob import glob_matches
    from contextasm.text.templates import fill_template
    from contextasm.workspace.editing.memories import MEMORY_FOLDERS

    if any(glob_matches(f"{folder}/*.md", path) for folder in MEMORY_FOLDERS):
        return True
    process, settings_file = process_environment(), load_settings_file(workspace)
    settings = resolve_settings({}, process.environment, settings_file)
    profile = resolve_profile(settings, settings_file, workspace, process, {})
    layers = [layer for layer in profile.layers if {"search", "recent", "weighed"} & {*layer.query.sources}]
    return any(
        glob_matches(fill_template(pattern, {"agent": "*", "team": "*"}), path)
        for layer in layers
        for pattern in layer.query.paths
    )


def storable_text(text: str, where: str) -> str:
    """The text as a file can hold it: LF line ends, no blanks around it or at the end of a line, nothing hidden.

    Hidden characters that were removed are warned of, and secrets, which stay. Raises `ContextasmError` for an empty
    text, a NUL character and invalid Unicode.
    """
    from contextasm.model import Cleaning, ContextasmError
    from contextasm.text.cleaning import clean_text, hidden_problem
    from contextasm.text.memory_writer import clean_lines
    from contextasm.text.secret_scanner import find_secrets

    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ContextasmError(where, f"character {error.start + 1} is not valid Unicode", "give UTF-8 text") from error
    if "\0" in text:
        raise ContextasmError(where, "contains a NUL character", "remove it")
    clean = clean_text(clean_lines(text), Cleaning(secrets="keep"))
    if not (stored := clean_lines(clean.text)):
        raise ContextasmError(where, "is empty", "give the text to store")
    hidden = [hidden_problem(where, run) for run in clean.hidden if run.kind != "blank"]
    show_problems([*hidden, *(_secret_problem(where, secret) for secret in find_secrets(stored))])
    return stored


def _secret_problem(where: str, secret: Secret) -> Problem:
    from contextasm.model import Problem

    what = f"holds what looks like a secret ({secret.kind}: {secret.masked})"
    return Problem("secret", where, secret.line, what, "builds mask it; keep it out of the workspace")
