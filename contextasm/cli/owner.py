"""Options and typed text of the commands that change files of an agent or a team."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from contextasm.cli.command_line import Argument
from contextasm.cli.output import show_problems, write_stderr
from contextasm.config.input.options import Options
from contextasm.config.inputs import build_inputs
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.memories.owner import find_owner, known_ids
from contextasm.model import Memory
from contextasm.text.memories.writer import storable_text
from contextasm.workspace.editing.files import locked
from contextasm.workspace.editing.journal import Journal, Recovery, is_unfinished, recovery_text
from contextasm.workspace.folder import Folder
from contextasm.workspace.outputs import InputPattern, OutputFile, refuse_inputs

OWNER = ("agent", "team", "workspace")
"""Fields of `Options` that name an owner."""

READ_OWNER = (*OWNER, "offline")
"""Fields of `Options` of commands that read an owner's memories."""

OWNER_AND_DAY = (*OWNER, "date", "tz")


MemoryId = Annotated[str, Argument("ID", "The id, or its first letters (see ctxasm memory list).", "memory")]


def memories_of_id(options: Options, name: str) -> tuple[Folder, Sequence[Memory]]:
    """The workspace, and the memories of an id in the folder of the named owner, or of all owners, at least one.

    Problems of a shared store are shown. Raises `ContextasmError` for an unknown id.
    """
    process = process_environment()
    owner = find_owner(options, process, needed=False, reads_memories=True)
    show_problems(owner.problems)
    return owner.workspace, known_ids(owner, process).find(name)


def typed_text(text: str, where: str, *, masked: bool = False) -> str:
    """The text as a file can hold it; what was removed, and secrets, are warned of. Raises `ContextasmError`.

    With `masked`, secrets are masked in the text.
    """
    stored, problems = storable_text(text, where, masks=masked)
    show_problems(problems)
    return stored


def refuse_outputs(
    targets: Sequence[OutputFile], workspace: Folder, options: Options, others: Sequence[str] = ()
) -> None:
    """Raise `ContextasmError` for a file that a build of the workspace could read, whoever it is for.

    `others` are patterns of further files that may not be replaced.
    """
    process = process_environment()
    unnamed = options._replace(agent=None, team=None, audience=None)
    prepared = prepare_build(unnamed, process, workspace, restrict_profile=lambda whole: whole._replace(layers=()))
    files = build_inputs(prepared, process.folder)
    read = (InputPattern(pattern, "ctxasm reads this file") for pattern in others)
    refuse_inputs(targets, files._replace(patterns=(*files.patterns, *read)))


def recover_first(workspace: Folder, patience: float | None = None, *, edits: bool = True) -> None:
    """Take back what an interrupted application has changed, and say so, before a command does its own work.

    If it can't be taken back, it says why, and the command goes on. Waits for the lock as `locked` does, but only
    if an application has not ended; `edits` is as there. Raises `ContextasmError` as `locked` does.
    """
    if not is_unfinished(workspace.root):
        return
    with locked(workspace, patience=patience, edits=edits) as recovery:
        show_recovery(recovery)


def show_recovery(recovery: Recovery) -> None:
    """Say what became of an interrupted application; nothing if none was interrupted."""
    if recovery:
        write_stderr(f"ctxasm: {recovery_text(recovery)}")


def require_recovered(recovery: Recovery) -> Journal | None:
    """Say that an interrupted application was taken back, and give its journal; None if none was interrupted.

    Raises `ContextasmError` if it could not be taken back.
    """
    if isinstance(recovery, Exception):
        raise recovery
    show_recovery(recovery)
    return recovery
