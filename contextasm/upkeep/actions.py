"""Actions: what a plan of upkeep proposes. Planners make them; only `apply` carries them out."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from contextasm.model import Memory, NamedTuple
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.names.templates import one_line
from contextasm.workspace.editing.memory_file import Edit

EXCERPT = 60
"""Characters of a memory that a reason quotes."""


class Move(NamedTuple):
    """A file of the workspace that goes to another place as a whole, unchanged but for compression."""

    path: str
    target: str
    """Path of the file afterwards; it must not exist. It ends in `.gz` if the content is to be compressed."""


class Action(NamedTuple):
    """One thing to do, whole or not at all. An action without edits and moves is a message for a person."""

    verb: str
    """What is done, as a command says it: `archive`, `complete`, `reinforce`."""
    targets: tuple[str, ...]
    """Files, or `FILE:LINE`, or ids of memories, that are concerned, in order."""
    reason: str
    """Why, in words for a person, without the period."""
    needs_approval: bool
    """Whether it is left out unless a person names it: it changes what an agent reads."""
    edits: tuple[Edit, ...] = ()
    moves: tuple[Move, ...] = ()
    tokens_saved: int = 0
    """Tokens that builds may save, by the estimate; negative if it grows."""

    @property
    def id(self) -> str:
        """Eight hexadecimal digits; the same for the same action on the same bytes, and for no other."""
        parts = (self.verb, *self.targets, *map(repr, self.edits), *map(repr, self.moves))
        return sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:8]

    @property
    def for_you(self) -> bool:
        """Whether only a person can do it: it has no edits and no moves."""
        return not (self.edits or self.moves)

    @property
    def bytes_saved(self) -> int:
        """Bytes by which the files it edits get smaller; archives are not counted."""
        return sum(len(edit.removed) - len(edit.added) for edit in self.edits)


def change_action(verb: str, memories: Iterable[Memory], reason: str, *, needs_approval: bool) -> Action:
    """An action that concerns memories at their places, with nothing to do yet."""
    return Action(verb, tuple(map(memory_place, memories)), reason, needs_approval)


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
