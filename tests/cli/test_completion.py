"""Completion scripts: nothing of the command line is missing, and each shell can read its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from contextasm.cli.app import COMMANDS, run
from contextasm.cli.commands.completion import SHELLS, Command, commands

EVERY = list(commands())

ASK = """\
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_ctxasm
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""What bash does on a tab: the words typed so far, the last of them unfinished."""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with two agents and a team, seen from a folder below it."""
    for folder in ("agents/luna", "agents/lukas", "teams/q 1", "below"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.delenv("CTXASM_WORKSPACE", raising=False)
    return tmp_path


def complete(folder: Path, *words: str) -> list[str]:
    """What bash offers behind these words."""
    script = folder / "script.bash"
    script.write_text(SHELLS["bash"](EVERY), encoding="utf-8")
    asked = ["bash", "-uc", ASK, "bash", str(script), "ctxasm", *words]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.split("\n") if line]


def test_every_command_of_the_table_is_there() -> None:
    """The walk over the command line finds what `--help` lists."""
    assert [each.name for each in EVERY] == ["", *COMMANDS]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("command", EVERY, ids=[each.name or "ctxasm" for each in EVERY])
def test_each_script_names_every_command_and_flag(shell: str, command: Command) -> None:
    """Fish writes flags without their dashes."""
    script = SHELLS[shell](EVERY)
    assert command.name in script
    for flag in command.flags:
        for name in flag.names:
            written = name if shell != "fish" else f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            assert written in script, f"{command.name} {name}"


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_can_read_its_script(shell: str, tmp_path: Path) -> None:
    """No syntax error, by the shell itself."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / shell
    script.write_text(SHELLS[shell](EVERY), encoding="utf-8")
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("pl",), ["plan"]),
        (("build", "--strict", "--a"), ["--agent", "--active-file", "--additional"]),
        (("build", "-f", "m"), ["markdown", "messages"]),
        (("build", "--format", "=", "x"), ["xml"]),
        (("build", "--format", "="), ["markdown", "xml", "json", "messages"]),
        (("explain", "-a", "lu"), ["lukas", "luna"]),
        (("plan", "--team", ""), ["q 1"]),
        (("config", "--tokenizer", "o"), ["o200k_base"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("build", "--topic", ""), []),
        (("nothing", ""), []),
    ],
    ids=" ".join,
)
def test_bash_offers_what_can_stand_there(workspace: Path, words: tuple[str, ...], offered: list[str]) -> None:
    """Commands, flags, fixed values, and the agents and teams that are there."""
    assert complete(workspace, *words) == offered


@pytest.mark.parametrize("flag", ["-w", "-o", "-p"])
def test_bash_offers_paths(workspace: Path, flag: str) -> None:
    """A name with a blank in it stays one name."""
    (workspace / "below" / "my folder").mkdir()
    assert "my folder" in complete(workspace, "build", flag, "")


def test_the_command_prints_the_script(capfd: pytest.CaptureFixture[str]) -> None:
    """To standard output, and nothing else."""
    assert run(["completion", "bash"]) == 0
    assert capfd.readouterr() == (SHELLS["bash"](EVERY), "")


def test_an_unknown_shell_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    """With those that there are."""
    assert run(["completion", "tcsh"]) == 2
    assert "bash, zsh, fish" in capfd.readouterr().err
