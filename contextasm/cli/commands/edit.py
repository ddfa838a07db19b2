"""`ctxasm edit`: the file of a memory in the person's editor, at its line."""

from __future__ import annotations

from typing import Annotated

import typer

from contextasm.cli.owner import AgentOption, OwnerOptions, TeamOption, WorkspaceOption, find_owner

AT_PLUS = ("+{line}", "{file}")
AT_GOTO = ("--goto", "{file}:{line}")
AT_COLON = ("{file}:{line}",)

FORMS = {
    **dict.fromkeys(("vi", "vim", "nvim", "view", "gvim", "nano", "pico", "ed", "joe", "jed", "mg", "kak"), AT_PLUS),
    **dict.fromkeys(("emacs", "emacsclient", "micro", "ne", "gedit", "gnome-text-editor"), AT_PLUS),
    **dict.fromkeys(("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"), AT_GOTO),
    **dict.fromkeys(("hx", "helix", "zed", "zeditor", "subl", "sublime_text"), AT_COLON),
}
"""How editors are told of a line; any other one is given just the file."""


def run(
    name: Annotated[str, typer.Argument(metavar="ID", help="The memory, as `explain` and `remember` name it.")],
    agent: AgentOption = None,
    team: TeamOption = None,
    workspace: WorkspaceOption = None,
) -> int:
    """Open a memory in your editor: VISUAL, else EDITOR."""
    import os

    from contextasm.model import ContextasmError
    from contextasm.workspace.editing.memories import find_memories

    owner = find_owner(OwnerOptions(agent, team, workspace), needed=False)
    found = find_memories(owner.workspace, name, owner.path)
    if len(found) > 1:
        places = ", ".join(f"{each.path}:{each.line}" for each in found)
        raise ContextasmError("id", f"{name} is in several places ({places})", "name its owner with -a or -t")
    words = _editor()
    form = FORMS.get(os.path.basename(words[0]), ("{file}",))
    where = {"file": f"{owner.workspace.root}/{found[0].path}", "line": str(found[0].line)}
    try:
        code = os.spawnvp(os.P_WAIT, words[0], [*words, *(part.format(**where) for part in form)])  # noqa: S606 - the person names it
    except OSError as error:
        raise ContextasmError(words[0], f"can't be started: {error.strerror}", "set EDITOR to your editor") from error
    if code == 127:
        raise ContextasmError(words[0], "can't be started", "set EDITOR to your editor")
    if code:
        raise ContextasmError(words[0], f"ended with {code}", "see what it says")
    return 0


def _editor() -> list[str]:
    """The words of the editor's command. Raises `ContextasmError` where none is set."""
    import os
    import shlex

    from contextasm.model import ContextasmError

    for variable in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(os.environ.get(variable, ""))
        except ValueError as error:
            raise ContextasmError(variable, f"can't be taken apart: {error}", "close its quotes") from error
        if words:
            return words
    raise ContextasmError("EDITOR", "no editor is set", "set VISUAL or EDITOR, such as EDITOR=nano")
