"""The formats that memories are imported from, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from contextasm.text.exchange.claude import read_claude_code, read_claude_export
from contextasm.text.exchange.entry import Read
from contextasm.text.exchange.json_formats import read_json_lines, read_mem0, read_memory_server
from contextasm.text.exchange.openclaw import read_openclaw


class ImportFormat(NamedTuple):
    """A format that memories are imported from."""

    read: Read
    folder_files: tuple[str, ...] = ()
    """Names of the files that are read of a folder, `*.md` for all such files; empty where a file must be named."""


IMPORT_FORMATS: Mapping[str, ImportFormat] = {
    "claude-code": ImportFormat(read_claude_code, ("*.md",)),
    "claude-export": ImportFormat(read_claude_export, ("memories.json",)),
    "mem0": ImportFormat(read_mem0),
    "memory-server": ImportFormat(read_memory_server),
    "openclaw": ImportFormat(read_openclaw, ("MEMORY.md", "USER.md")),
    "jsonl": ImportFormat(read_json_lines),
}
