"""Which layers are locked, and how a build's files are compared with the approved ones."""

from pathlib import Path

import pytest

from contextasm.config.approval import refuse_document_drift
from contextasm.config.profiles.layers import with_layer_values
from contextasm.config.profiles.loader import load_profile, shipped
from contextasm.model import ContextasmError, Layer, Limits, Query
from contextasm.workspace.recording import ChangedInput, RecordingWorkspace, drift
from tests.workspaces import Content, Files, request

LOCKED = {
    "brain": ["project"],
    "default": ["L1", "L2"],
    "librarian": ["system", "rules"],
    "logseq": ["instructions"],
    "claude-memory": [],
    "codex-memory": [],
    "memory": [],
    "obsidian": ["instructions"],
    "openclaw-memory": [],
    "openclaw": ["soul", "identity", "agents", "bootstrap", "tools", "heartbeat"],
    "pack": ["project"],
    "query": [],
    "recall": ["L1", "L2"],
    "repo": ["instructions"],
}
"""Locked layers of each shipped profile."""


@pytest.mark.parametrize("name", shipped())
def test_each_shipped_profile_locks_the_texts_that_command(name: str) -> None:
    layers = load_profile(name, "tests", Path()).layers
    assert [layer.id for layer in layers if layer.instructs] == LOCKED[name]


@pytest.mark.parametrize(
    ("locked", "required", "sources", "expected"),
    [
        (None, True, ("document",), True),
        (None, True, ("recent",), False),
        (None, True, ("document", "recent"), False),
        (None, False, ("document",), False),
        (False, True, ("document",), False),
        (True, False, ("recent",), True),
    ],
)
def test_a_layer_is_locked_as_it_says_else_if_it_is_required_and_whole(
    locked: bool | None, required: bool, sources: tuple[str, ...], expected: bool
) -> None:
    assert Layer("x", query=Query(sources), limits=Limits(required), locked=locked).instructs is expected


def test_drift_is_in_path_order_with_its_kind() -> None:
    approved = {"a": "1", "b": "1", "d": "1", "e": "1"}
    found = drift(approved, {"d": "", "b": "2", "a": "1", "c": "1", "f": ""})
    assert found == [ChangedInput("b", "changed"), ChangedInput("c", "added"), ChangedInput("d", "gone")]


def refused(approved: dict[str, str], files: dict[str, Content], *, lists: bool) -> str:
    """The error for a layer of `m/*.md`, after a build that listed and read its files, or was too late for it."""
    recording = RecordingWorkspace(Files(files))
    for path in recording.list("m/*.md") if lists else ():
        recording.read(path)
    layer = with_layer_values(Layer("x"), {"path": ("m/*.md", "{open}"), "locked": True})
    try:
        refuse_document_drift(approved, [layer], request(open=("o.md",)), recording)
    except ContextasmError as error:
        return f"{error.where}: {error.what}"
    return ""


def test_a_layer_that_is_late_has_lost_no_file() -> None:
    approved = {"m/a.md": "1", "m/.b.md": "1", "m/n/c.md": "1", "o.md": "1"}
    assert refused(approved, {"o.md": "x"}, lists=False) == ""
    assert refused(approved, {"o.md": "x"}, lists=True) == "m/a.md: was reviewed, but is missing (ctxasm.lock)"


def test_a_file_that_can_not_be_read_is_not_as_approved() -> None:
    assert refused({"m/a.md": "1"}, {"m/a.md": b"\xff"}, lists=True).startswith("m/a.md: has changed since")
