"""Source `recent`: remembered statements, for a request without a topic or one that finds nothing."""

from __future__ import annotations

from collections.abc import Iterable

from contextasm.model import Document, Found, Fragment, Layer, Memory, Problem, Reason, Request, Workspace
from contextasm.text.memories import distinct, memories
from contextasm.text.templates import fill, paths

COUNTING = {"active", "approved"}
"""The states in which a memory may be shown."""


def recent(workspace: Workspace, layer: Layer, request: Request) -> Found:
    """Every memory of the layer's files; those that do not count say why."""
    found: list[Memory] = []
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in dict.fromkeys(path for each in layer.path for path in paths(workspace, each, request)):
        read = workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
            own, wrong = memories(read)
            found += own
            problems += wrong
        elif read:
            problems.append(read)
    own, wrong = distinct(found)
    superseded = replaced(own)
    fragments = (fragment(memory, layer, superseded) for memory in own)
    return Found(tuple(fragments), tuple(documents), (*problems, *wrong))


def replaced(found: Iterable[Memory]) -> dict[str, str]:
    """The ids that a memory which counts takes the place of, each with that memory's id."""
    return {old: memory.id for memory in found if memory.status in COUNTING for old in memory.supersedes}


def fragment(memory: Memory, layer: Layer, superseded: dict[str, str]) -> Fragment:
    """A memory in the form in which the layer shows it."""
    shown = {"type": memory.type, "text": memory.text.replace("\n", "\n  ")}
    text = fill(layer.line, shown) if layer.line else memory.text
    return Fragment(
        id=memory.id,
        path=memory.path,
        line=memory.line,
        text="\n".join(line.rstrip() for line in text.split("\n")),
        heading=layer.heading[0],
        day=memory.created,
        keep=layer.keep,
        out=_out(memory, superseded),
    )


def _out(memory: Memory, superseded: dict[str, str]) -> Reason | None:
    """Why a memory does not count; None if it does."""
    if memory.status not in COUNTING:
        return Reason.of("status", status=memory.status)
    if memory.id in superseded and superseded[memory.id] != memory.id:
        return Reason.of("superseded", by=superseded[memory.id])
    return None
