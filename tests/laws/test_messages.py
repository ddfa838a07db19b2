"""Messages have one line each, whatever the folder is called: a line of its own could be a command for a CI system."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import copytree

import pytest

from tests.command import SAMPLE, Result, fill, inside

NAMES = ("a\n::error::x\r\n##[error]x", "a\x1b[31m\u202e\u2028b\tc\x85d")
"""Names of folders that would end a line, act on a terminal, or turn the order of the letters."""

LUNA = ("-a", "luna", "-t", "q1")

LINES: tuple[tuple[str, ...], ...] = (
    *(("build", *LUNA, "-v", "--explain", "-o", "{folder}/OUT.md"), ("build", *LUNA, "-o", "{folder}/OUT.md")),
    *(("build", *LUNA, "-o", "{folder}/STALE.md", "--check"), ("build", *LUNA, "--into", "{folder}/BLOCK.md")),
    *(("build", "-w", "{folder}/none"), ("build", *LUNA, "-p", "{folder}/none.yaml"), ("build", *LUNA, "--record")),
    *(("build", *LUNA, "--manifest", "{folder}/none/m"), ("build", *LUNA, "--metrics", "{folder}/m.prom")),
    ("build", *LUNA, "-o", "{folder}/agents/luna/IDENTITY.md"),
    *(("explain", *LUNA), ("explain", *LUNA, "--html", "{folder}/page.html"), ("explain", "--host", "codex")),
    *(("explain", "{record}"), ("replay", "{record}"), ("diff", "{record}", *LUNA), ("diff", "HEAD", *LUNA)),
    *(("diff", "{record}", *LUNA, "--html", "{folder}/page.html"), ("plan", *LUNA), ("stats", *LUNA)),
    *(("check",), ("check", "--host", "codex"), ("check", "--host", "claude-code"), ("check", "{folder}/agents")),
    *(("check", "--baseline", "{folder}/b.json", "--update-baseline"), ("check", "--baseline", "{folder}/b.json")),
    *(("check", "--format", "github"), ("check", "--staged"), ("lock",), ("config", "--origin", *LUNA), ("rules",)),
    *(("search", *LUNA, "demo date"), ("search", "--archive", "demo"), ("remember", "-a", "luna", "A"), ("tidy",)),
    *(("tidy", "--apply", "--all"), ("tidy", "--undo"), ("task", "push", "A goal"), ("task", "show")),
    *(("import", "jsonl", "{folder}/none", "-a", "luna"), ("export", "-a", "luna", "-o", "{folder}/e.jsonl")),
    *(("export", "-a", "luna", "-f", "okf", "-o", "{folder}/okf"), ("feedback", "{record}", "--missing", "A")),
    *(("init", "{folder}/new"), ("init", "{folder}/new"), ("hook", "--print-config", "claude-code")),
)
"""Command lines, one after the other in one copy of the sample; `{folder}` is its path."""


def results(folder: Path) -> list[Result]:
    copytree(SAMPLE, folder)
    fill(folder, {"STALE.md": "Old\n"}, base={})
    inside("build", *LUNA, "--record", "-o", os.devnull, cwd=folder)
    (record,) = (folder / ".ctxasm" / "records").glob("*.json")
    return [inside(*(word.format(folder=folder, record=record) for word in line), cwd=folder) for line in LINES]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """What the lines come to in a folder with an ordinary name."""
    return results(tmp_path_factory.mktemp("names") / "plain")


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_folder_adds_no_line(tmp_path: Path, plain: list[Result], name: str) -> None:
    hostile = results(tmp_path / name)
    for words, usual, result in zip(LINES, plain, hostile, strict=True):
        assert result.code == usual.code, (words, result.err)
        assert result.err.count("\n") == usual.err.count("\n"), (words, result.err)
        assert result.out.count("\n") == usual.out.count("\n") or words[0] == "diff", (words, result.out)
        for line in (result.err + result.out).splitlines():
            assert not line.lstrip("\\ ").startswith(("::", "##[")) or words[-1] == "github", (words, line)
            assert not {"\x1b", "\u202e", "\u2028", "\x85", "\r"} & {*line}, (words, line)
