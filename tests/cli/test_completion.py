"""Completion: commands, flags and values are offered, and each shell takes them from the script of `completion`."""

from __future__ import annotations

import json
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
from tests.command import TIMEOUT, clean, fill, inside, refused

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


IDS = {
    "agents/luna/IDENTITY.md": "I am here.\n",
    "agents/luna/INSTRUCTIONS.md": "Do it.\n",
    "agents/luna/memories/m.md": "- [fact] The bell rings. {id=bell-1}\n- [fact] The tide turns. {id=tide-1}\n",
    "teams/q1/memories/m.md": "- [fact] The lamp is on. {id=lamp-1}\n",
    "agents/luna/daily/2024-01-02.md": "An old day.\n",
}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("show", "b"), ["bell-1"]),
        (("edit", ""), ["bell-1", "lamp-1", "tide-1"]),
        (("show", "-t", "q1", ""), ["lamp-1"]),
        (("memory", "approve", "t"), ["tide-1"]),
        (("memory", "deprecate", "bell-1", "l"), ["lamp-1"]),
        (("remember", "--supersedes", "b"), ["bell-1"]),
        (("build", "--prefer", "t"), ["tide-1"]),
        (("explain", "--id", "l"), ["lamp-1"]),
        (("build", "--scope", "L"), ["L1", "L2", "L3", "L4", "L5", "L7"]),
        (("build", "--scope", "L1,L7,re"), ["L1,L7,related"]),
        (("build", "-p", "memory", "--strategy", "c"), ["code"]),
        (("build", "--layer", "L3"), ["L3="]),
        (("check", "--host", "c"), ["claude-code", "codex", "copilot", "cursor"]),
        (("explain", "--host", "al"), ["all"]),
        (("hook", "--install", "g"), ["gemini"]),
        (("hook", "--for", "cl"), ["claude-code"]),
    ],
    ids=" ".join,
)
def test_what_is_in_the_workspace_is_offered(tmp_path: Path, words: tuple[str, ...], offered: list[str]) -> None:
    assert complete(*words, cwd=fill(tmp_path, IDS, base={})) == offered


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("build", "-p", "librarian", "--session", ""), ["day-1", "day-2"]),
        (("build", "-p", "librarian", "--session", "day-2"), ["day-2"]),
        (("explain", "-p", "librarian", "--task", ""), ["bell", "lamp"]),
        (("build", "-p", "default", "--session", ""), []),
    ],
    ids=" ".join,
)
def test_sessions_and_the_tasks_of_their_events_are_offered(
    tmp_path: Path, words: tuple[str, ...], offered: list[str]
) -> None:
    event = '{{"type": "tool_result", "task": "{}", "output": "x"}}\n'
    texts = {"day-1": event.format("lamp"), "day-2": event.format("bell") + '{"type": "turn"}\ntorn'}
    folder = fill(tmp_path, {**IDS, **{f"sessions/{name}.jsonl": text for name, text in texts.items()}}, base={})
    assert complete(*words, cwd=folder) == offered


PLAIN = ["a.b:c/d@e+f=g_2", "bell-1", "ökô", "हिन्दी"]


def test_what_a_shell_could_evaluate_is_not_offered(tmp_path: Path) -> None:
    """P8: zsh evaluates what it is offered, and bash puts it into the line as it is."""
    unsafe = ["-rf", "=ls", *(f"a{sign}b" for sign in "$`()[];&|<>*?~!#^% '\\")]
    ids = [*PLAIN, *unsafe, "a\\$(touch PWNED)"]
    memories = "".join(f'- [fact] Note {number}. {{id="{id_}"}}\n' for number, id_ in enumerate(ids))
    teams = {f"teams/{name}/GOALS.md": "Goals.\n" for name in ("q1", *unsafe, 'a"b')}
    folder = fill(tmp_path, {"agents/a/memories/m.md": memories, **teams})
    assert complete("show", "", cwd=folder) == PLAIN
    assert complete("plan", "--team", "", cwd=folder) == ["q1"]
    assert complete("build", "--scope", "$(touch PWNED),L", cwd=folder) == []
    asked = {"_CTXASM_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "ctxasm plan --team "}
    assert inside(cwd=folder, env=asked).out == "_arguments '*: :((\"q1\"))'\n"


def test_actions_of_a_plan_are_offered(tmp_path: Path) -> None:
    folder = fill(tmp_path, {**IDS, "ctxasm.yaml": "date: 2025-03-14\n"}, base={})
    ids = [action["id"] for action in json.loads(inside("tidy", "--json", cwd=folder).out)["actions"]]
    assert ids
    assert complete("tidy", "--apply", "", cwd=folder) == ids


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


# Installed.

FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/completions/ctxasm.fish"}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "old", [None, b"", b"alias x=y\n", b"alias x=y", b"\xff\r\n"], ids=["none", "empty", "lines", "no end", "bytes"]
)
def test_what_is_installed_is_taken_out_again(tmp_path: Path, shell: str, old: bytes | None) -> None:
    path, env = tmp_path / FILES[shell], {"HOME": str(tmp_path), "SHELL": f"/bin/{shell}"}
    if old is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(old)
    asked = inside("completion", "--install", env=env)
    assert (asked.code, asked.out) == (1, "")
    assert "+# completion of ctxasm: begin" in asked.err
    assert "--yes writes without asking" in asked.err
    assert (path.read_bytes() if path.exists() else None) == old
    assert inside("completion", shell, "--install", "--yes", env=env).code == 0
    installed = path.read_bytes()
    script = inside("completion", shell).out.strip().encode()
    assert installed.startswith(old or b"")
    assert script in installed
    again = inside("completion", "--install", "--yes", env=env)
    assert (again.code, again.err) == (0, f"{path}: unchanged\n")
    path.write_bytes(installed.replace(script, b"an older script") + b"alias z=y\n")
    assert inside("completion", "--install", "--yes", env=env).code == 0
    assert path.read_bytes() == installed + b"alias z=y\n"
    path.write_bytes(installed)
    assert inside("completion", "--uninstall", "--yes", env=env).code == 0
    assert (path.read_bytes() if path.exists() else None) == old
    assert inside("completion", "--uninstall", env=env).err == f"{path}: unchanged\n"


@pytest.mark.parametrize("old", [b"", b"alias x=y", b"alias x=y\n"], ids=["empty", "no end", "lines"])
def test_all_copies_of_the_script_are_taken_out_and_no_lines_joined(tmp_path: Path, old: bytes) -> None:
    rc, env = tmp_path / ".bashrc", {"HOME": str(tmp_path)}
    rc.write_bytes(old)
    assert inside("completion", "bash", "--install", "--yes", env=env).code == 0
    installed = rc.read_bytes()
    block = installed.removeprefix(old)
    lines = b"alias b=c\n" if old.endswith(b"\n") or not old else b"\nalias b=c\n"
    for copies, kept in (
        (block + b"alias b=c\n", lines),
        (block + block, b""),
        (block + block.lstrip(), b""),
        (block + b"alias b=c\n" + block + b"alias d=e\n", lines + b"alias d=e\n"),
        (block.rstrip(), b""),
    ):
        rc.write_bytes(old + copies)
        assert inside("completion", "bash", "--install", "--yes", env=env).code == 0
        assert rc.read_bytes() == installed + kept.lstrip()
        rc.write_bytes(old + copies)
        assert inside("completion", "bash", "--uninstall", "--yes", env=env).code == 0
        assert rc.read_bytes() == old + kept


@pytest.mark.parametrize(
    "after", ["", "alias b=c\n\n# completion of ctxasm: begin\nall\n# completion of ctxasm: end\n"]
)
def test_a_file_with_half_of_the_script_stays_as_it_is(tmp_path: Path, after: str) -> None:
    rc = tmp_path / ".bashrc"
    rc.write_text(half := f"a=b\n\n# completion of ctxasm: begin\nhalf\n{after}")
    for flag in ("--install", "--uninstall"):
        result = inside("completion", "bash", flag, "--yes", env={"HOME": str(tmp_path)})
        refused(result, str(rc), "completion of ctxasm: end", "add it below the script")
    assert rc.read_text() == half


def test_a_link_to_the_file_of_a_shell_stays_one(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").write_text("a=b\n")
    (tmp_path / ".bashrc").symlink_to("dotfiles")
    assert inside("completion", "bash", "--install", "--yes", env={"HOME": str(tmp_path)}).code == 0
    assert (tmp_path / ".bashrc").is_symlink()
    assert "begin" in (tmp_path / "dotfiles").read_text()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_new_shell_completes_after_the_installation(tmp_path: Path, bin_folder: Path, shell: str) -> None:
    script(shell, tmp_path)  # skips the test where the shell is missing
    assert inside("completion", shell, "--install", "--yes", env={"HOME": str(tmp_path)}).code == 0
    ask = {
        "bash": "complete -p ctxasm",
        "zsh": "print -r -- ${_comps[ctxasm]}",
        "fish": "complete --do-complete 'ctxasm pl'",
    }[shell]
    env = {"HOME": str(tmp_path), "PATH": f"{bin_folder}:{os.defpath}"}
    done = subprocess.run(
        [shell, "-ic", ask],
        env=clean(env),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ("plan" if shell == "fish" else "_ctxasm_completion") in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("--install", "--uninstall"), ("--uninstall", "leave one of them out")),
        (("--yes",), ("--yes", "add --install")),
        ((), ("SHELL", "name bash, zsh or fish")),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...], parts: tuple[str, ...]) -> None:
    refused(inside("completion", *(["bash"] if words else []), *words), *parts)


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
