"""The input of a plan, out of options, environment and the workspace's settings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from contextasm.config.build import make_summarizer
from contextasm.config.options import Options, ProcessEnvironment
from contextasm.config.resolve import resolve_date
from contextasm.config.settings import load_settings_file, resolve_settings
from contextasm.config.upkeep import parse_upkeep
from contextasm.config.workspace_folder import attach_store, open_workspace
from contextasm.config.workspace_profiles import workspace_profiles
from contextasm.config.yaml_loader import YamlMapping, load_yaml
from contextasm.retrieval.audience import private_patterns
from contextasm.upkeep.upkeep_input import MemoryFiles, UpkeepInput
from contextasm.workspace.folder import Folder


def prepare_upkeep(options: Options, process: ProcessEnvironment) -> UpkeepInput:
    """The input for the workspace and the day of the options. Raises `ContextasmError` for settings that are wrong.

    The summarizer of a workspace that the person does not trust runs nothing.
    """
    workspace = open_workspace(options, process)
    settings_file = load_settings_file(workspace)
    attach_store(workspace, settings_file, process, offline=True)  # its memories are left alone: no server is asked
    settings = resolve_settings({"date": options.date, "tz": options.tz}, process.environment, settings_file)
    today = resolve_date(settings, process).value
    assert isinstance(today, date)
    return UpkeepInput(
        workspace=workspace,
        settings=parse_upkeep(settings_file),
        settings_file=settings_file,
        today=today,
        parse_yaml=load_yaml,
        summarizer=make_summarizer(settings_file, workspace, process, None),
        memory_files=MemoryFiles(workspace, load_yaml, _private_paths(workspace, settings_file)),
    )


def _private_paths(workspace: Folder, settings_file: YamlMapping) -> Sequence[str]:
    """Patterns of the private layers of all profiles of the workspace: a plan depends on no variable of the process."""
    process = ProcessEnvironment({}, Path(workspace.root), lambda: 0.0)  # no day is asked for
    settings = resolve_settings({}, {}, settings_file)
    profiles = workspace_profiles(settings, settings_file, workspace, process, {})
    return [*dict.fromkeys(pattern for profile in profiles for pattern in private_patterns(profile))]


def read_again(upkeep: UpkeepInput) -> UpkeepInput:
    """The same input over the files as they are now; the settings stay."""
    workspace = Folder(Path(upkeep.workspace.root), upkeep.workspace.overlay)
    return upkeep._replace(workspace=workspace, memory_files=upkeep.memory_files.read_again(workspace))
