"""The life of a memory by command: draft, approved, deprecated; completed; and verified. Other ways are refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Annotated

from contextasm.config.input.options import ProcessEnvironment
from contextasm.memories.additions import renewed_cites
from contextasm.memories.owner import Owner, known_ids
from contextasm.memories.storage import by_storage
from contextasm.model import ContextasmError, Memory, NamedTuple
from contextasm.rendering.json_codec import INLINE
from contextasm.retrieval.pool import validity_words
from contextasm.text.names.matching import list_names
from contextasm.workspace.editing.files import locked
from contextasm.workspace.editing.known_ids import WorkspaceIds

VERIFIED = "verify"
"""The step that leaves the status as it is, and sets the day on which the memory was confirmed."""

STEPS: Mapping[str, tuple[str, Collection[str], Collection[str]]] = {
    "approve": ("approved", ("draft", "review"), ("approved", "active")),
    "deprecate": ("deprecated", ("approved", "active"), ("deprecated",)),
    "complete": ("completed", ("approved", "active"), ("completed",)),
    VERIFIED: ("verified", ("approved", "active", "stable"), ()),
}
"""By the name of an action: the new status, the ones that it may be made from, and the ones that are as good as it.

`active` counts as approved, and `review` as a draft (digest 5.2, 004-7).
"""


class StatusChange(NamedTuple):
    """One memory whose status was set."""

    memory: Annotated[Memory, INLINE]
    """As it is now."""
    status_before: str
    """The status that it had; the same if it has not changed."""


def change_status(owner: Owner, names: Sequence[str], action: str, process: ProcessEnvironment) -> list[StatusChange]:
    """Make the step `action` with each memory of an owner that is named by its id; all of them, or none.

    Raises `ContextasmError` for an unknown id, for one that several owners use, and for a memory that can't make the
    step.
    """
    status, origins, same = STEPS[action]
    workspace = owner.workspace
    with locked(workspace):
        ids = known_ids(owner, process)
        memories = [*dict.fromkeys(_only_memory(ids, name) for name in names)]

        def change(memory: Memory) -> Memory:
            if memory.status not in {*origins, *same}:
                what = f"has the status {memory.status}"
                hint = f"only a memory with the status {' or '.join(origins)} can be {status}; nothing has been changed"
                raise ContextasmError(f"memory `{memory.id}`", what, hint, code=1)
            if action == VERIFIED:
                return _verified(memory, owner.day)._replace(cites=renewed_cites(memory, workspace))
            return memory if memory.status in same else memory._replace(status=status)

        for memory in memories:
            change(memory)  # raises before anything is written
        pairs = [pair for storage, part in by_storage(workspace, memories) for pair in storage.change(part, change)]
    order = [memory.id for memory in memories]
    pairs.sort(key=lambda pair: order.index(pair[0].id))
    return [StatusChange(after, before.status) for before, after in pairs]


def _verified(memory: Memory, today: date) -> Memory:
    """The memory, verified today. Raises `ContextasmError` if it does not hold, or was written or verified later."""
    if words := validity_words(memory, today):
        raise ContextasmError(
            f"memory `{memory.id}`", words, "change its days with `ctxasm edit`; nothing has been changed", code=1
        )
    if (last := max(memory.created, memory.verified)) > str(today):
        word = "verified" if last == memory.verified else "written"
        raise ContextasmError(f"memory `{memory.id}`", f"was {word} on {last}", f"give --date {last} or later", code=1)
    return memory._replace(verified=str(today))


def _only_memory(ids: WorkspaceIds, name: str) -> Memory:
    memories = ids.find(name)
    if len(memories) > 1:
        places = list_names([f"{memory.path}:{memory.line}" for memory in memories])
        hint = "name the owner with -a NAME or -t NAME; nothing has been changed"
        raise ContextasmError(f"id `{name}`", f"belongs to several memories, at {places}", hint)
    return memories[0]
