"""The folder of a workspace, opened: with the replica of its shared store in place of the files of these owners."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import FILE, load_settings_file
from contextasm.config.input.yaml_loader import YamlMapping
from contextasm.model import ContextasmError
from contextasm.text.names.places import AGENT_FILES, any_owner_pattern
from contextasm.workspace.folder import Folder, folders_above
from contextasm.workspace.reads import is_folder, note_other_input

if TYPE_CHECKING:
    from contextasm.workspace.storage import Overlay


def is_native(workspace: Folder) -> bool:
    """Whether a folder is a workspace of this program: it has settings, or an agent.

    An agent has both of its files. One with only one of them counts if no other program has left a sign in the folder:
    many programs have a folder `agents/`.
    """
    if workspace.exists(FILE):
        return True
    folders = ([*map(os.path.dirname, workspace.list(any_owner_pattern(file)))] for file in AGENT_FILES)
    first, second = ({folder for folder in each if "/" in folder} for each in folders)
    if first & second or not first | second:
        return bool(first)
    from contextasm.config.profiles.detection import detect  # here: most workspaces have settings or whole agents

    return not detect(workspace)


def find_workspace(start: str) -> str | None:
    """The nearest folder, upwards from `start`, that is a workspace of this program; None if none is."""
    folders = (start, *folders_above(start))
    return next((folder for folder in folders if is_folder(folder) and is_native(Folder(folder))), None)


def open_workspace(options: Options, process: ProcessEnvironment) -> Folder:
    """The workspace that is named, else the nearest one upwards. Raises `ContextasmError` if no workspace is found."""
    return Folder(workspace_folder(options, process))


def workspace_folder(options: Options, process: ProcessEnvironment) -> str:
    """The folder that is named as the workspace, else the nearest one upwards; links in its path stay.

    If no folder has settings or agents, the nearest with the files of some other tool counts. Raises
    `ContextasmError` if no workspace is found.
    """
    if name := named_workspace(options, process):
        return os.path.join(process.folder, name)
    if folder := nearest_workspace(options, process):
        return folder
    from contextasm.config.profiles.detection import detect, find_detected, known_signs

    hint = "name one with -w DIR, or make one with `ctxasm init`"
    if other := find_detected(process.folder, process.environment):
        name, sign = detect(Folder(other))[0]
        hint = f"use -p {name} for {sign} {'here' if other == process.folder else f'in {other}'}"
    signs = ", ".join(known_signs(_wanted_profile(options, process)))
    looked_for = f"no {FILE}, no agents/NAME/IDENTITY.md, no {signs}"
    raise ContextasmError(process.folder, f"found no workspace here or above ({looked_for})", hint)


def named_workspace(options: Options, process: ProcessEnvironment) -> str:
    """The path of the workspace that an option or the environment names, as typed; empty for none."""
    return options.workspace or process.environment.get("CTXASM_WORKSPACE") or ""


def nearest_workspace(options: Options, process: ProcessEnvironment) -> str | None:
    """The nearest folder upwards that is a workspace; None for none."""
    if folder := find_workspace(process.folder):
        return folder
    from contextasm.config.profiles.detection import find_detected  # here: most workspaces have settings or agents

    return find_detected(process.folder, process.environment, _wanted_profile(options, process))


def _wanted_profile(options: Options, process: ProcessEnvironment) -> str:
    return options.profile or process.environment.get("CTXASM_PROFILE", "")


def open_with_replica(root: str, process: ProcessEnvironment, *, offline: bool) -> Folder:
    """The workspace at `root`, with the replica of its shared store as it is.

    Settings that can't be used count as none: a build reports them. Raises `ContextasmError` for no folder.
    """
    folder = Folder(root)
    with suppress(ContextasmError):
        attach_store(folder, load_settings_file(folder), process, offline=offline)
    return folder


def attach_store(
    workspace: Folder, settings_file: YamlMapping, process: ProcessEnvironment, *, offline: bool
) -> Overlay | None:
    """Lay the replica of the shared store over a workspace; None without a store, and for a revision.

    No server is asked before the replica is refreshed, and with `offline` none is. Raises `ContextasmError` for
    settings of a store that can't be used.
    """
    if settings_file.get("memories") is None:
        return None
    from contextasm.config.keys.store import parse_store, store_overlay  # here: most workspaces have no store

    note_other_input()
    config = parse_store(settings_file)
    if not workspace.is_on_disk:
        return None
    if workspace.overlay is None:
        workspace.overlay = store_overlay(workspace.root, config, process, offline=offline)
    return workspace.overlay
