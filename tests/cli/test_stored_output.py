"""The stored output of an equal command line: when it is written again, when it is not, and where it is."""

import os
import shutil
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

import contextasm
from contextasm.cli import stored_output
from contextasm.cli.app import run
from contextasm.model import MAX_FILE
from contextasm.workspace import reads
from tests.command import Result, ctxasm, fill, inside, shell

REPLAYED = partial(stored_output.run_or_replay, run=run)
AGAIN = "written again: no input has changed\n"
START = '{"hook_event_name": "SessionStart"}'


def env(root: Path) -> dict[str, str]:
    return {"CTXASM_NO_REPLAY": "0", "XDG_CACHE_HOME": f"{root}/cache"}


def built(root: Path, *words: str, stdin: str | None = None, more: Mapping[str, str] | None = None) -> Result:
    """The command in the workspace `w` below `root`, with outputs stored next to it."""
    return inside(*words, cwd=root / "w", env=env(root) | {**(more or {})}, stdin=stdin, run=REPLAYED)


def is_again(root: Path, more: Mapping[str, str] | None = None) -> bool:
    result = built(root, "build", "-v", more=more)
    assert (result.code, result.out) == (0, (inside("build", cwd=root / "w", env=more).out))
    return result.err.endswith(AGAIN)


def stored(root: Path) -> list[Path]:
    return sorted((root / "cache/ctxasm/outputs").glob("*"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a workspace whose output is stored."""
    fill(tmp_path / "w", {"ctxasm.yaml": "date: 2025-03-14\n", "agents/a/memories/m.md": "- [fact] Red\n"})
    assert [is_again(tmp_path) for _ in range(3)] == [False, True, True]
    return tmp_path


def test_output_is_private_and_masked(root: Path) -> None:
    token = "ghp_" + "a8Kd93jfLq02mZx7Tb5Vc1Yw6Re4Su9Pn0Qi"
    fill(root / "w", {"agents/a/memories/m.md": f"- [fact] The token is {token}\n"})
    assert not is_again(root)
    assert [file.stat().st_mode & 0o777 for file in (*stored(root), stored(root)[0].parent)] == [0o600, 0o700]
    assert token.encode() not in stored(root)[0].read_bytes()
    assert b"The token is" in stored(root)[0].read_bytes()


def test_edit_that_keeps_size_and_times_is_seen(root: Path) -> None:
    file = root / "w/agents/a/memories/m.md"
    before = file.stat()
    file.write_text("- [fact] Sea\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [is_again(root), is_again(root)] == [False, True]


@pytest.mark.parametrize("path", ["w/agents/a/daily/2025-03-14.md", "w/agents/b/IDENTITY.md", "w/CLAUDE.md"])
def test_file_that_was_missing_is_seen(root: Path, path: str) -> None:
    fill(root, {path: "Text\n"}, base={})
    assert not built(root, "build", "-v").err.endswith(AGAIN)


def test_workspace_further_up_is_left_for_a_nearer_one(root: Path) -> None:
    below = root / "w/below"
    below.mkdir()
    line = ("build", "-q")
    answers = [inside(*line, cwd=below, env=env(root), run=REPLAYED).out for _ in range(2)]
    fill(below, {"agents/b/IDENTITY.md": "I am b.\n", "agents/b/INSTRUCTIONS.md": "Go.\n"}, base={})
    assert "I am b." in inside(*line, cwd=below, env=env(root), run=REPLAYED).out
    assert "I am a." in answers[0] == answers[1]


def test_link_that_leads_elsewhere_is_seen(root: Path) -> None:
    fill(root / "w/one", {"m.md": "- [fact] One\n"}, base={})
    fill(root / "w/two", {"m.md": "- [fact] Two\n"}, base={})
    link = root / "w/agents/a/memories/more.md"
    for target in ("../../../one/m.md", "../../../two/m.md"):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        assert [is_again(root), is_again(root)] == [False, True]


@pytest.mark.parametrize("content", ["", "None"])
def test_file_that_becomes_no_file_or_a_large_one_is_seen(root: Path, content: str) -> None:
    path = root / "w/agents/a/KNOWLEDGE.md"
    path.write_text(content, encoding="utf-8")
    assert [is_again(root), is_again(root)] == [False, True]
    os.truncate(path, MAX_FILE + 1)
    assert not is_again(root)
    path.unlink()
    os.mkfifo(path)
    assert not is_again(root)


@pytest.mark.parametrize("settings", ["", "tz: Pacific/Kiritimati\n"])
def test_output_of_another_day_is_not_written_again(root: Path, settings: str) -> None:
    fill(root / "w", {"ctxasm.yaml": settings})
    assert [is_again(root), is_again(root)] == [False, True]
    with patch.dict(reads.QUESTIONS, current_day=lambda _zone: "1999-12-31"):
        assert not is_again(root)


@pytest.mark.parametrize("seconds", [8 * 24 * 3600, -60])
def test_output_of_another_week_or_of_the_future_is_not_written_again(root: Path, seconds: float) -> None:
    now = time.time
    with patch.object(time, "time", lambda: now() + seconds):
        assert not is_again(root)


@pytest.mark.parametrize(
    ("name", "value"), [("CTXASM_BUDGET", "60"), ("SOURCE_DATE_EPOCH", "1"), ("TZ", "Asia/Tokyo"), ("HOME", "/")]
)
def test_variable_that_may_count_is_a_part_of_the_request(root: Path, name: str, value: str) -> None:
    assert [is_again(root, {name: value}) for _ in range(2)] == [False, True]


NOT_STORED = {
    "a file": ("-o", "../out.md"),
    "a block": ("--into", "../out.md"),
    "a record": ("--record",),
    "touched memories": ("--touch",),
    "metrics": ("--metrics", "../m.prom"),
    "a manifest": ("--manifest", "../m.json"),
    "a deadline": ("--deadline", "9000"),
    "secrets": ("--privacy", "off"),
    "a topic of standard input": ("--topic", "-"),
    "an answer": ("--if-none-match", contextasm.__name__, "--strict", "--open", "gone.md"),
}


@pytest.mark.parametrize("words", NOT_STORED.values(), ids=NOT_STORED)
def test_build_with_another_effect_or_another_input_is_not_stored(root: Path, words: tuple[str, ...]) -> None:
    before = stored(root)
    results = [built(root, "build", "-q", *words, stdin="red") for _ in range(2)]
    assert results[0].out == results[1].out
    assert stored(root) == before


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"ctxasm.yaml": "summarizer: {command: [cat]}\n"}, id="summarizer"),
        pytest.param({"ctxasm.yaml": "embedder: {command: [cat], model: m}\n"}, id="embedder"),
        pytest.param({"ctxasm.yaml": "privacy: 'off'\n"}, id="secrets"),
        pytest.param(
            {
                "p.yaml": "extends: default\nlayers: [{id: c, heading: C, source: document, path: '{changed}'}]\n",
                "ctxasm.yaml": "profile: p.yaml\n",
            },
            id="git",
        ),
        pytest.param(
            {
                "rules/r.yaml": "rules:\n- {name: r, when: {env.USER: x}, exclude: ['type:fact']}\n",
                "ctxasm.yaml": "rules: {env: [USER]}\n",
            },
            id="variable",
        ),
        pytest.param({"agents/a/memories/n.md": b"\x00" * 20 + b"\xff"}, id="not text"),
    ],
)
def test_workspace_whose_build_asks_more_than_the_disk_is_not_stored(root: Path, files: Mapping[str, str]) -> None:
    before = stored(root)
    fill(root / "w", files)
    results = [built(root, "build", "-q") for _ in range(2)]
    if "n.md" not in str(files):
        assert stored(root) == before, results


@pytest.mark.parametrize("variable", ["CTXASM_NO_REPLAY", "CTXASM_NO_CACHE"])
def test_person_can_switch_it_off(root: Path, variable: str) -> None:
    before = stored(root)
    assert [is_again(root, {variable: "1"}) for _ in range(2)] == [False, False]
    assert stored(root) == before


def test_sixteen_outputs_are_kept(root: Path) -> None:
    # An output names all modules of its process, and one that runs tests has thousands.
    with patch.object(reads, "MOST_BYTES", 1 << 30):
        for budget in range(900, 940):
            assert built(root, "build", "-b", str(budget)).code == 0
            assert len(stored(root)) <= 16
    assert len(stored(root)) == 16
    with patch.object(reads, "MOST_BYTES", sum(file.stat().st_size for file in stored(root)) // 2):
        built(root, "build", "-b", "940")
        assert 4 < len(stored(root)) < 12


MADE_UP = (b"", b"x", b"\xff\x00\x00", b"1\x000\x000\x00system x\x00\x00", b"9" * 4400, b"9\x00\x009\x00a\x00\x00b")

DAMAGE: Mapping[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-1],
    "empty": lambda _data: b"",
    "one bit": lambda data: data[:99] + bytes([data[99] ^ 1]) + data[100:],
    "another digest": lambda data: b"0" * 64 + data[64:],
    **{f"made up {n}": lambda _, n=n: _with_digest(MADE_UP[n]) for n in range(len(MADE_UP))},  # type: ignore[misc]
}


def _with_digest(body: bytes) -> bytes:
    return stored_output._digest(body).encode() + body


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_output_is_as_none(root: Path, damage: Callable[[bytes], bytes]) -> None:
    """P7: nothing in it can do harm, either."""
    (file,) = stored(root)
    file.write_bytes(damage(file.read_bytes()))
    assert [is_again(root), is_again(root)] == [False, True]


@pytest.mark.parametrize("case", ["link", "mode", "folder's mode", "a folder", "a pipe", "another user"])
def test_output_that_somebody_else_could_have_written_is_as_none(root: Path, case: str) -> None:
    """P7: nor is waited for one."""
    (file,) = stored(root)
    if case == "mode":
        file.chmod(0o644)
    elif case == "folder's mode":
        file.parent.chmod(0o777)
    elif case != "another user":
        file.rename(root / "elsewhere")
    if case == "link":
        file.symlink_to(root / "elsewhere")
    elif case == "a pipe":
        os.mkfifo(file)
    elif case == "a folder":
        file.mkdir()
    with patch.object(os, "geteuid", return_value=os.geteuid() + (case == "another user")):
        assert not is_again(root)


@pytest.mark.parametrize("place", ["cache", "cache/ctxasm", "cache/ctxasm/outputs"])
def test_cache_that_can_not_be_written_does_not_matter(root: Path, place: str) -> None:
    shutil.rmtree(root / "cache")
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text("in the way")
    assert [is_again(root) for _ in range(2)] == [False, False]


def test_interrupted_store_changes_nothing(root: Path) -> None:
    fill(root / "w", {"agents/a/memories/m.md": "- [fact] Blue\n"})
    with patch.object(os, "replace", side_effect=KeyboardInterrupt):
        assert not is_again(root)
    assert not is_again(root)


def test_hook_answers_again_if_the_event_names_no_session(root: Path) -> None:
    first = built(root, "hook", stdin=START)
    assert "Do it." in first.out
    with patch("contextasm.cli.app.run", side_effect=AssertionError):
        assert built(root, "hook", stdin=START) == first
    prompt = '{%s"hook_event_name": "UserPromptSubmit", "prompt": "what is %s"}'
    assert "Red" not in built(root, "hook", stdin=prompt % ("", "a door")).out
    assert "Red" in built(root, "hook", stdin=prompt % ("", "red")).out
    assert len(stored(root)) == 4
    answers = [built(root, "hook", stdin=prompt % ('"session_id": "1", ', "red")).out for _ in range(2)]
    assert ["Red" in answer for answer in answers] == [True, False]
    assert len(stored(root)) == 4
    assert reads.MOST_READ == MAX_FILE


def test_hook_with_a_wrong_line_reads_no_standard_input(root: Path) -> None:
    reading, writing = os.pipe()  # which nobody ends
    result = ctxasm("hook", "--print-config", "claude-code", env=env(root), stdin=reading)
    os.close(writing)
    assert result.code == 0


@pytest.mark.parametrize(("end", "code"), [("| true", 141), ("> /dev/full", 2), (">&-", 2)])
def test_output_that_can_not_be_written_again_ends_as_a_build_does(root: Path, end: str, code: int) -> None:
    line = ("build", "-w", str(root / "w"))
    script = f'"$@" > /dev/null 2>&1; sleep 0; {{ "$@"; echo $? >&2; }} {end}'
    big = fill(root / "w", {"agents/a/IDENTITY.md": "I am a. " * 9000})
    assert big.exists()
    err = shell(script, *line, env=env(root)).err
    assert err.endswith(f"{code}\n")
    assert "tokens" not in err


def test_changed_module_of_the_package_is_seen(tmp_path: Path) -> None:
    copy = tmp_path / "lib/contextasm"
    shutil.copytree(Path(contextasm.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for file in copy.rglob("*.py"):
        os.utime(file, (1e9, 1e9))
    fill(tmp_path / "w", {})
    line = ("build", "-v", "-w", str(tmp_path / "w"), "--date", "2025-03-14")
    more = env(tmp_path) | {"PYTHONPATH": str(tmp_path / "lib")}
    assert [ctxasm(*line, env=more).err.endswith(AGAIN) for _ in range(2)] == [False, True]
    with (copy / "rendering/formats.py").open("a") as module:
        module.write("\n")
    assert not ctxasm(*line, env=more).err.endswith(AGAIN)
