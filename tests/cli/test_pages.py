"""README.md and the pages below docs/: their code blocks work, and their links lead somewhere.

The blocks of a page have one folder, in which commands run one after another. Files of that folder are blocks below a
line that ends in the path, in backticks and with a colon or without, and comments of the form
`<!-- file PATH: TEXT -->`. If a page names `sample_workspace`, a copy of it is there, too.

- `console`: each line after `$` runs, and prints lines that begin with the lines below it, in this order. Three dots
  stand for what is not shown.
- `sh`: each command line of `ctxasm` in it can be parsed. In the backticks of a text, commands and flags exist.
- `yaml`: it can be read as the settings, the profile or the rules that it is.
- `python`: it runs next to the sample workspace.

The comment `<!-- not run: REASON -->` above a block says why none of this is done, and
`<!-- held by: tests/FILE.py -->` which other test reads it; below the title of a page it speaks of all its blocks.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from contextasm.cli.command_line import COMMANDS, load_command
from contextasm.cli.typer_commands import group
from contextasm.config.input.settings import FILE_KEYS
from contextasm.config.input.yaml_loader import load_yaml
from tests.command import ROOT, SAMPLE, clean, fill, inside

PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
"""The text of each page by its path."""

_FENCE = re.compile(r" *```(\w*)")
_MARK = re.compile(r"<!-- (not run|held by): (\S.*) -->")
_PATH_ABOVE = re.compile(r"`([\w./-]+\.\w+)`:?$")
_HIDDEN_FILE = re.compile(r"<!-- file ([\w./-]+): (.*?) -->", re.DOTALL)
_COMMAND = re.compile(
    r"""(?:^\ *|[|&;(]\ *|\bexec\ |\ --\ )(?:[A-Z_]+=\S*\ )*ctxasm\ (.*)""", re.MULTILINE | re.VERBOSE
)


class Block(NamedTuple):
    """A code block of a page."""

    page: str
    line: int
    language: str
    text: str
    path: str
    """The path that the line above names; empty for none."""
    mark: str
    """`not run` or `held by`, if a comment above says so; empty for none."""
    reason: str


def _blocks(page: str) -> Iterator[Block]:
    """The code blocks of a page."""
    lines = PAGES[page].splitlines()
    whole = next(filter(None, map(_MARK.fullmatch, lines[1:4])), None)
    above = ["", ""]
    numbers = iter(range(len(lines)))
    for number in numbers:
        if not (fence := _FENCE.fullmatch(lines[number])):
            above = [*above[-1:], lines[number].strip()] if lines[number].strip() else above
            continue
        indent = len(lines[number]) - len(lines[number].lstrip())
        end = next(index for index in numbers if lines[index].strip() == "```")
        text = "".join(f"{line[indent:]}\n" for line in lines[number + 1 : end])
        mark = _MARK.fullmatch(above[-1])
        path = _PATH_ABOVE.search(above[-2 if mark else -1])
        kind, reason = (mark or whole).groups() if mark or whole else ("", "")  # type: ignore[union-attr]
        yield Block(page, number + 1, fence[1], text, path[1] if path else "", kind, reason)


BLOCKS = [block for page in PAGES for block in _blocks(page)]


def _of(*languages: str) -> list[object]:
    """The blocks of some languages that no comment excepts, as parameters of a test."""
    return [
        pytest.param(block, id=f"{block.page}:{block.line}")
        for block in BLOCKS
        if block.language in languages and not block.mark
    ]


RUN = {"console", "sh", "yaml", "python"}
"""Languages of blocks that the tests below run or read."""

SHOWN = {"text", "md", "json", "sql"}
"""Languages of blocks that are only shown."""


def test_every_block_is_run_or_only_shown_or_says_why_not() -> None:
    unknown = [block for block in BLOCKS if block.language not in RUN | SHOWN and not block.mark]
    assert [f"{block.page}:{block.line}: {block.language or 'no language'}" for block in unknown] == []


def test_what_is_held_by_another_test_is_named_there() -> None:
    held = {(block.page, block.reason) for block in BLOCKS if block.mark == "held by"}
    assert held
    assert [
        (page, test) for page, test in sorted(held) if Path(page).name not in (ROOT / test).read_text("utf-8")
    ] == []


# --- What runs -------------------------------------------------------------------------------------------------------


def _folder(page: str, folder: Path) -> Path:
    """A folder with the files that a page shows."""
    shown = {
        block.path: block.text for block in BLOCKS if block.page == page and block.path and block.language != "console"
    }
    hidden = {path: f"{text}\n" for path, text in _HIDDEN_FILE.findall(PAGES[page])}
    if "sample_workspace" in PAGES[page]:
        shutil.copytree(SAMPLE, folder / "sample_workspace")
    return fill(folder, {**hidden, **shown}, base={})


def _printed(line: str, folder: Path) -> str:
    """What a line prints: a command of `ctxasm` runs in this process, all else in a shell."""
    if re.match(r"ctxasm [^|>&;`]*$", line):
        result = inside(*shlex.split(line, comments=True)[1:], cwd=folder)
        return result.out + result.err
    env = {**clean(), "PATH": f"{Path(sys.executable).parent}:{clean()['PATH']}"}
    done = subprocess.run(["sh", "-c", line], cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "page", sorted({block.page for block in BLOCKS if block.language == "console" and not block.mark})
)
def test_commands_print_the_lines_that_are_shown(tmp_path: Path, page: str) -> None:
    folder = _folder(page, tmp_path)
    for block in BLOCKS:
        if block.page != page or block.language != "console" or block.mark:
            continue
        for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, *lines = step.splitlines()
            if command.startswith("cd "):
                folder /= command[3:]
                continue
            printed = iter([" ".join(line.split()) for line in _printed(command, folder).splitlines()])
            for shown in (line for line in lines if line not in {"...", ""}):
                words = " ".join(shown.removesuffix("...").split())
                assert any(line.startswith(words) for line in printed), f"{page}:{block.line}: {command}: {shown}"


def _command_lines(text: str) -> Iterator[tuple[str, ...]]:
    """The words after `ctxasm` of each command line in a text for a shell."""
    for match in _COMMAND.finditer(text.replace("\\\n", " ")):
        words = shlex.shlex(match[1], posix=True, punctuation_chars=True)
        words.whitespace_split = True
        yield tuple(_until_punctuation(words))


def _until_punctuation(words: Iterator[str]) -> Iterator[str]:
    for word in words:
        if {*word} <= {*"();<>|&"}:
            return
        yield word


def _refusal(words: Sequence[str]) -> str:
    """Why a command line can't be parsed; empty if it can."""
    name, *rest = words or ("--help",)
    if name in {"help", "--version", "--help", "-h"}:
        return ""
    if name not in COMMANDS:
        return f"there is no command {name}"
    if load_command(name).read(rest) is None:
        try:
            group().get_command(None, name).make_context(name, list(rest))
        except typer.Exit:
            pass
        except Exception as error:  # noqa: BLE001 - whatever typer raises is the answer
            return f"{name}: {error}"
    return ""


@pytest.mark.parametrize("block", _of("sh"))
def test_commands_to_copy_can_be_parsed(block: Block) -> None:
    lines = [*_command_lines(block.text)]
    assert [why for words in lines if (why := _refusal(words))] == []
    assert lines or not re.search("^ctxasm ", block.text, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_flags_in_a_text_exist(page: str) -> None:
    text = re.sub(r"^ *```.*?^ *```$", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    for span in re.findall(r"`(ctxasm [a-z][^`]*)`", text):
        name, *words = next(_command_lines(span.replace("\n", " ")))
        assert name in {*COMMANDS, "help"}, span
        flags = {flag for each in load_command(name).parameters for flag in each.names} if name in COMMANDS else set()
        assert [word for word in words if re.fullmatch("--[a-z-]+", word) and word not in {*flags, "--help"}] == [], (
            span
        )


# --- What is read ----------------------------------------------------------------------------------------------------


def _kind(value: object) -> str:
    """Which file of a workspace a block of YAML is."""
    first = value[0] if isinstance(value, list) else value
    assert isinstance(first, dict)
    keys = {*first}
    if keys & {"when", "then"}:
        return "rules/page.yaml"
    if keys & {"extends", "summary"}:
        return "page.yaml"
    assert keys <= {*FILE_KEYS}, f"{keys}: neither settings nor a profile nor rules: say with a comment what it is"
    return "ctxasm.yaml"


@pytest.mark.parametrize("block", _of("yaml"))
def test_settings_profiles_and_rules_can_be_read(tmp_path: Path, block: Block) -> None:
    path = _kind(load_yaml(block.text, block.path))
    folder = fill(tmp_path, {path: block.text})
    words = {"rules/page.yaml": ["rules"], "page.yaml": ["config", "-p", "./page.yaml"], "ctxasm.yaml": ["config"]}[
        path
    ]
    assert inside(*words, cwd=folder).err == ""


@pytest.mark.parametrize("block", _of("python"))
def test_programs_run(block: Block) -> None:
    with chdir(ROOT), redirect_stdout(StringIO()) as printed:
        exec(compile(block.text, block.page, "exec"), {})  # noqa: S102 - it is ours
    assert printed.getvalue()


# --- Links -----------------------------------------------------------------------------------------------------------


def _anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", heading.lower())) for heading in headings}


LINKING = {
    **PAGES,
    **{name: (ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "RELEASE-CHECKLIST.md")},
}


@pytest.mark.parametrize("page", LINKING)
def test_links_lead_somewhere(page: str) -> None:
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", LINKING[page]):
        path, _, anchor = link.partition("#")
        if ":" in path:
            continue
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in _anchors(target.read_text(encoding="utf-8"))):
            lost.append(link)
    assert lost == []
