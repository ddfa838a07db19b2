"""`ctxasm show`: one memory, with its fields and where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.output import format_json, write_stdout
from contextasm.cli.owner import AgentOption, OwnerOptions, TeamOption, WorkspaceOption, find_owner

if TYPE_CHECKING:
    from contextasm.model import Memory


def run(
    name: Annotated[str, typer.Argument(metavar="ID", help="The memory, as `explain` and `remember` name it.")],
    agent: AgentOption = None,
    team: TeamOption = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    workspace: WorkspaceOption = None,
) -> int:
    """Print a memory: where it stands, its fields, its text. An id that several owners use shows one of each."""
    from contextasm.workspace.editing.memories import find_memories

    owner = find_owner(OwnerOptions(agent, team, workspace), needed=False)
    found = find_memories(owner.workspace, name, owner.path)
    if json:
        write_stdout(format_json({"schema": "ctxasm.memories/1", "memories": [each._asdict() for each in found]}))
    else:
        write_stdout("\n".join(_page(each) for each in found))
    return 0


def _page(memory: Memory) -> str:
    """A memory as a person reads it; fields that are not set are left out."""
    fields = [f"{memory.path}:{memory.line}"]
    for name, value in memory._asdict().items():
        if name in {"path", "line", "text"} or value in ("", (), False):
            continue
        words = ", ".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else value
        fields.append(f"{name}: {'yes' if words is True else words}")
    return "\n".join([*fields, "", memory.text, ""])
