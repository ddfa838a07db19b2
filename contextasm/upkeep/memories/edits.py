"""The memories of one owner as a planner changes them: what can be edited, and the edits and moves of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from contextasm.model import Memory
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.memories.parser import memory_id
from contextasm.text.names.places import archived_path
from contextasm.text.names.templates import one_line
from contextasm.upkeep.actions import Action, Move
from contextasm.upkeep.input import OwnerMemories
from contextasm.workspace.editing.memory_file import MemoryFile
from contextasm.workspace.folder import Folder

EXCERPT = 60
"""Characters of a memory that a reason quotes."""


class OwnerEdits:
    """The files of one owner, parsed line by line at their first edit."""

    def __init__(self, owner: OwnerMemories, workspace: Folder) -> None:
        """Read nothing."""
        self.owner = owner
        self._workspace = workspace
        self._files = {document.path: MemoryFile(document) for document in owner.documents}
        self._ambiguous = _ambiguous_ids(owner.memories)

    def file(self, memory: Memory) -> MemoryFile:
        """The file of a memory."""
        return self._files[memory.path]

    def can_change(self, memory: Memory) -> bool:
        """Whether fields of the memory can be set.

        Not so in a link, whose target is another's file, and if it shares its id: once one of two has left, the other
        one would be taken for it.
        """
        if memory.id.partition("~")[0] in self._ambiguous:
            return False
        return self.file(memory).can_change(memory.line) and self._workspace.stamp(memory.path) is not None

    def can_archive(self, memory: Memory) -> bool:
        """Whether the memory may and can leave its place: no pinned one may."""
        if memory.pin or not self.can_change(memory):
            return False
        if self.file(memory).is_one_memory:
            return not self._workspace.exists(archived_path(memory.path))
        return self.file(memory).can_remove(memory.line)

    def archive(self, action: Action, memories: Iterable[Memory]) -> Action:
        """The action with the edits and moves that archive memories which `can_archive`."""
        edits, moves = [*action.edits], [*action.moves]
        for memory in memories:
            if self.file(memory).is_one_memory:
                moves.append(Move(memory.path, archived_path(memory.path)))
            else:
                edits.append(self.file(memory).remove(memory.line))
        return action._replace(edits=tuple(edits), moves=tuple(moves))

    def set_fields(self, action: Action, memory: Memory, fields: Mapping[str, str], bullet: str = "") -> Action:
        """The action with the edit that sets fields of a memory, as `MemoryFile.set_fields`."""
        return action._replace(edits=(*action.edits, self.file(memory).set_fields(memory.line, fields, bullet)))


def _ambiguous_ids(memories: Sequence[Memory]) -> set[str]:
    """Ids that several memories share, if they were given by hand or others name them."""
    counts = Counter(memory.id.partition("~")[0] for memory in memories)
    named = {name for memory in memories for name in (*memory.supersedes, memory.superseded_by)}
    given = {memory.id for memory in memories if counts[memory.id] > 1 and not _is_made_of_text(memory)}
    return {id_ for id_, count in counts.items() if count > 1 and (id_ in given or id_ in named)}


def _is_made_of_text(memory: Memory) -> bool:
    """Whether a memory names no id, so that its id is made of its path and text."""
    return memory.id == memory_id(memory.path, memory.text)


def change_action(verb: str, memories: Iterable[Memory], reason: str, *, needs_approval: bool) -> Action:
    """An action that concerns memories at their places, with nothing to do yet."""
    targets = tuple(memory_place(memory) for memory in memories)
    return Action(verb, targets, reason, needs_approval)


def memory_place(memory: Memory) -> str:
    """File and line of a memory, as an editor takes them."""
    return f"{memory.path}:{memory.line}"


def quoted(memory: Memory) -> str:
    """The beginning of a memory's text, in quotes; of a private one nothing, for archives and logs keep a reason."""
    if memory.private:
        return "a private memory"
    text = one_line(memory.text)
    if len(text) > EXCERPT:
        text = text[: EXCERPT - 3].rsplit(" ", 1)[0] + "..."
    return f'"{text}"'


def memory_tokens(memories: Iterable[Memory]) -> int:
    """Tokens, by the estimate, of memories as builds show them, each as a list item with its type."""
    return sum(ESTIMATE.count(f"- [{memory.type}] {memory.text}\n") for memory in memories)
