"""`ctxasm log`, `show`, `edit` and `build --touch`; and many writers at once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contextasm.model import Document
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.memories.parser import parse_memories
from tests.command import COMMAND, UNPRIVILEGED, clean, fill, inside, shell, start

DAY = ("--date", "2025-03-14")
LIST = "agents/a/memories/2025-03.md"
LOG = "agents/a/daily/2025-03-14.md"

LOOP = """
import sys
from contextasm.cli.app import run
folder, command, worker, count = sys.argv[1:]
for number in range(int(count)):
    text = f"worker {worker} says {number}" + chr(10) + "and a second line of it"
    assert run([command, "-w", folder, "--date", "2025-03-14", "-q", text]) == 0
    print(number, flush=True)
"""
"""A process that keeps one text after the other, and says of each when it is kept."""


def worker(folder: Path, command: str, number: int, count: int) -> subprocess.Popen[bytes]:
    """Begin such a process."""
    words = [sys.executable, "-c", LOOP, str(folder), command, str(number), str(count)]
    return subprocess.Popen(words, cwd="/", env=clean(), stdout=subprocess.PIPE)


def texts(file: Path) -> list[str]:
    """The text of each memory of a file."""
    found = decode_document("f.md", file.read_bytes())
    assert isinstance(found, Document)
    own, problems = parse_memories(found)
    assert problems == ()
    return [each.text for each in own]


def test_a_log_is_made_and_the_build_shows_it(tmp_path: Path) -> None:
    fill(tmp_path, {"teams/q1/GOALS.md": "Goals.\n"})
    assert inside("log", "An entry", *DAY, "-w", tmp_path).out == f"made {LOG}\n"
    assert inside("log", "-", *DAY, "-t", "q1", "-w", tmp_path, stdin="\n# One\r\ntwo\n\n").out.startswith(
        "made teams/q1/"
    )
    assert (tmp_path / "teams/q1/daily/2025-03-14.md").read_bytes() == b"# One\ntwo\n"
    assert "An entry\n" in inside("build", *DAY, "-w", tmp_path).out


MEMORIES = {
    LIST: "- Shown of old {importance=0.4 id=m1}\r\n- Archived {status=archived}\r\n" + "- Shown, and equal\r\n" * 2,
    "agents/a/memories/one.md": "---\ntype: fact\naccessed: 2025-03-01\n---\nA file that is one memory\n",
    "agents/a/memories/later.md": "- From days to come {accessed=2026-01-01}\n",
}


@pytest.mark.parametrize("closed", [".", "agents/a/memories"])
def test_touch_that_cant_be_done_is_refused_before_anything_is_written(tmp_path: Path, closed: str) -> None:
    fill(tmp_path, MEMORIES)
    (tmp_path / closed).chmod(0o555)
    words = [*UNPRIVILEGED, *COMMAND, "build", *DAY, "--touch", "--record", "-w", str(tmp_path)]
    try:
        done = subprocess.run(words, env=clean(), capture_output=True, text=True, check=False)
    finally:
        (tmp_path / closed).chmod(0o755)
    assert (done.returncode, done.stdout) == (2, "")
    assert "ctxasm: error: " in done.stderr
    assert not [*tmp_path.glob(".ctxasm/records/*")]


def test_an_id_stays_whatever_is_added_around_it(tmp_path: Path) -> None:
    fill(tmp_path, {LIST: "- The one that is meant\n"})
    name = json.loads(inside("explain", "--json", *DAY, "-w", tmp_path).out)["decisions"][-1]["fragment"]
    (tmp_path / LIST).write_text("# March\n\n- One above\n- The one that is meant {importance=0.9}\n- One below\n")
    inside("remember", "One at the end", *DAY, "-w", tmp_path)
    shown = inside("show", name, "-w", tmp_path)
    assert shown.out.startswith(f"{LIST}:4\nid: {name}\ntype: note\nimportance: 0.9\n")
    assert shown.out.endswith("\n\nThe one that is meant\n")
    data = json.loads(inside("show", name, "--json", "-w", tmp_path).out)["memories"][0]
    assert (data["path"], data["line"], data["text"], data["tags"]) == (LIST, 4, "The one that is meant", [])


def _editor(folder: Path, name: str) -> Path:
    """An editor that writes down what it is given."""
    file = folder / name
    file.write_text(f'#!/bin/sh\necho "$@" > "{folder}/given"\n')
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("editor", "given"),
    [
        ("vim", "+3 {file}"),
        ("nano", "+3 {file}"),
        ("emacs", "+3 {file}"),
        ("code", "--goto {file}:3"),
        ("own", "{file}"),
    ],
)
def test_edit_opens_the_line(tmp_path: Path, editor: str, given: str) -> None:
    fill(tmp_path, {LIST: "# March\n\n- a {id=m1}\n"})
    env = {"VISUAL": f"'{_editor(tmp_path, editor)}' --wait", "EDITOR": "false"}
    assert inside("edit", "m1", "-w", tmp_path, env=env).code == 0
    assert (tmp_path / "given").read_text() == f"--wait {given.format(file=tmp_path.resolve() / LIST)}\n"


def test_the_home_folder_in_the_name_of_the_editor_is_expanded(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "ed").write_text(f"#!/bin/sh\necho edited > {tmp_path}/out\n")
    (home / "ed").chmod(0o755)
    folder = fill(tmp_path / "w", {LIST: "- One {id=m1}\n"})
    assert inside("edit", "m1", "-w", folder, env={"EDITOR": "~/ed", "HOME": str(home)}).code == 0
    assert (tmp_path / "out").read_text() == "edited\n"


@pytest.mark.parametrize("words", [("remember", "b"), ("log", "b"), ("task", "push", "b", "--json")])
def test_nothing_is_stored_where_standard_output_is_closed(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = fill(tmp_path, {})
    before = sorted(folder.rglob("*.*"))
    done = shell('"$@" >&-', *words, "-w", folder)
    assert done.code == 2
    assert "standard output: is closed" in done.err
    assert "nothing has been written" in done.err
    assert sorted(folder.rglob("*.*")) == before


@pytest.mark.parametrize("words", [("remember", "b"), ("log", "b"), ("task", "push", "b", "--json")])
def test_a_full_disk_behind_standard_output_is_told_with_what_is_stored(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = shell('"$@" >/dev/full', *words, "-w", fill(tmp_path, {}))
    assert done.code == 2
    assert "do not run the command again; everything is stored" in done.err


@pytest.mark.parametrize("command", ["remember", "log"])
def test_what_many_write_at_once_is_all_there(tmp_path: Path, command: str) -> None:
    fill(tmp_path, {})
    running = [worker(tmp_path, command, number, 8) for number in range(8)]
    for each in running:
        each.communicate(timeout=60)
        assert each.returncode == 0
    expected = {f"worker {one} says {number}\nand a second line of it" for one in range(8) for number in range(8)}
    if command == "remember":
        found = texts(tmp_path / LIST)
    else:
        found = (tmp_path / LOG).read_text().removesuffix("\n").split("\n\n")
    assert sorted(found) == sorted(expected)


def test_commands_started_at_once_lose_nothing(tmp_path: Path) -> None:
    fill(tmp_path, {})
    words = (*DAY, "-q", "-w", str(tmp_path))
    running = [start("remember", f"Memory {number}", *words) for number in range(8)]
    running += [start("log", f"Entry {number}", *words) for number in range(4)]
    assert [each.wait(timeout=60) for each in running] == [0] * 12
    assert sorted(texts(tmp_path / LIST)) == [f"Memory {number}" for number in range(8)]
    assert sorted((tmp_path / LOG).read_text().split()) == sorted(["Entry"] * 4 + list("0123"))


@pytest.mark.parametrize("command", ["remember", "log"])
def test_a_killed_process_loses_at_most_what_it_was_writing(tmp_path: Path, command: str) -> None:
    fill(tmp_path, {})
    chance = random.Random(3)
    kept: list[str] = []
    for number in range(6):
        each = worker(tmp_path, command, number, 10_000)
        assert each.stdout
        first = each.stdout.readline()
        time.sleep(chance.random() / 10)
        each.send_signal(signal.SIGKILL)
        said = (first + each.communicate()[0]).decode().splitlines(keepends=True)
        kept += [
            f"worker {number} says {line.strip()}\nand a second line of it" for line in said if line.endswith("\n")
        ]
        if command == "remember":
            found = texts(tmp_path / LIST)
        else:
            found = (tmp_path / LOG).read_text().removesuffix("\n").split("\n\n")
        assert set(kept) <= set(found)
        assert len(found) <= len(kept) + number + 1
        assert len(set(found)) == len(found)
    assert inside(command, "The last one", *DAY, "-w", tmp_path).code == 0
    file = tmp_path / (LIST if command == "remember" else LOG)
    assert [each.name for each in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("opening", "closing"), [("```sh\nls", "```"), ("~~~~\nls\n", "~~~~"), ("<!-- a\nls", "-->")])
def test_an_entry_closes_what_the_one_before_it_left_open(tmp_path: Path, opening: str, closing: str, end: str) -> None:
    log = "agents/a/daily/2025-03-14.md"
    fill(tmp_path, {log: f"Before\n\n{opening}".replace("\n", end).encode()})
    assert inside("log", "After", "-w", tmp_path, "-a", "a", "--date", "2025-03-14").code == 0
    written = f"Before\n\n{opening.rstrip()}\n{closing}\n\nAfter\n".replace("\n", end)
    assert (tmp_path / log).read_bytes() == written.encode()
