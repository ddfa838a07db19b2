"""The folder of a workspace, opened: with the mirror of its shared store in place of the store's homes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextasm.config.options import Options, ProcessEnvironment
from contextasm.config.settings import FILE
from contextasm.config.yaml_loader import YamlMapping
from contextasm.model import Document, Problem
from contextasm.workspace.folder import Folder, find_workspace

if TYPE_CHECKING:
    from contextasm.workspace.git import GitWorkspace


def open_workspace(options: Options, process: ProcessEnvironment) -> Folder:
    """The workspace that is named, else the nearest one upwards. Raises `ContextasmError` if there is none."""
    name = options.workspace or process.environment.get("CTXASM_WORKSPACE")
    return open_folder(
        process.folder / name if name else find_workspace(process.folder), process, offline=options.offline
    )


def open_folder(root: Path, process: ProcessEnvironment, *, offline: bool = False) -> Folder:
    """The workspace at `root`, with the mirror of its shared store in place of the store's homes, as it is.

    No server is asked before `store_problems`, and with `offline` none is. Raises `ContextasmError` for no folder.
    """
    folder = Folder(root)
    settings = folder.read(FILE)
    if isinstance(settings, Document) and b"memories" in settings.data:
        from contextasm.config.store import store_overlay  # here: most workspaces have no store

        folder.overlay = store_overlay(folder, process, offline=offline)
    return folder


def store_problems(workspace: Folder | GitWorkspace, settings_file: YamlMapping) -> Sequence[Problem]:
    """Bring the mirror of the shared store up to date, where there is one; the problems with that.

    A revision has no mirror. Raises `ContextasmError` for settings of a store that can't be used.
    """
    if settings_file.get("memories") is None:
        return ()
    overlay = workspace.overlay if isinstance(workspace, Folder) else None
    if overlay is None:
        from contextasm.config.store import parse_store

        parse_store(settings_file)
        return ()
    return overlay.refresh()
