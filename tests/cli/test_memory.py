"""`ctxasm memory`: the steps of a memory's life, those that are refused, and the bytes that stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import fill, inside, refused

FILE = "agents/a/memories/m.md"
TEXT = "# List\r\n\r\n<!-- ours -->\r\n* [decision] One {id=one}\r\n- Two {id=two importance=0.4}\r\n"


def status_of(root: Path, name: str) -> str:
    done = inside("show", name, "-w", root, "--json")
    (memory,) = json.loads(done.out)["memories"]
    return str(memory["status"])


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
        ("approve", "draft", "approved"),
        ("approve", "review", "approved"),
        ("deprecate", "approved", "deprecated"),
        ("deprecate", "active", "deprecated"),
        ("complete", "active", "completed"),
        ("complete", "approved", "completed"),
    ],
)
def test_row_125_the_steps_of_a_memory(tmp_path: Path, action: str, before: str, after: str) -> None:
    """Row 125: draft, approved, deprecated; and only that field of that line changes."""
    text = TEXT.replace("id=two", f"id=two status={before}")
    fill(tmp_path, {FILE: text})
    done = inside("memory", action, "two", "-w", tmp_path)
    assert (done.code, done.out) == (0, f"{after} two {FILE}:5 ({before} before)\n")
    assert (tmp_path / FILE).read_bytes().decode() == text.replace(before, after)


@pytest.mark.parametrize(
    ("action", "before"),
    [
        ("approve", "deprecated"),
        ("approve", "completed"),
        ("approve", "superseded"),
        ("deprecate", "draft"),
        ("deprecate", "archived"),
        ("complete", "draft"),
        ("complete", "deprecated"),
    ],
)
def test_row_125_other_steps_are_refused(tmp_path: Path, action: str, before: str) -> None:
    """Row 125: with exit code 1, and none of the memories that are named changes."""
    text = TEXT.replace("id=two", f"id=two status={before}").replace("id=one", "id=one status=approved")
    fill(tmp_path, {FILE: text})
    refused(inside("memory", action, "one", "two", "-w", tmp_path), "two", before, "nothing has been changed", code=1)
    assert (tmp_path / FILE).read_bytes().decode() == text


def test_a_memory_that_is_in_that_state_already_is_told(tmp_path: Path) -> None:
    fill(tmp_path, {FILE: TEXT})
    before = (tmp_path / FILE).stat()
    done = inside("memory", "approve", "one", "-w", tmp_path)
    assert (done.code, done.out) == (0, f"unchanged one {FILE}:4 (active already)\n")
    assert inside("memory", "approve", "one", "-w", tmp_path, "-q").out == ""
    assert (tmp_path / FILE).stat().st_mtime_ns == before.st_mtime_ns


def test_an_unknown_id_is_refused_with_the_nearest(tmp_path: Path) -> None:
    fill(tmp_path, {FILE: TEXT})
    refused(
        inside("memory", "deprecate", "two", "onne", "-w", tmp_path), "there is no memory onne", "did you mean one?"
    )
    assert status_of(tmp_path, "two") == "active"
    refused(inside("memory", "retire", "one", "-w", tmp_path), "unknown action retire")


def test_an_id_of_two_owners_needs_one_of_them(tmp_path: Path) -> None:
    fill(tmp_path, {FILE: TEXT, "teams/t/memories/n.md": "- T {id=one}\n"})
    refused(inside("memory", "deprecate", "one", "-w", tmp_path), f"{FILE}:4", "teams/t/memories/n.md:1", "-t NAME")
    assert inside("memory", "deprecate", "one", "-w", tmp_path, "-t", "t").code == 0
    assert (tmp_path / FILE).read_bytes().decode() == TEXT
    assert (tmp_path / "teams/t/memories/n.md").read_text() == "- T {id=one status=deprecated}\n"


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


def test_a_deprecated_memory_is_no_longer_shown(tmp_path: Path) -> None:
    fill(tmp_path, {FILE: TEXT})
    assert "Two" in inside("build", "-a", "a", "-w", tmp_path).out
    inside("memory", "deprecate", "two", "-w", tmp_path)
    assert "Two" not in inside("build", "-a", "a", "-w", tmp_path).out
    assert "is deprecated" in inside("tidy", "-w", tmp_path).out
