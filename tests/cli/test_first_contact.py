"""First contact: help, usage errors, and how results look on a terminal."""

from __future__ import annotations

import io
import re
import sys
import threading
from pathlib import Path

import pytest

from contextasm.cli.command_line import COMMANDS, GROUPS
from contextasm.cli.output import progress_line
from tests.command import LUNA, SAMPLE, TIMEOUT, fill, inside, on_terminal

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.mark.parametrize("words", [(), ("help",), ("-h",), ("--help",)])
def test_the_command_alone_prints_help_and_ends_well(words: tuple[str, ...]) -> None:
    result = inside(*words)
    assert (result.code, result.err) == (0, "")
    places = [result.out.index(f"\n{heading}:") for heading in GROUPS]
    assert len(places) == 5
    assert places == sorted(places)
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", result.out[places[0] :], re.MULTILINE)
    assert listed == [*COMMANDS]
    assert listed[0] == "build"


@pytest.mark.parametrize("words", [("help", "build"), ("build", "-h"), ("build", "--help")])
def test_help_for_one_command_has_three_spellings(words: tuple[str, ...]) -> None:
    assert inside(*words) == inside("build", "--help")
    assert inside(*words).out.startswith("Usage: ctxasm build ")


@pytest.mark.parametrize("columns", [48, 60, 100])
def test_help_is_wrapped_at_the_width_of_the_terminal(columns: int) -> None:
    lines = on_terminal("explain", "--help", columns=columns).split("\n")
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("columns", [100, 140])
def test_a_table_breaks_no_word_where_it_has_room(columns: int) -> None:
    text = ESCAPES.sub("", on_terminal("explain", *LUNA, columns=columns, with_errors=True))
    assert "agents/luna/daily/2025-03-14.md:1 " in text
    table = text[: text.rindex(" of 16,000 tokens")]  # the receipt behind it is one line, however long
    assert max(map(len, table.split("\n"))) <= columns


@pytest.mark.parametrize("columns", [60, 110])
def test_search_wraps_texts_between_words_on_a_terminal(columns: int) -> None:
    found = on_terminal("search", "-w", str(SAMPLE), "-a", "luna", "-t", "q1", "bell", columns=columns)
    text = ESCAPES.sub("", found)
    assert max(map(len, text.split("\n"))) <= columns
    words = " ".join(text.split())
    assert "Teodor speaks Maren's name exactly once in the whole game, when the drowned bell rings" in words
    assert "agents/luna/memories/2025-02.md:27" in text


def test_check_groups_findings_by_file_on_a_terminal(tmp_path: Path) -> None:
    root = str(fill(tmp_path, {"agents/a/memories/m.md": "- [fact] One {importance=7}\n- [fact] Two {importance=8}\n"}))
    shown = on_terminal("check", "-w", root)
    assert "\x1b[" in shown
    assert ESCAPES.sub("", shown).count("agents/a/memories/m.md\n") == 1
    piped = inside("check", "-w", root).out
    assert piped.count("agents/a/memories/m.md:") == 2
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert on_terminal("check", "-w", root, env=env) == piped


def test_a_slow_build_shows_its_seconds_on_a_terminal_and_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, pipe, dumb = _Screen(), io.StringIO(), _Screen()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_line("building", after=0.02):
        assert screen.shown.wait(TIMEOUT)
    assert re.fullmatch(r"(\r\x1b\[Kctxasm: building \(\d+ s\))+\r\x1b\[K", screen.getvalue())
    for stream, term in ((pipe, "xterm-256color"), (dumb, "dumb"), (dumb, "")):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", term) if term else monkeypatch.delenv("TERM")
        with progress_line("building", after=0.0):
            pass
    assert (pipe.getvalue(), dumb.getvalue()) == ("", "")


class _Screen(io.StringIO):
    """A terminal that tells when something is on it."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.shown.set()
        return super().write(text)
