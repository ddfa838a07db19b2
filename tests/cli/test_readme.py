"""The first command of the README prints what is shown, and the commands on the page of a host run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.command import ROOT, fill, inside

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_first_command_prints_what_is_shown() -> None:
    (words,) = re.findall(r"\.venv/bin/ctxasm (build .*)", README)
    result = inside(*shlex.split(words), cwd=ROOT)
    block = README.partition("## What comes out\n")[2].partition("```text\n")[2].partition("```")[0]
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
