"""Watching: real processes, real files; a rebuild is a line on standard error."""

from __future__ import annotations

import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from contextasm.workspace.editing.files import locked
from contextasm.workspace.folder import Folder
from contextasm.workspace.watch import events
from tests.command import COMMAND, SMALL_TEXT, clean, fill, inside

PATIENCE = 30.0
"""Seconds to wait for what has to happen."""

READY = "; press Ctrl-C to stop\n"

DAY = ("--date", "2025-03-14")


class Watch:
    """A running `ctxasm watch` over a workspace `ws`, with its output `out.md` beside it."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.workspace = folder / "ws"
        self.out = folder / "out.md"
        self.process = process

    @property
    def log(self) -> str:
        """What it told so far."""
        return (self.folder / "log").read_text()

    @property
    def builds(self) -> int:
        """Builds that did not fail."""
        return self.log.count(" tokens (for ")

    def until(self, seen: Callable[[], object]) -> None:
        """Wait for a condition."""
        end = time.monotonic() + PATIENCE
        while not seen():
            assert time.monotonic() < end, self.log
            assert self.process.poll() is None or seen(), self.log
            time.sleep(0.01)

    def shows(self, text: str) -> None:
        """Wait for a text in the output."""
        self.until(lambda: self.out.exists() and text in self.out.read_text())

    def tells(self, text: str, times: int = 1) -> None:
        """Wait for a text among what it tells."""
        self.until(lambda: self.log.count(text) >= times)

    def settled(self) -> int:
        """The number of builds once everything so far has been looked at: a change after it has made its own build."""
        alone = "(for agents/a/KNOWLEDGE.md;"
        for mark in ("Mark <1>.", "Mark <2>."):  # the first may share a build with what came before it
            told = self.log.count(alone)
            fill(self.workspace, {"agents/a/KNOWLEDGE.md": mark}, base={})
            self.shows(mark)
        self.tells(alone, told + 1)
        return self.builds - self.log.count(alone)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def watching(
    folder: Path,
    *words: str,
    files: Mapping[str, str] | None = None,
    command: Sequence[str] = COMMAND,
    ready: str = READY,
) -> Iterator[Watch]:
    """A watch that has built once and told it with the words `ready`; it is ended with the test."""
    workspace = folder / "ws"
    if not workspace.exists():
        workspace.mkdir()
        fill(workspace, files or {})
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "watch", "-w", "ws", *(() if "-o" in words else ("-o", "out.md")), "-v", *words],
            cwd=folder,
            env=clean(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    watch = Watch(folder, process)
    try:
        watch.tells(ready)
        yield watch
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
    assert "Traceback" not in watch.log


def test_builds_first_and_again_on_change(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY) as watch:
        assert watch.out.read_text() == SMALL_TEXT
        assert watch.builds == 1
        fill(watch.workspace, {"agents/a/IDENTITY.md": "I am another.\n"})
        watch.shows("I am another.")
        assert watch.settled() == 2
        assert watch.log.count("\n") == 5
    assert inside("build", "-w", "ws", "-o", "out.md", *DAY, "--check", "-q", cwd=tmp_path) == (0, "", "")


def test_an_interrupted_tidy_is_taken_back_and_told(tmp_path: Path) -> None:
    log = "agents/a/daily/2025-01-10.md"
    fill(tmp_path / "ws", {log: "Text\n"})
    assert inside("tidy", "-w", tmp_path / "ws", *DAY, "--apply", "--safe").code == 0
    os.rename(tmp_path / "ws/.tidy/last", tmp_path / "ws/.tidy/unfinished")
    told = "ctxasm: warning: an interrupted `ctxasm tidy` was undone: 2 files are as before\n"
    with watching(tmp_path, *DAY, "--into", "block.md") as watch:
        watch.tells(told)
        watch.settled()
        assert watch.log.count("was undone") == 1
        assert (watch.workspace / log).read_text() == "Text\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_it_quietly(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with watching(tmp_path) as watch:
        told = watch.log
        assert watch.end(number) == code
        assert watch.log == told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "out.md", "ws"]


def _in_place(path: Path, text: str) -> None:
    path.write_text(text)


def _by_rename(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    new.replace(path)


def _like_vim(path: Path, text: str) -> None:
    (path.parent / "4913").touch()
    (path.parent / "4913").unlink()
    path.rename(f"{path}~")
    path.write_text(text)
    Path(f"{path}~").unlink()


def _truncated(path: Path, text: str) -> None:
    with path.open("r+b") as file:
        file.truncate(0)
        file.flush()
        file.write(text.encode())


def _same_size_and_time(path: Path, text: str) -> None:
    status = path.stat()
    path.write_text(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("save", [_in_place, _by_rename, _like_vim, _truncated, _same_size_and_time])
def test_each_way_of_saving_is_one_build(tmp_path: Path, save: Callable[[Path, str], None]) -> None:
    with watching(tmp_path, *DAY) as watch:
        for number in range(3):
            save(watch.workspace / "agents/a/IDENTITY.md", f"I am {number}.\n")
            watch.shows(f"I am {number}.")
        assert watch.settled() == 4


def test_a_burst_of_writes_is_at_most_two_builds(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY) as watch:
        files = {f"agents/a/memories/{number}.md": f"- [fact] {number}\n" for number in range(500)}
        fill(watch.workspace, files, base={})
        watch.shows("- [fact] ")
        assert watch.settled() <= 1 + 2


def test_reading_touching_and_ignored_files_make_no_build(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY, files={f"agents/a/memories/{n}.md": f"- [fact] {n}\n" for n in range(50)}) as watch:
        for path in watch.workspace.rglob("*.md"):
            path.read_bytes()
            path.touch()
        more = (".ctxasm/records/1.json", ".git/index", "notes.txt", "agents/a/memories/.1.md.swp", "agents/a/x.md~")
        fill(watch.workspace, dict.fromkeys(more, "x"), base={})
        shutil.rmtree(watch.workspace / ".git")
        assert watch.settled() == 1


@pytest.mark.parametrize("out", ["ws/CONTEXT.md", "ws/agents/a/daily/context.txt", "ws/knowledge/out.md"])
def test_output_inside_the_workspace_does_not_loop(tmp_path: Path, out: str) -> None:
    (tmp_path / "ws/knowledge").mkdir(parents=True)
    (tmp_path / "ws/agents/a/daily").mkdir(parents=True)
    fill(tmp_path / "ws", {})
    with watching(tmp_path, *DAY, "-o", out) as watch:
        watch.out = tmp_path / out
        watch.out.write_text("by hand")
        assert watch.settled() == 1


def test_block_in_an_input_is_no_part_of_the_context(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY, "--into", "ws/agents/a/IDENTITY.md") as watch:
        assert watch.out.read_text() == SMALL_TEXT
        identity = watch.workspace / "agents/a/IDENTITY.md"
        identity.write_text(identity.read_text().replace("I am a.\n", "I am b.\n", 1))
        watch.shows("I am b.")
        watch.until(lambda: identity.read_text().count("I am b.") == 2)
        assert watch.settled() == 2


def test_profile_that_begins_to_read_the_output_is_told_of(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY, "-o", "ws/agents/a/NOTES.md") as watch:
        watch.out = watch.workspace / "agents/a/NOTES.md"
        settings = "layers:\n  - {id: L7, path: 'agents/{agent}/NOTES.md'}\n"
        fill(watch.workspace, {"ctxasm.yaml": settings, "agents/a/IDENTITY.md": "I am b.\n"}, base={})
        watch.tells("a source of the context")
        assert watch.out.read_text() == SMALL_TEXT
        (watch.workspace / "ctxasm.yaml").unlink()
        watch.shows("I am b.")


def test_output_that_was_deleted_comes_back(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY, "--into", "ws/BLOCK.md") as watch:
        watch.out.unlink()
        watch.shows("I am a.")
        (watch.workspace / "BLOCK.md").unlink()
        watch.until((watch.workspace / "BLOCK.md").exists)


def test_working_folder_that_is_deleted_and_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    fill(folder, {})
    log = tmp_path / "log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [*COMMAND, "watch", "-o", "OUT.md", "-v", *DAY], cwd=folder, env=clean(), stdout=stream, stderr=stream
        )
    watch = Watch(tmp_path, process)
    watch.out = folder / "OUT.md"
    try:
        watch.tells(READY)
        shutil.rmtree(folder)
        fill(folder, {"agents/a/IDENTITY.md": "I am back.\n"})
        watch.shows("I am back.")
    finally:
        process.kill()
        process.wait()


def test_new_moved_and_removed_folders_count(tmp_path: Path) -> None:
    profile = "extends: default\nlayers:\n  - {id: L7, path: 'knowledge/**/*.md', top: 0, max_tokens: 9000}\n"
    with watching(tmp_path, *DAY, "-p", "ws/all.yaml", files={"all.yaml": profile, "knowledge/a.md": "a"}) as watch:
        deep = {f"knowledge/{f}/{f}/{f}/{n}.md": f"Page <{f}.{n}>" for f in range(20) for n in range(10)}
        fill(watch.workspace, deep, base={})
        watch.until(lambda: watch.out.read_text().count("Page <") == 200)
        fill(tmp_path / "elsewhere", {"b/c/page.md": "Page <new>"}, base={})
        (tmp_path / "elsewhere/b").rename(watch.workspace / "knowledge/moved")
        watch.shows("Page <new>")
        fill(watch.workspace, {"knowledge/moved/c/page.md": "Page <newer>"}, base={})
        watch.shows("Page <newer>")
        (watch.workspace / "knowledge/moved").rename(tmp_path / "gone")
        watch.until(lambda: "Page <newer>" not in watch.out.read_text())
        shutil.rmtree(watch.workspace / "knowledge/7")
        watch.until(lambda: watch.out.read_text().count("Page <") == 190)


def test_workspace_that_is_deleted_and_comes_back(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY) as watch:
        watch.workspace.rename(tmp_path / "away")
        watch.tells("does not exist")
        assert watch.out.read_text() == SMALL_TEXT
        watch.workspace.mkdir()
        fill(watch.workspace, {"agents/a/IDENTITY.md": "I am back.\n"})
        watch.shows("I am back.")
        fill(watch.workspace, {"agents/a/IDENTITY.md": "I am still here.\n"})
        watch.shows("I am still here.")
        shutil.rmtree(watch.workspace)
        watch.tells("does not exist", 2)
        (tmp_path / "away").rename(watch.workspace)
        watch.until(lambda: watch.out.read_text() == SMALL_TEXT)


def test_failed_build_is_told_and_the_output_stays(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY, files={"ctxasm.yaml": "budget: 8k\n"}) as watch:
        fill(watch.workspace, {"ctxasm.yaml": "budget: [\n"}, base={})
        watch.tells("ctxasm: error: ctxasm.yaml:")
        (watch.workspace / "agents/a/IDENTITY.md").unlink()
        fill(watch.workspace, {"ctxasm.yaml": "budget: 9k\n"}, base={})
        watch.tells("ctxasm: error: agent: no agent exists")
        assert watch.out.read_text() == SMALL_TEXT
        fill(watch.workspace, {})
        watch.tells(" of 9,000 tokens")
        assert watch.log.count("error") == 2


def test_locked_watch_waits_for_the_approval_of_a_change(tmp_path: Path) -> None:
    workspace = fill(tmp_path / "ws", {})
    assert inside("lock", "-w", workspace).code == 0
    with watching(tmp_path, *DAY, "--locked") as watch:
        fill(workspace, {"agents/a/IDENTITY.md": "I am another.\n"})
        watch.tells("ctxasm: error: agents/a/IDENTITY.md: has changed since it was reviewed")
        assert watch.out.read_text() == SMALL_TEXT
        assert inside("lock", "-w", workspace).code == 0
        watch.shows("I am another.")


def test_config_profile_and_what_it_extends_count(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("extends: default\nbudget: 7000\n")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/mine.yaml").write_text("extends: ../base.yaml\n")
    with watching(tmp_path, *DAY, "-p", "own/mine.yaml") as watch:
        watch.tells(" of 7,000 tokens")
        _by_rename(tmp_path / "base.yaml", "extends: default\nbudget: 6000\n")
        watch.tells(" of 6,000 tokens")
        (tmp_path / "own/mine.yaml").write_text("extends: [\n")
        watch.tells("ctxasm: error: ")
        (tmp_path / "own/mine.yaml").write_text("extends: default\nbudget: 5000\n")
        watch.tells(" of 5,000 tokens")
        fill(watch.workspace, {"ctxasm.yaml": "tokenizer: bytes\n"}, base={})
        watch.tells("44 of 5,000 tokens")


def test_reader_never_sees_a_part_of_the_output(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY) as watch:
        for number in range(10):
            fill(watch.workspace, {"agents/a/IDENTITY.md": f"<{number}>" + "\nline" * 5_000 + f"\n<{number}>"}, base={})
            seen = ""
            while f"<{number}>" not in seen:
                seen = watch.out.read_text()
                assert seen.endswith("Do it.\n")
                assert seen == SMALL_TEXT or len({*seen.split("<")[1:]} - {""}) in {1, 2}
                assert watch.process.poll() is None


CLOCK = """\
import os, sys, time
clock = sys.argv.pop()
time.time = lambda: 1741996790 + os.stat(clock).st_size * 60
from contextasm.__main__ import main
main()
"""
"""The command, with a clock that stands just before a midnight in UTC and goes on a minute with each byte of a file."""


def test_date_that_rolls_over_is_one_build(tmp_path: Path) -> None:
    (tmp_path / "clock").touch()
    script = tmp_path / "clock.py"
    script.write_text(CLOCK)
    files = {f"agents/a/daily/{day}.md": f"On the {day}.\n" for day in ("2025-03-14", "2025-03-15", "2025-03-16")}
    command = (sys.executable, str(script))
    with watching(tmp_path, "--tz", "UTC", str(tmp_path / "clock"), files=files, command=command) as watch:
        assert "On the 2025-03-14." in watch.out.read_text()
        assert "On the 2025-03-15." not in watch.out.read_text()
        (tmp_path / "clock").write_text("x")
        watch.shows("On the 2025-03-15.")
        assert "On the 2025-03-16." not in watch.out.read_text()
        assert watch.settled() == 2


def test_blocks_are_kept_up_to_date(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("# Mine\n")
    with watching(tmp_path, *DAY, "--into", "AGENTS.md") as watch:
        agents = tmp_path / "AGENTS.md"
        assert agents.read_text().startswith("# Mine\n\n<!-- ctxasm:begin ")
        agents.write_text(agents.read_text().replace("I am a.", "I am mine."))
        fill(watch.workspace, {"agents/a/IDENTITY.md": "I am another.\n"})
        watch.tells("AGENTS.md:3: the managed block was edited by hand")
        assert "I am mine." in agents.read_text()
        watch.shows("I am another.")
        watch.tells("out.md: written: ")
        assert "AGENTS.md: " not in watch.log.split("by hand")[1]
        agents.write_text("# Mine again\n")
        watch.until(lambda: "I am another." in agents.read_text())
        assert watch.log.count("edited by hand") == 1


@pytest.mark.parametrize("blocked", ["", "no/"], ids=["edited", "no folder"])
def test_file_that_cannot_be_written_leaves_the_others_to_be(tmp_path: Path, blocked: str) -> None:
    (tmp_path / "A.md").write_text("<!-- ctxasm:begin -->\nMine.\n<!-- ctxasm:end -->\n")
    with watching(tmp_path, *DAY, "--into", f"{blocked}A.md", "--into", "B.md") as watch:
        fill(watch.workspace, {"agents/a/IDENTITY.md": "I am another.\n"})
        watch.until(lambda: "I am another." in (tmp_path / "B.md").read_text())
        watch.shows("I am another.")
        watch.settled()
        errors = [line for line in watch.log.splitlines() if line.startswith("ctxasm: error: ")]
        assert len(errors) == 1
        assert f"{tmp_path}/{blocked}A.md:" in errors[0]
        assert (tmp_path / "A.md").read_text() == "<!-- ctxasm:begin -->\nMine.\n<!-- ctxasm:end -->\n"


def test_block_waits_for_the_lock_and_the_output_does_not(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY, "--into", "AGENTS.md") as watch:
        with locked(Folder(watch.workspace)):
            fill(watch.workspace, {"agents/a/IDENTITY.md": "I am another.\n"})
            watch.shows("I am another.")
            watch.tells("another ctxasm writes in the workspace")
            assert "I am another." not in (tmp_path / "AGENTS.md").read_text()
        watch.until(lambda: "I am another." in (tmp_path / "AGENTS.md").read_text())
        assert watch.end() == 143


def test_command_runs_after_each_change_never_two_at_once(tmp_path: Path) -> None:
    script = "echo begin; cat out.md; while test ! -e go; do sleep 0.02; done; echo end; test ! -e stay || sleep 60"
    with watching(tmp_path, *DAY, "--exec", script) as watch:
        for number in range(3):
            fill(watch.workspace, {"agents/a/IDENTITY.md": f"I am {number}.\n"})
            watch.shows(f"I am {number}.")
        assert watch.settled() == 4
        assert watch.log.count("begin") == 1
        (tmp_path / "go").touch()
        watch.tells("end\n", 2)
        assert watch.log.count("begin") == 2
        assert "Mark" in watch.log.split("begin")[2]
        (tmp_path / "stay").touch()
        fill(watch.workspace, {"agents/a/IDENTITY.md": "I am the last.\n"})
        watch.tells("end\n", 3)
        assert watch.end() == 143


def test_command_that_fails_is_told(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY, "--exec", "exit 3") as watch:
        watch.tells("ctxasm: warning: --exec: exit 3: exit code 3\n")
        assert watch.settled() == 1


def test_metrics_are_written_with_each_build_and_start_no_command(tmp_path: Path) -> None:
    fill(tmp_path / "ws", {"agents/a/KNOWLEDGE.md": b"\xff"})
    metrics = tmp_path / "m.prom"

    def errors(count: int) -> bool:
        return re.search(rf"^memory_source_errors_total\S* {count}$", metrics.read_text(), re.MULTILINE) is not None

    with watching(tmp_path, "--metrics", "m.prom", "--exec", "echo ran >> runs") as watch:
        watch.until(lambda: metrics.exists() and errors(1))
        fill(watch.workspace, {"agents/a/INSTRUCTIONS.md": "Do it well.\n"}, base={})
        watch.shows("Do it well.")
        watch.until(lambda: errors(2))
        watch.until((tmp_path / "runs").exists)
        assert "m.prom" not in watch.log
    assert 1 <= (tmp_path / "runs").read_text().count("ran") <= 2


def test_polling_on_request(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY, "--poll", "0.05") as watch:
        _by_rename(watch.workspace / "agents/a/IDENTITY.md", "I am another.\n")
        watch.shows("I am another.")
        assert watch.settled() == 2


def _limited(limit: str) -> Sequence[str]:
    """The command in a user name space where the kernel gives no more than this; skips without one."""
    script = f'echo {limit.partition("=")[2]} > /proc/sys/user/{limit.partition("=")[0]} && exec "$@"'
    words = ("unshare", "-Ur", "sh", "-c", script, "sh")
    try:
        able = subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        able = False
    if not able:
        pytest.skip("no user name spaces here")
    return (*words, *COMMAND)


@pytest.mark.parametrize("limit", ["max_inotify_instances=0", "max_inotify_watches=0", "max_inotify_watches=3"])
def test_polling_where_native_watching_is_refused(tmp_path: Path, limit: str) -> None:
    with watching(tmp_path, *DAY, command=_limited(limit)) as watch:
        assert watch.log.count("can't be watched by events (inotify ") == 1
        for number in range(2):
            fill(watch.workspace, {"agents/a/IDENTITY.md": f"I am {number}.\n"})
            watch.shows(f"I am {number}.")
        assert watch.log.count("watched by events") == 1


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        pytest.param((), ("no file is named", "-o FILE"), id="no file"),
        pytest.param(("-o", "-"), ("standard output, not a file", "-o FILE"), id="standard output"),
        pytest.param(("-o", "o", "--poll", "0"), ("--poll", "above 0"), id="poll 0"),
        pytest.param(("-o", "o", "--poll", "nan"), ("--poll", "above 0"), id="poll nan"),
        pytest.param(("-o", "o", "-a", "nobody"), ("--agent", "nobody"), id="agent"),
        pytest.param(("-o", "o", "-b", "x"), ("--budget",), id="budget"),
        pytest.param(("-o", "o", "-w", "nowhere"), ("nowhere", "does not exist"), id="workspace"),
        pytest.param(("-o", "agents/a/IDENTITY.md"), ("IDENTITY.md", "a source of the context"), id="an input"),
        pytest.param(("-o", "o", "--metrics", "-"), ("--metrics", "standard output"), id="metrics on standard output"),
        pytest.param(("-o", "o", "--metrics", "o"), ("--metrics", "same file as -o o"), id="metrics in the output"),
        pytest.param(("--metrics", "o"), ("no file is named",), id="metrics alone"),
        pytest.param(("--into", "o", "-o", "-"), ("-o", "standard output"), id="standard output beside a block"),
    ],
)
def test_what_the_command_line_gets_wrong_ends_it_at_once(
    tmp_path: Path, words: Sequence[str], parts: Sequence[str]
) -> None:
    done = inside("watch", *words, cwd=fill(tmp_path, {}))
    assert done.code == 2
    assert [part for part in parts if part not in done.err] == []
    assert done.err.count("\n") == 1


def start_on_terminal(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A watch of a new workspace on a terminal of 400 columns, and the end to read it from."""
    fill(folder, {})
    outer, inner = pty.openpty()
    words = [*COMMAND, "watch", "-o", "out.md", *DAY]
    env = clean({"TERM": "xterm", "COLUMNS": "400"})
    process = subprocess.Popen(words, cwd=folder, env=env, stdin=inner, stdout=inner, stderr=inner)
    os.close(inner)
    return process, outer


def interrupted(process: subprocess.Popen[bytes], outer: int) -> bytes:
    """The rest of the output after an interrupt, which ends the watch with 130."""
    process.send_signal(signal.SIGINT)
    rest = b""
    with suppress(OSError):  # the other end is closed
        while more := os.read(outer, 1 << 16):
            rest += more
    os.close(outer)
    assert process.wait(PATIENCE) == 130
    return rest


def test_line_of_each_build_on_a_terminal_begins_with_the_time(tmp_path: Path) -> None:
    process, outer = start_on_terminal(tmp_path)
    seen = b""
    while READY.strip().encode() not in seen:
        seen += os.read(outer, 1 << 16)
    fill(tmp_path, {"agents/a/IDENTITY.md": "I am another.\n"})
    while seen.count(b" tokens") < 2 or not seen.endswith(b"\n"):
        seen += os.read(outer, 1 << 16)
    interrupted(process, outer)
    lines = [line for line in seen.decode().splitlines() if line.endswith(" tokens")]
    assert [bool(re.match(r"\d\d:\d\d:\d\d \S*out.md: written: ", line)) for line in lines] == [True, True]


def test_it_grows_by_nothing_from_turn_to_turn(tmp_path: Path) -> None:
    with watching(tmp_path, *DAY) as watch:
        proc = Path(f"/proc/{watch.process.pid}")
        if not proc.exists():
            pytest.skip("no /proc here")

        def turn(number: int) -> None:
            text = f"I am {number}.\n" + f"{number} " * 50_000
            fill(watch.workspace, {"agents/a/IDENTITY.md": text}, base={})
            watch.shows(f"I am {number}.")

        def size() -> int:
            return int((proc / "statm").read_text().split()[1]) * resource.getpagesize()

        for number in range(10):
            turn(number)
        files, memory = len([*(proc / "fd").iterdir()]), size()
        for number in range(10, 40):
            turn(number)
        assert len([*(proc / "fd").iterdir()]) <= files + 1
        assert size() < memory + 8_000_000


def test_warnings_of_the_library_are_silent() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        events.FileEvents(events.Wakeup(), lambda _: True, lambda _: None)
        warnings.warn_explicit("a", RuntimeWarning, "inotify.py", 1, module="watchdog.observers.inotify")
        warnings.warn_explicit("b", RuntimeWarning, "other.py", 1, module="other")
    assert [str(warning.message) for warning in told] == ["b"]
