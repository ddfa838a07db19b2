"""The agent or team whose files a person or a program changes, and the files that its memories may be in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Literal

from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import Setting, load_settings_file, resolve_settings
from contextasm.config.input.values import parse_inner_paths
from contextasm.config.owners import (
    only_agent,
    owner_folder,
    owner_names,
    refuse_unused_option,
    require_own_files,
    uses_placeholder,
)
from contextasm.config.profiles.overrides import ProfileReader
from contextasm.config.resolve import resolve_date
from contextasm.config.workspace_folder import attach_store, open_workspace
from contextasm.model import ContextasmError, FolderFacts, NamedTuple, Problem, Profile, StoredFacts
from contextasm.text.memories.parser import RESERVED_NAMES
from contextasm.text.names.glob import glob_matches
from contextasm.text.names.places import MEMORY_FILES, OwnerKind, any_owner_pattern
from contextasm.text.names.templates import fill_template
from contextasm.workspace.cache import index_database
from contextasm.workspace.editing.files import refuse_store, writable_path
from contextasm.workspace.editing.known_ids import WorkspaceIds
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import MemoryPlace


class Owner(NamedTuple):
    """An agent, a team, or the workspace itself where its profile keeps memories of its own; and today."""

    workspace: Folder
    path: str
    """Such as `agents/luna`; empty for the workspace itself, and if no owner is named or needed."""
    day: date
    """The day that counts as today."""
    profile: Profile
    """The profile of the workspace, which says where memories and logs are."""
    problems: Sequence[Problem] = ()
    """Of the shared store, for who reads memories."""

    def file(self, place: Literal["remember", "log"]) -> str:
        """The file that new memories go to, or new entries of logs. Raises `ContextasmError` if there is none."""
        template = str(getattr(self.profile, place) if self.is_by_profile else Profile._field_defaults[place])
        if "{owner}" in template and not self.path:
            name = self.profile.name
            hint = f"make a profile with `extends: {name}` and `{place}: FILE`"
            raise ContextasmError(f"profile {name}", f"names no file for `{place}`", hint)
        agent = self.path.rpartition("/")[2]
        names = {"owner": self.path, "agent": agent, "date": str(self.day), "month": str(self.day)[:7]}
        return fill_template(template, names)

    @property
    def is_by_profile(self) -> bool:
        """Whether the profile says where memories are: not for the agents and teams of a workspace of this program."""
        return not self.path or bool(self.profile.agents)

    @property
    def memory_files(self) -> Sequence[str]:
        """The file of memories that the profile names; none if memories are only in folders of agents and teams."""
        is_named = self.is_by_profile and "{owner}" not in self.profile.remember
        return [self.file("remember")] if is_named else []


def find_owner(
    options: Options, process: ProcessEnvironment, *, needed: bool = True, reads_memories: bool = False
) -> Owner:
    """The agent, or the team if the options name only a team.

    For who reads memories, the replica of a shared store is brought up to date.
    The agent is the one that an option, a variable or the settings name, else the only one of the workspace; if the
    profile keeps memories of the workspace itself, it is the owner. If none is needed, only the options count. Raises
    `ContextasmError` for an unknown name.
    """
    workspace = open_workspace(options, process)
    if options.agent and options.team:
        raise ContextasmError("--team", "--agent is given, too", "give only one of them")
    flags = {"agent": options.agent, "team": options.team, "date": options.date, "tz": options.tz}
    settings_file = load_settings_file(workspace)
    typed = resolve_settings(flags | {"profile": options.profile}, process.environment, settings_file)
    reader = ProfileReader(settings_file, workspace, process)
    settings, _ = reader.with_detected(typed)
    overlay = attach_store(workspace, settings_file, process, offline=options.offline)
    problems = overlay.refresh() if overlay and reads_memories else ()
    day = resolve_date(settings, process).value
    assert isinstance(day, date)
    profile = reader.resolve(settings)
    path = _owner_path(options, settings["agent"], profile, workspace, needed=needed)
    return Owner(workspace, path, day, profile, problems)


def _owner_path(options: Options, agent: Setting, profile: Profile, workspace: Folder, *, needed: bool) -> str:
    if profile.agents and uses_placeholder(profile, "agent"):
        require_own_files(agent, profile, workspace)
        return fill_template(profile.agents, {"agent": str(agent.value)})
    kind: OwnerKind = "team" if options.team else "agent"
    names = owner_names(workspace, kind)
    keeps_own = "{owner}" not in profile.remember
    if not (names or uses_placeholder(profile, "agent")) and (keeps_own or not agent.value):
        refuse_unused_option(Setting(getattr(options, kind), f"--{kind}"), profile, kind)
        return ""
    if options.team:
        return owner_folder(workspace, "team", options.team, "--team")
    if not options.agent and (not needed or keeps_own):
        return ""
    if agent.value:
        return owner_folder(workspace, "agent", str(agent.value), agent.origin)
    return f"agents/{only_agent(names, workspace, 'name one with -a NAME, or a team with -t NAME')}"


def place_for_memories(owner: Owner, file: str | None, process: ProcessEnvironment) -> MemoryPlace:
    """The file to write to, that of the month or of the profile for None, and the folder to compare with, if any.

    Raises `ContextasmError` for a file of another owner, and for one that no build reads memories from.
    """
    path = owner.file("remember") if file is None else owner.workspace.relative(file)
    if path in owner.memory_files:
        return MemoryPlace(path=path)
    if file is None:
        folder = path.rpartition("/")[0]
        return MemoryPlace(folder, path, _folder_facts(owner, folder, process))
    (path,) = parse_inner_paths(path, "--file")
    if Path(path).suffix != ".md" or any(part.startswith(".") for part in path.split("/")):
        raise ContextasmError("--file", f"{file} can't hold memories", "name a file that ends in .md")
    if path.rpartition("/")[2] in RESERVED_NAMES:
        what = f"{path} has a name for lists of files or changes, so no memories are read from it"
        raise ContextasmError("--file", what, "give the file another name")
    if owner.path and not path.startswith(f"{owner.path}/"):
        raise ContextasmError("--file", f"{path} is not in {owner.path}/", "leave out -a and -t, or name another file")
    refuse_store(owner.workspace, path)
    writable_path(owner.workspace, path)
    if not _is_read_as_memories(owner, path):
        folder = f"{owner.path or 'agents/NAME'}/memories"
        raise ContextasmError("--file", f"no build reads memories from {path}", f"name a file such as {folder}/x.md")
    folder = path.rpartition("/")[0]
    return MemoryPlace(folder, path, _folder_facts(owner, folder, process))


def known_ids(owner: Owner, process: ProcessEnvironment) -> WorkspaceIds:
    """The ids of the memories of an owner; of all owners if none is named."""

    def stored_ids(folder: str) -> StoredFacts[Sequence[str]] | None:
        facts = _folder_facts(owner, folder, process)
        return facts and facts.ids

    return WorkspaceIds(owner.workspace, owner.path, stored_ids, owner.memory_files)


def _folder_facts(owner: Owner, folder: str, process: ProcessEnvironment) -> FolderFacts | None:
    """Facts that earlier runs found in the files of a folder; None if nothing may be stored."""
    database = index_database(owner.workspace.root, process.environment)
    if database is None:
        return None
    from contextasm.retrieval.memory_index.files import folder_facts  # here: it loads SQLite

    return folder_facts(owner.workspace, folder, process.now, Path(database))


def _is_read_as_memories(owner: Owner, path: str) -> bool:
    """Whether a shipped profile, or the profile that the settings name, reads memories from a path of the workspace."""
    layers = [layer for layer in owner.profile.layers if any(source.holds_memories for source in layer.query.traits)]
    patterns = (any_owner_pattern(pattern) for layer in layers for pattern in layer.query.paths)
    return any(glob_matches(pattern, path) for pattern in (*MEMORY_FILES, *patterns))
