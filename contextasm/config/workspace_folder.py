"""The folder of a workspace, opened: with the replica of its shared store in place of the files of these owners."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import load_settings_file
from contextasm.config.input.yaml_loader import YamlMapping
from contextasm.model import ContextasmError
from contextasm.workspace.folder import Folder, find_workspace

if TYPE_CHECKING:
    from contextasm.workspace.storage import Overlay


def open_workspace(options: Options, process: ProcessEnvironment) -> Folder:
    """The workspace that is named, else the nearest one upwards. Raises `ContextasmError` if no workspace is found."""
    return Folder(workspace_folder(options, process))


def workspace_folder(options: Options, process: ProcessEnvironment) -> Path:
    """The folder that is named as the workspace, else the nearest one upwards; links in its path stay.

    If no folder has settings or agents, the nearest with the files of some other tool counts. Raises
    `ContextasmError` if no workspace is found.
    """
    if name := named_workspace(options, process):
        return process.folder / name
    if folder := nearest_workspace(options, process):
        return folder
    hint = "name one with -w DIR, or make one with `ctxasm init`"
    signs = "no ctxasm.yaml, agents/, SOUL.md, AGENTS.md, CLAUDE.md or the like"
    raise ContextasmError(str(process.folder), f"no workspace here or above ({signs})", hint)


def named_workspace(options: Options, process: ProcessEnvironment) -> str:
    """The path of the workspace that an option or the environment names, as typed; empty for none."""
    return options.workspace or process.environment.get("CTXASM_WORKSPACE") or ""


def nearest_workspace(options: Options, process: ProcessEnvironment) -> Path | None:
    """The nearest folder upwards that is a workspace; None for none."""
    if folder := find_workspace(process.folder):
        return folder
    from contextasm.config.profiles.detection import find_detected  # here: most workspaces have settings or agents

    profile = options.profile or process.environment.get("CTXASM_PROFILE", "")
    return find_detected(process.folder, process.environment, profile)


def open_with_replica(root: Path, process: ProcessEnvironment, *, offline: bool) -> Folder:
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

    config = parse_store(settings_file)
    if not workspace.is_on_disk:
        return None
    if workspace.overlay is None:
        workspace.overlay = store_overlay(workspace.root, config, process, offline=offline)
    return workspace.overlay
