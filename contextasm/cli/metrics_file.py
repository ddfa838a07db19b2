"""The metrics file of a command that is no build: settled before anything is done, written at the end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextasm.config.options import Options, ProcessEnvironment
    from contextasm.rendering.prometheus import Series
    from contextasm.workspace.folder import Folder
    from contextasm.workspace.inputs import InputFiles
    from contextasm.workspace.outputs import OutputFile


def settle_metrics(path: str, workspace: Folder, options: Options, process: ProcessEnvironment) -> OutputFile:
    """The file that `--metrics` names.

    Raises `ContextasmError` for standard output, for a file that a build or a check could read, whichever agent it is
    for, and for one that can't be written.
    """
    from contextasm.model import ContextasmError
    from contextasm.workspace.atomic import refuse_unwritable
    from contextasm.workspace.inputs import refuse_inputs
    from contextasm.workspace.outputs import OutputFile

    if path == "-":
        raise ContextasmError("--metrics", "- is standard output, and the actions go there", "name a file")
    target = OutputFile.named("metrics", path)
    refuse_inputs([target], _inputs(workspace, options, process))
    refuse_unwritable(target.path)
    return target


def write_metrics(target: OutputFile, series: Iterable[Series], workspace: Folder) -> None:
    """Write the series, with the name of the workspace's folder as a label."""
    from contextasm.rendering.prometheus import exposition
    from contextasm.workspace.atomic import as_bytes, write

    write(target.path, as_bytes(exposition(series, {"workspace": Path(workspace.root).name})))


def _inputs(workspace: Folder, options: Options, process: ProcessEnvironment) -> InputFiles:
    """The files that builds and checks could read; those of checks alone where nothing can be built."""
    from contextasm.checks.inspection import WORKSPACE_PATTERNS
    from contextasm.config.inputs import build_inputs
    from contextasm.config.owners import owner_names
    from contextasm.config.resolve import prepare_build
    from contextasm.model import ContextasmError
    from contextasm.workspace.inputs import InputFiles, InputPattern

    own = tuple(
        (f"{workspace.root}/{name}", f"{tool} stores data of its own here")
        for name, tool in ((".ctxasm", "ctxasm"), (".git", "git"))
    )
    files = InputFiles(workspace, (), own, ())
    try:
        agent = next(iter(owner_names(workspace, "agent")), None)
        files = build_inputs(prepare_build(options._replace(agent=agent), process, workspace), process.folder)
    except ContextasmError:  # the settings are wrong, or there is no agent: the patterns below hold all the same
        pass
    read = tuple(InputPattern(pattern, "ctxasm reads this file") for pattern in WORKSPACE_PATTERNS)
    return files._replace(patterns=(*files.patterns, *read), others=(*files.others, *own))
