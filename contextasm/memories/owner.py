"""The agent or team whose files a person or a program changes, and the files that its memories may be in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import load_settings_file, resolve_settings
from contextasm.config.input.values import parse_inner_paths
from contextasm.config.owners import only_agent, owner_folder, owner_names
from contextasm.config.profiles.overrides import ProfileReader
from contextasm.config.resolve import resolve_date
from contextasm.config.workspace_folder import attach_store, open_workspace
from contextasm.model import ContextasmError, FileIds, FolderFacts, Problem, StoredFacts
from contextasm.text.memories.parser import RESERVED_NAMES
from contextasm.text.names.glob import glob_matches
from contextasm.text.names.places import MEMORY_FILES, any_owner_pattern
from contextasm.workspace.cache import index_database
from contextasm.workspace.editing.files import refuse_store, writable_path
from contextasm.workspace.editing.known_ids import FolderOfIds
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import MemoryPlace


class Owner(NamedTuple):
    """The folder of an agent or team, and the day that counts as today."""

    workspace: Folder
    path: str
    """Such as `agents/luna`; empty if no owner is named or needed."""
    day: date
    problems: Sequence[Problem] = ()
    """Of the shared store, for who reads memories."""


def find_owner(
    options: Options, process: ProcessEnvironment, *, needed: bool = True, reads_memories: bool = False
) -> Owner:
    """The agent, or the team if the options name only a team.

    For who reads memories, the replica of a shared store is brought up to date.
    The agent is the one that an option, a variable or the settings name, else the only one of the workspace. If none
    is needed, only the options count. Raises `ContextasmError` for an unknown name.
    """
    workspace = open_workspace(options, process)
    if options.agent and options.team:
        raise ContextasmError("--team", "an --agent is given, too", "name only one of the two")
    flags = {"agent": options.agent, "team": options.team, "date": options.date, "tz": options.tz}
    settings_file = load_settings_file(workspace)
    settings = resolve_settings(flags, process.environment, settings_file)
    overlay = attach_store(workspace, settings_file, process, offline=options.offline)
    problems = overlay.refresh() if overlay and reads_memories else ()
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
        name = only_agent(owner_names(workspace, "agent"), workspace, "name one with -a NAME, or a team with -t NAME")
        path = f"agents/{name}"
    return Owner(workspace, path, day, problems)


def place_for_memories(owner: Owner, file: str | None, process: ProcessEnvironment) -> MemoryPlace:
    """The file to write to, that of the month for None, and the folder to compare with.

    Raises `ContextasmError` for a file of another owner, and for one that no build reads memories from.
    """
    if file is None:
        folder = f"{owner.path}/memories"
        return MemoryPlace(folder, f"{folder}/{str(owner.day)[:7]}.md", _folder_facts(owner, folder, process))
    (path,) = parse_inner_paths(owner.workspace.relative(file), "--file")
    if Path(path).suffix != ".md" or any(part.startswith(".") for part in path.split("/")):
        raise ContextasmError("--file", f"{file} is not a file of memories", "name a file that ends in .md")
    if path.rpartition("/")[2] in RESERVED_NAMES:
        what = f"{path} is a list of files or of changes by its name, and never holds memories"
        raise ContextasmError("--file", what, "give the file another name")
    if owner.path and not path.startswith(f"{owner.path}/"):
        raise ContextasmError("--file", f"{path} is not in {owner.path}/", "leave out -a and -t, or name another file")
    refuse_store(owner.workspace, path)
    writable_path(owner.workspace, path)
    if not _is_read_as_memories(owner.workspace, path, process):
        folder = f"{owner.path or 'agents/NAME'}/memories"
        raise ContextasmError("--file", f"no build reads memories from {path}", f"name a file such as {folder}/x.md")
    folder = path.rpartition("/")[0]
    return MemoryPlace(folder, path, _folder_facts(owner, folder, process))


def ids_of_folders(owner: Owner, process: ProcessEnvironment) -> FolderOfIds:
    """Gives the ids of a folder's memories from earlier runs; None if nothing may be stored."""

    def stored_ids(folder: str) -> StoredFacts[FileIds] | None:
        facts = _folder_facts(owner, folder, process)
        return facts and facts.ids

    return stored_ids


def _folder_facts(owner: Owner, folder: str, process: ProcessEnvironment) -> FolderFacts | None:
    """Facts that earlier runs found in the files of a folder; None if nothing may be stored."""
    database = index_database(owner.workspace.root, process.environment)
    if database is None:
        return None
    from contextasm.retrieval.memory_index.files import folder_facts  # here: it loads SQLite

    return folder_facts(owner.workspace, folder, process.now, database)


def _is_read_as_memories(workspace: Folder, path: str, process: ProcessEnvironment) -> bool:
    """Whether a shipped profile, or the profile that the settings name, reads memories from a path of the workspace."""
    if any(glob_matches(pattern, path) for pattern in MEMORY_FILES):
        return True
    settings_file = load_settings_file(workspace)
    settings = resolve_settings({}, process.environment, settings_file)
    profile = ProfileReader(settings_file, workspace, process).resolve(settings)
    layers = [layer for layer in profile.layers if any(source.holds_memories for source in layer.query.traits)]
    return any(glob_matches(any_owner_pattern(pattern), path) for layer in layers for pattern in layer.query.paths)
