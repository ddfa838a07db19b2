"""`ctxasm edit`: open the file of a memory in the user's editor, at its line."""

from __future__ import annotations

import os
from collections.abc import Sequence

from contextasm.cli.command_line import Command
from contextasm.cli.owner import OWNER, MemoryId, memories_of_id
from contextasm.config.input.options import Options
from contextasm.model import ContextasmError, system_errors
from contextasm.text.names.matching import list_names
from contextasm.workspace.editing.files import refuse_store

EDITORS = {
    "+{line} {file}": (
        "vi vim nvim view gvim nano pico ed joe jed mg kak emacs emacsclient micro ne gedit gnome-text-editor"
    ),
    "--goto {file}:{line}": "code code-insiders codium vscodium cursor windsurf",
    "{file}:{line}": "hx helix zed zeditor subl sublime_text",
}
"""The editors that take a line number in each of these ways; any other editor is given only the file."""


def edit(options: Options, *, name: MemoryId) -> None:
    """Open a memory in the editor that VISUAL or EDITOR names."""
    workspace, memories = memories_of_id(options, name)
    if len(memories) > 1:
        places = list_names([f"{memory.path}:{memory.line}" for memory in memories])
        raise ContextasmError(f"id `{name}`", f"belongs to several memories ({places})", "name the owner with -a or -t")
    (memory,) = memories
    refuse_store(workspace, memory.path)
    _run_editor(_editor_command(), f"{workspace.root}/{memory.path}", memory.line)


run = Command(edit, OWNER)


def _editor_command() -> Sequence[str]:
    """The words of the editor's command. Raises `ContextasmError` if none is set."""
    import shlex

    for variable in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(os.environ.get(variable, ""))
        except ValueError as error:
            raise ContextasmError(variable, f"can't be split into words: {error}", "close its quotes") from error
        if words:
            return [os.path.expanduser(words[0]), *words[1:]]
    raise ContextasmError("EDITOR", "no editor is set", "set VISUAL or EDITOR, such as EDITOR=nano")


def _run_editor(command: Sequence[str], file: str, line: int) -> None:
    program = command[0]
    form = next((form for form, names in EDITORS.items() if os.path.basename(program) in names.split()), "{file}")
    words = [*command, *(part.format(file=file, line=line) for part in form.split())]
    with system_errors(program, "can't be started", "set EDITOR to your editor"):
        code = os.spawnvp(os.P_WAIT, program, words)  # noqa: S606 - the user names it
    if code == 127:
        raise ContextasmError(program, "can't be started", "set EDITOR to your editor")
    if code:
        raise ContextasmError(program, f"ended with exit code {code}", "see the message of the editor")
