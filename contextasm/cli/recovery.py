"""Messages about an application of upkeep that was interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextasm.cli.output import write_stderr

if TYPE_CHECKING:
    from contextasm.workspace.editing.journal import Recovery
    from contextasm.workspace.folder import Folder


def recover_first(workspace: Folder, patience: float | None = None, *, edits: bool = True) -> None:
    """Take back what an interrupted application has changed, and say so, before a command does its own work.

    Where it can't be taken back, it says why, and the command goes on. Waits for the lock as `locked` does, but only
    where an application has not ended; `edits` is as there. Raises `ContextasmError` as `locked` does.
    """
    from contextasm.workspace.editing.files import locked
    from contextasm.workspace.editing.journal import is_unfinished

    if not is_unfinished(workspace.root):
        return
    with locked(workspace, patience=patience, edits=edits) as recovery:
        show_recovery(recovery)


def show_recovery(recovery: Recovery) -> None:
    """Say what became of an interrupted application; nothing where none was."""
    if recovery.text:
        write_stderr(f"ctxasm: {recovery.text}")


def require_recovered(recovery: Recovery) -> None:
    """Say that an interrupted application was taken back. Raises `ContextasmError` where it could not be."""
    if recovery.blocked:
        raise recovery.blocked
    show_recovery(recovery)
