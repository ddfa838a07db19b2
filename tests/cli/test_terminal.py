"""What a terminal with colour shows beyond what goes into a pipe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.command import LUNA, inside, on_terminal


def terminal(*words: str | Path, columns: int, env: dict[str, str] | None = None) -> str:
    """What the command shows, without the codes of colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", on_terminal(*words, columns=columns, env=env))


def test_explain_shows_the_beginning_of_each_text_on_a_wide_terminal() -> None:
    wide = terminal("explain", *LUNA, columns=160)
    assert wide.split("\n")[1].split()[-1] == "text"
    assert "You are Luna, the creative writer" in wide
    assert max(map(len, wide.split("\n"))) <= 160
    assert "You are Luna" not in terminal("explain", *LUNA, columns=120)
    assert "You are Luna" not in inside("explain", *LUNA).out


def test_wide_letters_take_two_cells_of_a_column() -> None:
    lines = terminal("explain", *LUNA, columns=180).split("\n")
    japanese = [line for line in lines if re.search("[\u3040-\u30ff\u4e00-\u9fff]", line)]
    assert japanese
    assert all(line.startswith(" L") for line in japanese), "no beginning of a text is wrapped"
    assert max(map(cell_len, lines)) <= 180


@pytest.mark.parametrize(("words", "code"), [("memory list", 0), ("store status --offline", 1)])
def test_a_list_shows_no_remains_of_codes(words: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "ctxasm.yaml").write_text("memories: {store: postgresql://db.example/agents, owners: [teams/q1]}\n")
    (tmp_path / "agents/a/memories").mkdir(parents=True)
    (tmp_path / "agents/a/IDENTITY.md").write_text("I am A.\n")
    (tmp_path / "agents/a/memories/m.md").write_text("- [fact] A note\n")
    out = on_terminal(*words.split(), "-w", tmp_path, columns=120, code=code)
    assert "\x1b[" in out
    assert not re.search(r"(?<!\x1b)\[[\d;]*m", out)
