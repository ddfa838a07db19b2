"""`ctxasm memory`: list, approve, deprecate, complete or verify memories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal, TypedDict

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.commands.show import MemoriesDocument
from contextasm.cli.options import Receipt, action_argument
from contextasm.cli.output import show_problems, write_json, write_stderr, write_table
from contextasm.cli.owner import OWNER_AND_DAY, recover_first
from contextasm.config.input.options import Options
from contextasm.config.input.values import require_known
from contextasm.config.resolve import process_environment
from contextasm.memories.owner import find_owner, known_ids
from contextasm.memories.status import STEPS, VERIFIED, StatusChange, change_status
from contextasm.model import ContextasmError, Memory


class MemoryStatusDocument(TypedDict):
    """Memories whose status was set, as `ctxasm memory --json` prints them."""

    schema: Literal["ctxasm.memory-status/1"]
    memories: list[StatusChange]
    """Every memory that was named."""


ACTIONS = ("list", *STEPS)
"""What can be done with memories."""

_DONE = "List memories, approve drafts, deprecate or complete memories, or verify that they are still true."


def memory(
    options: Options,
    *,
    action: Annotated[str, action_argument(ACTIONS, _DONE)],
    names: Annotated[
        tuple[str, ...],
        Argument("[ID...]", "The ids, or their first letters (see ctxasm memory list).", "memory"),
    ] = (),
    receipt: Receipt,
) -> None:
    """List memories, drafts included, set their status, or verify that they are still true.

    You can approve a draft. You can deprecate or complete a memory that is active or approved. Only active and approved
    memories get into a context. `verify` sets the field `verified` to today, which counts as the memory's latest date.
    Either all named memories change, or none.
    """
    require_known(action, ACTIONS, "memory", "action")
    if (action == "list") == bool(names):
        what, hint = ("takes no ids", "leave them out") if names else ("no memory is named", "give an id")
        raise ContextasmError(f"memory {action}", what, f"{hint}; `ctxasm memory list` shows the ids")
    process = process_environment()
    owner = find_owner(options, process, needed=False, reads_memories=True)
    show_problems(owner.problems)
    if action == "list":
        _list_memories(known_ids(owner, process).all(), receipt)
        return
    receipt.require_stdout()
    recover_first(owner.workspace)
    changes = change_status(owner, names, action, process)
    receipt.write(MemoryStatusDocument, {"memories": changes}, map(partial(_change_line, action), changes))


run = Command(memory, OWNER_AND_DAY)


def _list_memories(memories: Sequence[Memory], receipt: Receipt) -> None:
    """Write a row for each memory, or all of them as JSON."""
    if receipt.json:
        write_json(MemoriesDocument, {"memories": memories})
    elif memories:
        rows = [(each.id, each.status, each.type, f"{each.path}:{each.line}", each.text) for each in memories]
        write_table(("id", "status", "type", "where", "text"), rows)
    else:
        write_stderr("ctxasm: no memories here: `ctxasm remember TEXT` stores one")


def _change_line(action: str, change: StatusChange) -> str:
    memory = change.memory
    place = f"{memory.id} {memory.path}:{memory.line}"
    if action == VERIFIED:
        return f"verified {place} (on {memory.verified})"
    if memory.status == change.status_before:
        return f"unchanged {place} (already {memory.status})"
    return f"{memory.status} {place} ({change.status_before} before)"
