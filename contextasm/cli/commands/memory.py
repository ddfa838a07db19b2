"""`ctxasm memory`: approve, deprecate or complete memories."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

import typer

from contextasm.cli.options import JsonOption, QuietOption, takes_options
from contextasm.cli.output import format_json, require_stdout, show_problems, write_receipt
from contextasm.cli.owner import OWNER, recover_first
from contextasm.config.input.options import Options
from contextasm.config.input.values import require_known
from contextasm.config.resolve import process_environment
from contextasm.memories.owner import find_owner, ids_of_folders
from contextasm.memories.status import change_status
from contextasm.model import Memory
from contextasm.rendering.json_codec import INLINE


class MemoryStatusData(TypedDict):
    """One memory."""

    memory: Annotated[Memory, INLINE]
    """As it is now."""
    status_before: str
    """The status that it had."""


class MemoryStatusDocument(TypedDict):
    """Memories whose status was set, as `ctxasm memory --json` prints them."""

    schema: Literal["ctxasm.memory-status/1"]
    memories: list[MemoryStatusData]
    """Every memory that was named."""


ACTIONS = ("approve", "deprecate", "complete")
"""What can be done with a memory."""


def memory(
    options: Options,
    action: Annotated[
        str,
        typer.Argument(
            metavar="|".join(ACTIONS),
            help="Approve a draft, deprecate what no longer holds, or complete what is done.",
            autocompletion=lambda: ACTIONS,
        ),
    ],
    names: Annotated[list[str], typer.Argument(metavar="ID...", help="The ids of the memories (see ctxasm explain).")],
    *,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Set the status of memories: a draft becomes approved, and an approved or active memory deprecated or completed.

    Only active and approved memories are shown. All memories change, or none; the rest of their files stays as it is.
    """
    require_known(action, ACTIONS, "memory", "action")
    if json or not quiet:
        require_stdout()
    process = process_environment()
    owner = find_owner(options, process, needed=False, reads_memories=True)
    show_problems(owner.problems)
    recover_first(owner.workspace)
    changes = change_status(owner.workspace, names, action, owner.path, ids_of_folders(owner, process))
    if json:
        memories = [{"memory": after, "status_before": before.status} for before, after in changes]
        write_receipt(format_json(MemoryStatusDocument, {"memories": memories}))
    elif not quiet:
        write_receipt("".join(f"{_change_line(*change)}\n" for change in changes))
    return 0


run = takes_options(memory, OWNER)


def _change_line(before: Memory, after: Memory) -> str:
    place = f"{after.id} {after.path}:{after.line}"
    if after.status == before.status:
        return f"unchanged {place} ({after.status} already)"
    return f"{after.status} {place} ({before.status} before)"
