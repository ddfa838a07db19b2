"""What commands print and write: `tests/cases/commands/*.md` holds lines of a shell, each with its output.

A case is a heading. It begins with the smallest workspace (`tests/command.py`) and with what its file does before its
first case. `$` begins a line: `write` makes a file of the lines of input after it, which begin with `<`; `ctxasm` is
the command; all else is for a shell. A line of output that begins with `!` is of standard error, `[2]` is the exit
code, and `[wrote FILE]` a change in the workspace outside of `.ctxasm` and `.tidy`. In `typed.md`, of a long
output only the beginning and the end are held. `UPDATE_CASES=1 pytest
tests/cli/test_transcripts.py` writes what is printed now.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.command import CASES, SAMPLE, clean, fill, inside

STEP = re.compile(
    r"^    \$ (?P<line>.*)\n(?P<input>(?:    <(?: .*)?\n)*)(?P<output>(?:\n*    (?!\$ ).*\n)*)", re.MULTILINE
)
COMMAND = re.compile(r"(?:cd (?P<folder>\S+) && )?(?P<env>(?:[A-Z_]+=\S* )*)ctxasm(?: (?P<words>.*))?")
G = ("g", r"\u{67}")
"""The first letter of a token, and how the files have it: so that nothing that looks for secrets takes them for one."""
MOST_LINES = 6
"""Lines of an output that are held whole in `typed.md`."""

FILES = [*(CASES / "commands").glob("*.md")]
TITLES = [(file, title) for file in FILES for title in re.findall(r"(?m)^## (.*)\n", file.read_text())]


def written(folder: Path) -> dict[str, bytes]:
    """The files of a workspace, without what commands keep for themselves."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = {*folders} - {".ctxasm", ".tidy"}
        for path in (f"{place}/{name}" for name in names):
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    found[path[len(str(folder)) + 1 :]] = file.read()
    return found


def ran(folder: Path, match: re.Match[str], stdin: str | None) -> Iterator[str]:
    """The lines that a line with the command shows."""
    before = written(folder)
    places = {"$DIR": str(folder), "$SAMPLE": str(SAMPLE)}
    line = re.sub(r"\$DIR|\$SAMPLE", lambda name: places[name[0]], match["words"] or "")
    env = dict(each.split("=", 1) for each in shlex.split(match["env"]))
    result = inside(*shlex.split(line), cwd=folder / (match["folder"] or ""), env=env, stdin=stdin)
    yield from result.out.splitlines()
    yield from (f"! {line}" for line in result.err.splitlines())
    after = written(folder)
    yield from (f"[wrote {name}]" for name in sorted(after) if before.get(name) != after[name])
    yield from (f"[removed {name}]" for name in sorted(before.keys() - after.keys()))
    if result.code:
        yield f"[{result.code}]"


def shown(folder: Path, line: str, stdin: str | None) -> Sequence[str]:
    """The lines that a line shows."""
    if match := COMMAND.fullmatch(line):
        return [*ran(folder, match, stdin)]
    if line.startswith("write "):
        fill(folder, {line.removeprefix("write "): stdin or ""}, base={})
        return []
    done = subprocess.run(
        ["sh", "-ec", line],
        cwd=folder,
        env=clean({"SAMPLE": str(SAMPLE)}),
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def answered(folder: Path, step: re.Match[str], *, brief: bool = False) -> str:
    """A step with what it shows now."""
    given = "".join(f"{line[5:].removeprefix(' ')}\n" for line in step["input"].replace(G[1], G[0]).splitlines())
    lines = shown(folder, step["line"].replace(G[1], G[0]), given if step["input"] else None)
    if brief and len(lines) > MOST_LINES:
        told = [line for line in lines[:-1] if line.startswith(("! ", "["))][-MOST_LINES:]
        lines = [lines[0], f"[{len(lines) - len(told) - 2} lines]", *told, lines[-1]]
    text = "\n".join(lines).rstrip("\n").replace(str(folder), "$DIR").replace(str(folder.parent), "$DIR/..")
    text = re.sub(f"{G[0]}(?=hp_[A-Za-z0-9]{{8}})", lambda _: G[1], text)
    output = "".join(f"    {line}".rstrip(" ") + "\n" for line in text.split("\n")) if text else ""
    return f"    $ {step['line']}\n{step['input']}{output}"


@pytest.mark.parametrize(("file", "title"), TITLES, ids=[f"{file.stem}: {title}" for file, title in TITLES])
def test_commands_print_and_write_what_the_case_shows(tmp_path: Path, file: Path, title: str) -> None:
    text = file.read_text()
    introduction = text.partition("\n## ")[0]
    case = re.split(r"(?m)^## ", text[text.index(f"\n## {title}\n") + 4 :])[0]
    folder = fill(tmp_path / "ws", {})
    for step in STEP.finditer(introduction):
        answered(folder, step)
    now = STEP.sub(lambda step: answered(folder, step, brief=file.stem == "typed"), case)
    if os.environ.get("UPDATE_CASES"):
        file.write_text(text.replace(case, now))
    else:
        assert now == case
