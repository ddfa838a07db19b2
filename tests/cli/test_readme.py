"""What the README shows of the sample workspace is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.command import ROOT, fill, inside

README = (ROOT / "README.md").read_text(encoding="utf-8")


def _shown_lines() -> dict[str, list[str]]:
    """The commands on the sample workspace in blocks of the README, each with the lines that are shown below it."""
    shown: dict[str, list[str]] = {}
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            if "-w sample_workspace" in command:
                shown[command.partition("  #")[0]] = [line for line in lines if line != "..."]
    return shown


SHOWN = _shown_lines()


@pytest.mark.parametrize("command", SHOWN)
def test_lines_that_are_shown_are_printed(command: str) -> None:
    result = inside(*shlex.split(command)[1:], cwd=ROOT)
    printed = [" ".join(line.split()) for line in (result.out + result.err).splitlines()]
    for shown in SHOWN[command]:
        words = " ".join(shown.removesuffix("...").split())
        assert any(line.startswith(words) for line in printed), shown


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
