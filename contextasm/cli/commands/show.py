"""`ctxasm show`: print a memory with its place and fields."""

from __future__ import annotations

from typing import Literal, TypedDict

from contextasm.cli.command_line import Command
from contextasm.cli.options import JsonOption
from contextasm.cli.output import shown, write_json, write_stdout
from contextasm.cli.owner import READ_OWNER, MemoryId, memories_of_id
from contextasm.config.input.options import Options
from contextasm.model import Memory


class MemoriesDocument(TypedDict):
    """Memories with their fields, as `ctxasm show --json` prints them."""

    schema: Literal["ctxasm.memories/1"]
    memories: list[Memory]
    """Every memory of that id."""


def show(options: Options, *, name: MemoryId, json: JsonOption = False) -> None:
    """Print a memory with its file, fields and text. If several owners use the id, the memories of all are printed."""
    _, memories = memories_of_id(options, name)
    if json:
        write_json(MemoriesDocument, {"memories": memories})
    else:
        write_stdout(shown("\n".join(_memory_text(memory) for memory in memories)))


run = Command(show, READ_OWNER)


def _memory_text(memory: Memory) -> str:
    """Place, fields and text of a memory; fields that are not set are left out."""
    lines = [f"{memory.path}:{memory.line}"]
    for name, value in memory._asdict().items():
        if name in {"path", "line", "text"} or value in ("", (), False):
            continue
        words = ", ".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else value
        lines.append(f"{name}: {'yes' if words is True else words}")
    return "\n".join([*lines, "", memory.text, ""])
