"""What the README shows of the sample workspace is what the commands print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.command import ROOT, fill, inside

README = (ROOT / "README.md").read_text(encoding="utf-8")


MEMORIES = (ROOT / "docs/memories.md").read_text(encoding="utf-8")


def _shown_lines(page: str) -> dict[str, list[str]]:
    """The commands in blocks of a page, each with the lines that are shown below it."""
    shown: dict[str, list[str]] = {}
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            shown[command.partition("  #")[0]] = [line for line in lines if line != "..."]
    return shown


SHOWN = {command: lines for command, lines in _shown_lines(README).items() if "-w sample_workspace" in command}


def _assert_shown(command: str, lines: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
    """Run a command: it prints each of the lines, or what begins with them if they end in dots."""
    result = inside(*shlex.split(command)[1:], cwd=folder, env=env)
    printed = [" ".join(line.split()) for line in (result.out + result.err).splitlines()]
    assert not any("ctxasm: error" in line for line in printed)
    for shown in lines:
        words = " ".join(shown.removesuffix("...").split())
        assert any(line.startswith(words) for line in printed), (shown, printed)


@pytest.mark.parametrize("command", SHOWN)
def test_lines_that_are_shown_are_printed(command: str) -> None:
    _assert_shown(command, SHOWN[command], ROOT, {})


def test_the_life_of_a_memory_is_as_its_page_shows(tmp_path: Path) -> None:
    (own,) = re.findall(r"```md\n(.*?)```", MEMORIES, re.DOTALL)
    files = {"IDENTITY.md": "I am Luna.\n", "INSTRUCTIONS.md": "Write.\n", "memories/harbor.md": own}
    folder = fill(tmp_path, {f"agents/luna/{name}": text for name, text in files.items()}, base={})
    for command, lines in _shown_lines(MEMORIES).items():
        _assert_shown(command, lines, folder, {"CTXASM_DATE": "2025-03-14"})


def test_first_command_prints_what_is_shown() -> None:
    (words,) = re.findall(r"\.venv/bin/ctxasm (build .*)", README)
    result = inside(*shlex.split(words), cwd=ROOT)
    block = README.partition("## What comes out\n")[2].partition("```\n")[2].partition("```")[0]
    *document, receipt = [line for line in block.splitlines() if line not in {"", "[...]"}]
    assert result.err.splitlines()[-1] == receipt
    printed = iter(result.out.splitlines())
    for line in document:
        start = line.removesuffix("[...]")
        assert any(text == line or (start != line and text.startswith(start)) for text in printed), line


@pytest.mark.parametrize("page", sorted((ROOT / "docs/hosts").glob("*.md")), ids=lambda page: page.stem)
def test_our_commands_on_the_page_of_a_host_run(page: Path, tmp_path: Path) -> None:
    folder = fill(tmp_path, {})
    setup = page.read_text(encoding="utf-8").partition("```sh\n")[2].partition("```")[0]
    commands = [words.split() for words in re.findall(r"ctxasm ((?:hook|check) [\w -]+)", setup)]
    assert commands
    for words in commands:
        assert "ctxasm: error" not in inside(*words, cwd=folder).err


def test_blocks_are_found() -> None:
    assert [len(lines) > 0 for lines in SHOWN.values()] == [True] * 4
