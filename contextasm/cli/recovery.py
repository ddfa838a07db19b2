"""What a person is told of an application of upkeep that was interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextasm.cli.output import write_stderr

if TYPE_CHECKING:
    from contextasm.workspace.editing.journal import Recovery
    from contextasm.workspace.folder import Folder


def recover_first(workspace: Folder, patience: float | None = None) -> None:
    """Take back what an interrupted application has changed, and say so, before a command does its own work.

    Where it can't be taken back, it says why, and the command goes on. Waits for the lock as `locked` does, but only
    where an application has not ended. Raises `ContextasmError` as `locked` does.
    """
    from contextasm.workspace.editing.files import locked
    from contextasm.workspace.editing.journal import is_unfinished

    if not is_unfinished(workspace.root):
        return
    with locked(workspace, patience=patience) as recovery:
        _show_restored(recovery)
    if recovery.blocked:
        write_stderr(f"ctxasm: {recovery.blocked}")


def require_recovered(recovery: Recovery) -> None:
    """Say that an interrupted application was taken back. Raises `ContextasmError` where it could not be."""
    _show_restored(recovery)
    if recovery.blocked:
        raise recovery.blocked


def _show_restored(recovery: Recovery) -> None:
    if recovery.restored:
        count = len(recovery.restored.entries)
        files = f"{count:,} files are" if count > 1 else "1 file is"
        write_stderr(f"ctxasm: an interrupted application was taken back: {files} as before")
