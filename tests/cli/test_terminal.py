"""Lists on a terminal with colour."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.command import on_terminal


@pytest.mark.parametrize(("words", "code"), [("memory list", 0), ("store status --offline", 1)])
def test_a_list_shows_no_remains_of_codes(words: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "ctxasm.yaml").write_text("memories: {store: postgresql://db.example/agents, owners: [teams/q1]}\n")
    (tmp_path / "agents/a/memories").mkdir(parents=True)
    (tmp_path / "agents/a/IDENTITY.md").write_text("I am A.\n")
    (tmp_path / "agents/a/memories/m.md").write_text("- [fact] A note\n")
    out = on_terminal(*words.split(), "-w", tmp_path, columns=120, code=code)
    assert "\x1b[" in out
    assert not re.search(r"(?<!\x1b)\[[\d;]*m", out)
