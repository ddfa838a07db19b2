"""The day's log: one more entry behind what stands there, a blank line between."""

from __future__ import annotations

from contextasm.workspace.editing.files import locked, open_file, save_file
from contextasm.workspace.folder import Folder


def append_log(workspace: Folder, path: str, text: str) -> bool:
    """Put a text, LF lines, at the end of a log; whether the log had to be made. Raises `ContextasmError`."""
    with locked(workspace):
        old = open_file(workspace, path)
        between = _between(old.text)
        save_file(workspace, path, old.data + old.encoded(f"{between}{text}\n"))
    return not old.data


def _between(old: str) -> str:
    """The line ends that are missing up to a blank line."""
    if not old.strip():
        return "" if not old or old.endswith("\n") else "\n"
    lines = old.replace("\r\n", "\n").split("\n")
    if lines[-1].strip():
        return "\n\n"
    return "\n" if lines[-1] or lines[-2].strip() else ""
