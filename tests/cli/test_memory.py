"""`ctxasm memory`: the steps of a memory's life, those that are refused, and the bytes that stay."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command import fill, inside

FILE = "agents/a/memories/m.md"
TEXT = "# List\r\n\r\n<!-- ours -->\r\n* [decision] One {id=one}\r\n- Two {id=two importance=0.4}\r\n"


def test_a_memory_that_is_in_that_state_already_is_told(tmp_path: Path) -> None:
    fill(tmp_path, {FILE: TEXT})
    before = (tmp_path / FILE).stat()
    done = inside("memory", "approve", "one", "-w", tmp_path)
    assert (done.code, done.out) == (0, f"unchanged one {FILE}:4 (already active)\n")
    assert inside("memory", "approve", "one", "-w", tmp_path, "-q").out == ""
    assert (tmp_path / FILE).stat().st_mtime_ns == before.st_mtime_ns


def test_several_memories_and_json(tmp_path: Path) -> None:
    fill(tmp_path, {FILE: TEXT, "agents/a/memories/w.md": "---\ntype: fact\nid: w\n---\nWhole\n"})
    done = inside("memory", "complete", "one", "w", "one", "-w", tmp_path, "--json")
    data = json.loads(done.out)
    assert data["schema"] == "ctxasm.memory-status/1"
    found = [(memory["id"], memory["status_before"], memory["status"]) for memory in data["memories"]]
    assert found == [("one", "active", "completed"), ("w", "active", "completed")]
    assert (
        tmp_path / "agents/a/memories/w.md"
    ).read_text() == "---\ntype: fact\nid: w\nstatus: completed\n---\nWhole\n"
