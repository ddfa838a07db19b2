"""`ctxasm memory`: approve, deprecate or complete memories."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

import typer

from contextasm.cli.options import Receipt, action_argument, takes_options
from contextasm.cli.output import show_problems
from contextasm.cli.owner import OWNER, recover_first
from contextasm.config.input.options import Options
from contextasm.config.input.values import require_known
from contextasm.config.resolve import process_environment
from contextasm.memories.owner import find_owner, ids_of_folders
from contextasm.memories.status import StatusChange, change_status


class MemoryStatusDocument(TypedDict):
    """Memories whose status was set, as `ctxasm memory --json` prints them."""

    schema: Literal["ctxasm.memory-status/1"]
    memories: list[StatusChange]
    """Every memory that was named."""


ACTIONS = ("approve", "deprecate", "complete")
"""What can be done with a memory."""


def memory(
    options: Options,
    action: Annotated[
        str,
        action_argument(ACTIONS, "Approve a draft, deprecate what no longer holds, or complete what is done."),
    ],
    names: Annotated[
        tuple[str, ...],
        typer.Argument(metavar="ID...", help="The ids of the memories (see ctxasm memory list; the first letters do)."),
    ],
    *,
    receipt: Receipt,
) -> int:
    """Set the status of memories: a draft becomes approved, and an approved or active memory deprecated or completed.

    Only active and approved memories are shown. All memories change, or none; the rest of their files stays as it is.
    """
    require_known(action, ACTIONS, "memory", "action")
    receipt.require_stdout()
    process = process_environment()
    owner = find_owner(options, process, needed=False, reads_memories=True)
    show_problems(owner.problems)
    recover_first(owner.workspace)
    changes = change_status(owner.workspace, names, action, owner.path, ids_of_folders(owner, process))
    receipt.write(MemoryStatusDocument, {"memories": changes}, map(_change_line, changes))
    return 0


run = takes_options(memory, OWNER)


def _change_line(change: StatusChange) -> str:
    memory = change.memory
    place = f"{memory.id} {memory.path}:{memory.line}"
    if memory.status == change.status_before:
        return f"unchanged {place} ({memory.status} already)"
    return f"{memory.status} {place} ({change.status_before} before)"
