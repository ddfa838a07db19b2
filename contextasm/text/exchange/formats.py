"""The formats that memories are imported from, by name."""

from __future__ import annotations

from collections.abc import Mapping

from contextasm.text.exchange.claude import read_claude_code, read_claude_export
from contextasm.text.exchange.entry import Read
from contextasm.text.exchange.json_formats import (
    read_beads,
    read_json_lines,
    read_letta,
    read_mem0,
    read_memory_server,
)
from contextasm.text.exchange.notes import read_codex, read_hermes
from contextasm.text.exchange.openclaw import read_openclaw

IMPORT_FORMATS: Mapping[str, tuple[Read, tuple[str, ...]]] = {
    "beads": (read_beads, ()),
    "claude-code": (read_claude_code, ("*.md",)),
    "claude-export": (read_claude_export, ("memories.json",)),
    "codex": (read_codex, ("MEMORY.md", "memory_summary.md")),
    "hermes": (read_hermes, ("MEMORY.md", "USER.md")),
    "letta": (read_letta, ()),
    "mem0": (read_mem0, ()),
    "memory-server": (read_memory_server, ()),
    "openclaw": (read_openclaw, ("MEMORY.md", "USER.md")),
    "jsonl": (read_json_lines, ()),
}
"""The function that reads files of each format, and the names of the files that it reads of a folder.

`*.md` means all such files; without a name, the command must name a file.
"""
