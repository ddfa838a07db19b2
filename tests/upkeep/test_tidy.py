"""`ctxasm tidy`: the plan, the ways to choose from it, undo, recovery, and other processes at work at the same time."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import COMMAND, SAMPLE, SMALL, UNPRIVILEGED, clean, fill, inside, refused, start
from tests.upkeep.trees import tree

DAY = date(2026, 3, 14)
WORDS = ("--date", str(DAY))


def log_of(age: int, owner: str = "agents/a") -> str:
    """Path of the log of a day so many days ago."""
    return f"{owner}/daily/{DAY - timedelta(days=age)}.md"


def actions_of(root: Path, *words: str) -> list[Mapping[str, object]]:
    """The actions of a plan."""
    done = inside("tidy", "-w", root, *WORDS, "--json", *words)
    assert done.code == 0, done.err
    found = json.loads(done.out)["actions"]
    assert isinstance(found, list)
    return found


def archived(root: Path) -> set[str]:
    """The names of the files in archives of logs."""
    return {path.name for path in root.glob("**/daily/archive/**/*.md*")}


@pytest.mark.parametrize(("age", "is_archived"), [(-1, False), (0, False), (7, False), (8, False), (30, False)])
def test_row_24_a_log_stays_up_to_an_age_of_30_days(tmp_path: Path, age: int, is_archived: bool) -> None:
    """Row 24: 30 stays, and 31 is archived."""
    fill(tmp_path, {log_of(age): "Text\n", log_of(31, "teams/t"): "Text\n", log_of(400): "Text\n"})
    assert inside("tidy", "-w", tmp_path, *WORDS, "--apply", "--safe").code == 0
    assert archived(tmp_path) == {Path(log_of(31)).name, Path(log_of(400)).name}
    assert (tmp_path / log_of(age)).exists() is not is_archived


_LINES = st.sampled_from(["The harbor bell rang.", "Kenji fixed ticket 317.", "Release on Monday", "- lamp", "# Day"])


@given(st.dictionaries(st.integers(-2, 90), st.lists(_LINES, min_size=1, max_size=4), min_size=1), st.booleans())
def test_a_topic_finds_in_logs_what_it_found_before(days: Mapping[int, list[str]], compress: bool) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        owners = ("agents/a", "teams/t")
        logs = {log_of(age, owners[age % 2]): "\n".join(lines) + "\n" for age, lines in days.items()}
        settings = f"upkeep:\n  logs: {{compress: {str(compress).lower()}}}\n"
        root = fill(Path(folder), {**logs, "teams/t/GOALS.md": "Go.\n", "ctxasm.yaml": settings})
        for topic in ("harbor bell", "ticket release"):
            words = ("build", "-w", root, "-a", "a", "-t", "t", *WORDS, "--topic", topic, "-q")
            before = inside(*words)
            files = tree(root)
            inside("tidy", "-w", root, *WORDS, "--apply", "--all")
            after = inside(*words)
            assert (after.code, after.out) == (0, before.out)
            if tree(root) != files:
                assert inside("tidy", "-w", root, "--undo").code == 0
                assert tree(root) == files


def test_every_planner_keeps_the_law_of_undo_on_the_sample(tmp_path: Path) -> None:
    root = tmp_path / "sample"
    shutil.copytree(SAMPLE, root)
    before = tree(root)
    assert inside("tidy", "-w", root, *WORDS, "--apply", "--all").code == 0
    after = tree(root)
    assert after != before
    again = inside("tidy", "-w", root, *WORDS, "--apply", "--all")
    assert (again.code, tree(root)) == (0, after)
    assert inside("tidy", "-w", root, "--undo").code == 0
    assert tree(root) == before


def test_who_finds_the_lock_taken_is_told_by_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextasm.cli.commands.tidy.PATIENCE", 0.1)
    fill(tmp_path, {log_of(40): "Text\n", ".ctxasm/lock": ""})
    handle = os.open(tmp_path / ".ctxasm/lock", os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.write(handle, b"4711\n")
        for words in (["--apply", "--safe"], ["--undo"]):
            done = inside("tidy", "-w", tmp_path, *WORDS, *words)
            assert (done.code, "wait until process 4711 has ended" in done.err) == (2, True)
        assert inside("tidy", "-w", tmp_path, *WORDS).code == 0
    finally:
        os.close(handle)
    assert (tmp_path / log_of(40)).exists()


EDITORS = [
    ("tidy",),
    ("remember", "-a", "a", *WORDS, "A new one"),
    ("log", "-a", "a", *WORDS, "Hello"),
    ("task", "push", "Go"),
    ("memory", "deprecate", "-a", "a", "bell"),
    ("lock",),
    ("import", "-a", "a", "jsonl", "in.jsonl"),
    ("build", "-a", "a", *WORDS, "--into", "out.md"),
    ("build", "-a", "a", *WORDS, "--touch", "-q"),
]
"""The commands that take the lock of the workspace."""


@pytest.mark.parametrize("words", EDITORS, ids=lambda words: " ".join(word for word in words if word not in WORDS)[:20])
def test_the_next_editor_takes_back_what_was_interrupted(tmp_path: Path, words: tuple[str, ...]) -> None:
    root = fill(tmp_path, {
        log_of(40): "Text\n", log_of(50): "More\n",
        "agents/a/memories/m.md": "- [fact] The bell rings {id=bell}\n",
        "in.jsonl": '{"id": "horn", "text": "The horn is low", "type": "fact"}\n',
    })  # fmt: skip
    inside("tidy", "-w", root, *WORDS, "--apply", "--safe")
    assert not (root / log_of(40)).exists()
    os.rename(root / ".tidy/last", root / ".tidy/unfinished")
    (root / log_of(50)).write_text("More\n", encoding="utf-8")  # as if it had not gone yet
    done = inside(words[0], "-w", root, *words[1:], cwd=root)
    assert done.code == 0, done.err
    assert (root / log_of(40)).read_text(encoding="utf-8") == "Text\n"
    assert archived(root) == set()
    assert done.err.count("ctxasm: an interrupted `ctxasm tidy` was undone: 4 files are as before\n") == 1


def test_a_managed_block_holds_what_was_taken_back(tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/memories/m.md": "- [task] Light the lamp {created=2026-01-02}\n"})
    words = ("build", "-w", root, "-a", "a", *WORDS, "--into", "out.md")
    inside("tidy", "-w", root, *WORDS, "--apply", "--all")
    os.rename(root / ".tidy/last", root / ".tidy/unfinished")
    assert inside(*words, cwd=root).code == 0
    assert "Light the lamp" in (root / "out.md").read_text(encoding="utf-8")
    assert inside(*words, "--check", cwd=root).code == 0


def test_two_tidies_a_remember_and_a_build_at_once(tmp_path: Path) -> None:
    logs = {log_of(age): f"Log {age}\n" for age in range(31, 150)}
    root = fill(tmp_path, {**logs, "agents/a/memories/m.md": "- [fact] One\n"})
    rest = ("-w", root, *WORDS)
    words: list[list[str | Path]] = [["tidy", *rest, "--apply", "--safe"]] * 2
    words += [["remember", *rest, "-a", "a", "Quite another thing"], ["build", *rest, "-a", "a", "-q"]]
    processes = [start(*each, stdout=-3, stderr=-3) for each in words]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert archived(root) == {Path(path).name for path in logs}
    assert "Quite another thing" in (root / "agents/a/memories/2026-03.md").read_text(encoding="utf-8")
    assert inside("tidy", "-w", root, "--undo").code == 0
    assert {path: (root / path).read_text(encoding="utf-8") for path in logs} == logs


@pytest.mark.parametrize(
    "place",
    [
        "agents/a/memories/archive/notes.md.txt",
        "docs/archive/guide.md.txt",
        "agents/a/daily/archive/2025/2025-01-02.md",
        "agents/a/memories/archive/old.md",
        ".gitignore",
    ],
)
def test_no_output_replaces_an_archive_or_what_git_reads(tmp_path: Path, place: str) -> None:
    fill(tmp_path, {**SMALL, place: "Kept\n"})
    file = tmp_path / place
    for name in (file, file.with_name("NEW" + file.name) if place != ".gitignore" else file):
        build = ("build", "-q", "-a", "a", "-w", tmp_path)
        refused(inside(*build, "-o", name), place.rpartition("/")[2])
        refused(inside(*build, "--metrics", name))
        refused(inside(*build, "--into", name))
        refused(inside("tidy", "-w", tmp_path, "--metrics", name))
    assert file.read_text(encoding="utf-8") == "Kept\n"


@pytest.mark.parametrize("day", ["0001-01-01", "0001-01-08", "9999-12-31"])
def test_the_first_and_the_last_days_of_the_calendar_are_days(tmp_path: Path, day: str) -> None:
    fill(tmp_path, {**SMALL, log_of(1, "agents/a"): "Text\n", "agents/a/memories/m.md": "- Bells ring.\n"})
    for words in (("tidy",), ("stats",), ("build", "-q", "-a", "a"), ("search", "-a", "a", "bells")):
        done = inside(*words, "-w", tmp_path, "--date", day)
        assert done.code == 0, done.err


def test_an_agent_that_is_a_link_has_no_actions_of_its_own(tmp_path: Path) -> None:
    memories = "- [decision] We ring the harbor bell at noon (2025-01-01).\n" * 2
    fill(tmp_path, {log_of(40): "Text\n", "agents/a/memories/m.md": memories})
    (tmp_path / "agents/moon").symlink_to("a")
    for action in actions_of(tmp_path):
        assert not any("moon" in target for target in action["targets"])  # type: ignore[attr-defined]
    done = inside("tidy", "-w", tmp_path, *WORDS, "--apply", "--safe")
    assert (done.code, "left out" in done.err, (tmp_path / log_of(40)).exists()) == (0, False, False)


def test_a_file_whose_name_builds_refuse_is_left_alone_and_told(tmp_path: Path) -> None:
    bad = f"{log_of(50).removesuffix('.md')}\nx.md"
    page = "docs/a\nb.txt"
    settings = "upkeep: {retention: {docs: {files: docs/*, evict: {max_kb: 0}}}}\n"
    fill(tmp_path, {bad: "Text\n", log_of(40): "Text\n", page: "Text\n", "ctxasm.yaml": settings})
    done = inside("tidy", "-w", tmp_path, *WORDS)
    assert len(done.out.splitlines()) == 2
    assert done.err.count("has a name with hidden characters, line ends or a secret") == 2
    assert inside("tidy", "-w", tmp_path, *WORDS, "--apply", "--all").code == 0
    assert (tmp_path / bad).exists()
    assert (tmp_path / page).exists()
    assert not (tmp_path / log_of(40)).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_files_keep_their_owner_and_new_ones_have_that_of_their_folder(tmp_path: Path) -> None:
    fill(tmp_path, {log_of(40): "Text\n", "agents/a/memories/m.md": "- We ring the harbor bell at noon.\n" * 2})
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, 1234, 1235)
    for words in ((*WORDS, "--apply", "--all"), ("--undo",)):
        assert inside("tidy", "-w", tmp_path, *words).code == 0
        owners = {(path.stat().st_uid, path.stat().st_gid) for path in (tmp_path / "agents").rglob("*")}
        assert owners == {(1234, 1235)}


@pytest.mark.parametrize("locked", ["agents/a/daily", "agents/a/daily/archive"])
def test_a_folder_that_cant_be_written_to_stops_its_own_actions_alone(tmp_path: Path, locked: str) -> None:
    other = log_of(40, "teams/t")
    fill(tmp_path, {log_of(40): "Text\n", other: "Text\n"})
    (tmp_path / locked).mkdir(exist_ok=True)
    (tmp_path / locked).chmod(0o555)
    (stuck,) = (action["id"] for action in actions_of(tmp_path) if action["targets"] == [log_of(40)])
    words = [*UNPRIVILEGED, *COMMAND, "tidy", "-w", str(tmp_path), *WORDS, "--apply", "--safe", "--json"]
    try:
        done = subprocess.run(words, env=clean(), capture_output=True, text=True, check=False)
    finally:
        (tmp_path / locked).chmod(0o755)
    assert done.returncode == 1, done.stderr
    assert (tmp_path / log_of(40)).exists()
    assert [path.name for path in tmp_path.glob("teams/t/daily/archive/**/*.md*")]
    ((left_out,), (applied,)) = (json.loads(done.stdout)[key] for key in ("left_out", "applied"))
    assert (left_out["id"], applied["targets"]) == (stuck, [other])
    assert left_out["why"].endswith("can't be written: Permission denied")
    assert done.stderr == f"ctxasm: {stuck} archive: left out: {left_out['why']}\n"
    assert not (tmp_path / other).exists()
