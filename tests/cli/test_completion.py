"""Completion: commands, flags and values are offered, and each shell takes them from the script of `completion`."""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from contextasm.cli.command_line import COMMANDS
from contextasm.cli.typer_commands import group
from tests.command import TIMEOUT, clean, fill, inside

SHELLS = ("bash", "zsh", "fish")

BASH = """\
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_ctxasm_completion ctxasm
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""The steps of bash at a TAB: the words typed so far, the last of them unfinished."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    identity = {f"agents/{name}/IDENTITY.md": "I am here.\n" for name in ("luna", "lukas")}
    (tmp_path / "w" / "below").mkdir(parents=True)
    return fill(tmp_path / "w", {**identity, "teams/q1/GOALS.md": "Goals.\n"}, base={})


def complete(*words: str, cwd: Path | str = "/") -> list[str]:
    """The completions of a command line whose last word is unfinished, as bash asks for them."""
    asked = {"COMP_WORDS": "\n".join(("ctxasm", *words)), "COMP_CWORD": str(len(words))}
    result = inside(cwd=cwd, env={"_CTXASM_COMPLETE": "complete_bash", **asked})
    assert result.err == ""
    return [line for line in result.out.split("\n") if line]


def test_every_command_is_offered() -> None:
    assert complete("") == [*COMMANDS]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_is_offered(command: str) -> None:
    parameters = group().get_command(None, command).params
    names = [name for option in parameters if option.param_type_name == "option" for name in option.opts]
    assert set(complete(command, "--")) == {name for name in (*names, "--help") if name.startswith("--")}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("pl",), ["plan"]),
        (("build", "--strict", "--a"), ["--agent", "--active-file", "--additional", "--audience"]),
        (("build", "-f", "m"), ["markdown", "messages"]),
        (("check", "-f", "s"), ["sarif"]),
        (("explain", "-a", "lu"), ["lukas", "luna"]),
        (("log", "-a", "lun"), ["luna"]),
        (("plan", "--team", ""), ["q1"]),
        (("build", "-p", "de"), ["default"]),
        (("plan", "--audience", "s"), ["shared"]),
        (("profiles", "de"), ["default"]),
        (("config", "--tokenizer", "o"), ["o200k_base"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("build", "--topic", ""), []),
        (("init", "--agent", "l"), []),
    ],
    ids=" ".join,
)
def test_the_values_of_a_flag_are_offered(workspace: Path, words: tuple[str, ...], offered: list[str]) -> None:
    assert complete(*words, cwd=workspace / "below") == offered


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("rules", ""), ["list", "eval"]),
        (("task", "p"), ["push", "pop", "park"]),
        (("build", "--agent=lun"), ["luna"]),
    ],
    ids=" ".join,
)
def test_the_words_behind_a_command_are_offered(workspace: Path, words: tuple[str, ...], offered: list[str]) -> None:
    assert complete(*words, cwd=workspace) == offered


def test_records_are_offered_where_a_command_takes_one(workspace: Path) -> None:
    fill(workspace, {"agents/luna/INSTRUCTIONS.md": "Do it.\n"}, base={})
    assert inside("build", "-a", "luna", "--record", "-q", cwd=workspace).code == 0
    (record,) = (workspace / ".ctxasm" / "records").glob("*.json")
    for words in (("replay",), ("explain",), ("diff",), ("diff", "HEAD")):
        assert complete(*words, record.stem[:3], cwd=workspace) == [record.stem]


def test_names_are_those_of_the_workspace_on_the_line(workspace: Path) -> None:
    assert complete("build", "-w", str(workspace), "-a", "") == ["lukas", "luna"]
    assert complete("build", "--workspace", str(workspace), "-t", "") == ["q1"]


@pytest.mark.parametrize("folder", ["nowhere", "w/teams/q1/GOALS.md", "loop", ""])
def test_a_broken_workspace_offers_nothing(tmp_path: Path, workspace: Path, folder: str) -> None:
    (workspace.parent / "loop").symlink_to("loop")
    assert complete("build", "-w", str(tmp_path / folder), "-a", "") == []


def test_mistakes_in_the_settings_do_not_matter(workspace: Path) -> None:
    (workspace / "ctxasm.yaml").write_text("agents: [\n", encoding="utf-8")
    assert complete("build", "-a", "", cwd=workspace) == ["lukas", "luna"]


# Real shells. The program that they find logs its words, unless it is asked for completions.


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "ctxasm"
    log = shlex.quote(str(tmp_path / "log"))
    program.write_text(
        f'#!/bin/sh\n[ "$_CTXASM_COMPLETE" ] || {{ echo "$@" > {log}.part; exec mv {log}.part {log}; }}\n'
        f'exec {shlex.quote(sys.executable)} -P -m contextasm "$@"\n'
    )
    program.chmod(0o755)
    return folder


def script(shell: str, folder: Path) -> Path:
    """The file of a shell's script. Skips the test where the shell is missing."""
    if not shutil.which(shell, path=os.defpath):
        pytest.skip(f"{shell} is not installed")
    result = inside("completion", shell)
    assert (result.code, result.err) == (0, "")
    path = folder / f"script.{shell}"
    path.write_text(result.out, encoding="utf-8")
    return path


def output(words: Sequence[str | Path], cwd: Path, bin_folder: Path) -> str:
    """The standard output of a program that sees `ctxasm`; its standard error is empty."""
    env = clean({"PATH": f"{bin_folder}:{os.defpath}"})
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_can_read_its_script(shell: str, tmp_path: Path, bin_folder: Path) -> None:
    assert output([shell, "-n", script(shell, tmp_path)], tmp_path, bin_folder) == ""


def test_bash_completes(workspace: Path, tmp_path: Path, bin_folder: Path) -> None:
    words: list[str | Path] = ["bash", "-uc", BASH, "bash", script("bash", tmp_path), "ctxasm"]
    assert output([*words, "pl"], workspace, bin_folder) == "plan\n"
    assert output([*words, "build", "-a", "lu"], workspace, bin_folder) == "lukas\nluna\n"


def test_fish_completes(workspace: Path, tmp_path: Path, bin_folder: Path) -> None:
    line = f"source {shlex.quote(str(script('fish', tmp_path)))}; complete -C $argv[1]"
    words: list[str | Path] = ["fish", "--no-config", "-c", line]
    assert output([*words, "ctxasm pl"], workspace, bin_folder).split("\t")[0] == "plan"
    assert output([*words, "ctxasm build -a lu"], workspace, bin_folder) == "lukas\nluna\n"


def test_zsh_completes(workspace: Path, tmp_path: Path, bin_folder: Path) -> None:
    path = script("zsh", tmp_path)
    env = clean({"PATH": f"{bin_folder}:{os.defpath}", "TERM": "dumb"})
    ours, theirs = pty.openpty()
    words = ["zsh", "-f", "-i"]
    with subprocess.Popen(
        words, cwd=workspace, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as zsh:
        os.close(theirs)
        os.write(ours, f"autoload -Uz compinit; compinit -D -u; source {shlex.quote(str(path))}\n".encode())
        os.write(ours, b"ctxasm expl\t-a lun\t\n")
        log, end = tmp_path / "log", time.monotonic() + TIMEOUT
        while not log.exists() and time.monotonic() < end:
            time.sleep(0.05)
        zsh.kill()
    os.close(ours)
    assert log.read_text(encoding="utf-8") == "explain -a luna\n"
