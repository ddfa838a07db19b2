"""Retention in a workspace: policies, places, and uses that records tell of (digest 4, KV policy; rows 100 to 102)."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.settings import load_settings_file
from contextasm.config.keys.upkeep import parse_upkeep
from contextasm.model import Problem, Summarizer
from contextasm.upkeep.actions import Action
from contextasm.upkeep.input import UpkeepInput
from contextasm.upkeep.retention import SHORTENED_MARK, plan_retention
from contextasm.workspace.editing.memory_file import Edit
from contextasm.workspace.folder import Folder
from tests.command import ROOT, fill, inside

DAY = date(2025, 3, 14)
LONG = "# Harbor\n\nThe harbor has two gates. Each is shut at dusk, and a bell is rung before that.\n" + (
    "\n- Ropes are coiled. They lie clockwise, since the left-handed knot slips in frost and in rain.\n" * 4
)
SMALL = {
    "agents/a/IDENTITY.md": "I am a.\n",
    "agents/a/INSTRUCTIONS.md": "Do it.\n",
    "agents/b/IDENTITY.md": "I am b.\n",
    "agents/b/INSTRUCTIONS.md": "Do it.\n",
}


def workspace(root: Path, policies: str, files: Mapping[str, str | bytes], age: int = 40) -> Path:
    """A workspace with two agents whose files were last changed `age` days ago."""
    indented = "".join(f"    {line}\n" for line in policies.splitlines())
    retention = f"upkeep:\n  retention:\n{indented}" if policies else ""
    fill(root, {**SMALL, **files, "ctxasm.yaml": f"date: {DAY}\n{retention}"})
    changed = datetime(DAY.year, DAY.month, DAY.day, 12, tzinfo=UTC) - timedelta(days=age)
    for path in root.rglob("*"):
        os.utime(path, (changed.timestamp(), changed.timestamp()))
    return root


def record(root: Path, *days: str, agent: str = "a") -> None:
    """Record a build of each day."""
    for day in days:
        done = inside("build", "-w", root, "-a", agent, "--date", day, "--record")
        assert done.code == 0, done.err


def plan(root: Path, summarizer: Summarizer | None = None) -> list[Action]:
    """The actions of the planner."""
    folder = Folder(root)
    settings_file = load_settings_file(folder)
    settings = parse_upkeep(settings_file)
    return list(plan_retention(UpkeepInput(folder, settings, settings_file, DAY, summarizer)))


def carry_out(root: Path, actions: list[Action]) -> None:
    """Do what the actions say, without the archive of edits: that is of the application, not of the planner."""
    edits: dict[str, list[Edit]] = {}
    for action in actions:
        for edit in action.edits:
            edits.setdefault(edit.path, []).append(edit)
        for move in action.moves:
            data = (root / move.path).read_bytes()
            target = root / move.target
            assert not target.exists()
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(gzip.compress(data) if target.suffix == ".gz" else data)
            (root / move.path).unlink()
    for path, placed in edits.items():
        data = (root / path).read_bytes()
        for edit in sorted(placed, key=lambda each: -each.start):
            end = edit.start + len(edit.removed)
            assert data[edit.start : end] == edit.removed
            data = data[: edit.start] + edit.added + data[end:]
        (root / path).write_bytes(data)


def verbs(actions: list[Action]) -> list[tuple[str, ...]]:
    """Verb and targets of each action."""
    return [(action.verb, *action.targets) for action in actions]


DOCS = "docs: {files: 'docs/**/*.md', compress: {}, evict: {max_kb: 1}}"


def test_the_three_policies_to_copy_of_source_003_are_settings(tmp_path: Path) -> None:
    page = (ROOT / "docs/upkeep.md").read_text(encoding="utf-8")
    settings = page.partition("### Three policies to copy")[2].partition("```yaml\n")[2].partition("```")[0]
    root = fill(tmp_path, {"ctxasm.yaml": settings, "src/a.py": "a = 1", "docs/a.md": "A.", "papers/p.md": "P."})
    policies = parse_upkeep(load_settings_file(Folder(root))).retention
    weights = {policy.name: policy.evict and policy.evict.lru for policy in policies}
    assert weights == {"code": 0.6, "documentation": 0.4, "papers": 0.2}
    done = inside("tidy", cwd=root)
    assert (done.code, "nothing to do" in done.out + done.err) == (0, True)


def test_without_policies_there_is_no_action(tmp_path: Path) -> None:
    root = workspace(tmp_path, "", {"docs/a.md": LONG * 9})
    record(root, "2025-03-12", "2025-03-13")
    assert plan(root) == []


def test_without_records_nothing_goes_for_lack_of_use(tmp_path: Path) -> None:
    """Row 101 and 102: uses are unknown then."""
    root = workspace(tmp_path, DOCS, {"docs/a.md": LONG * 9})
    assert verbs(plan(root)) == [("skip", "docs")]
    record(root, "2025-03-12", "2025-03-13")
    assert verbs(plan(root)) == [("evict", "docs/a.md")]


def test_records_of_builds_before_a_file_was_there_tell_nothing_of_it(tmp_path: Path) -> None:
    policy = "docs: {files: ['docs/*.md', 'agents/*/notes/*.md'], evict: {max_kb: 0}}"
    root = workspace(tmp_path, policy, {"docs/a.md": LONG, "agents/b/notes/n.md": LONG}, age=3)
    record(root, "2025-03-01")
    assert verbs(plan(root)) == [("skip", "docs")]
    record(root, "2025-03-12")
    assert verbs(plan(root)) == [("evict", "docs/a.md"), ("skip", "docs")]


def test_an_old_file_of_few_uses_is_shortened_and_its_text_goes_to_the_archive(tmp_path: Path) -> None:
    """Row 101: warm is a shorter form of its own sentences; a second plan has nothing to do."""
    root = workspace(tmp_path, "docs: {files: docs/*.md, compress: {}}", {"docs/a.md": f"---\ntag: x\n---\n{LONG}"})
    record(root, "2025-03-12", "2025-03-13")
    (action,) = plan(root)
    (edit,) = action.edits
    assert (action.verb, action.targets, action.needs_approval) == ("shorten", ("docs/a.md",), True)
    assert edit.is_archived
    assert edit.removed == (root / "docs/a.md").read_bytes()
    carry_out(root, [action])
    text = (root / "docs/a.md").read_text(encoding="utf-8")
    assert text.startswith("---\ntag: x\n---\n# Harbor\n\nThe harbor has two gates.\n")
    assert text.endswith(f"\n\n{SHORTENED_MARK}\n")
    assert len(text) <= 0.8 * len(edit.removed)
    assert action.tokens_saved > 0
    assert plan(root) == []


def test_a_file_that_builds_show_is_not_shortened(tmp_path: Path) -> None:
    """Row 101: two uses are not fewer than two, and a use is the record of a build that shows the file."""
    policy = "knowledge: {files: agents/*/KNOWLEDGE.md, compress: {uses_below: 2}}"
    root = workspace(tmp_path, policy, {"agents/a/KNOWLEDGE.md": LONG, "agents/b/KNOWLEDGE.md": LONG})
    record(root, "2025-03-12", "2025-03-13")
    assert plan(root) == []
    record(root, "2025-03-12", agent="b")
    assert plan(root) == []  # one build for b can't tell fewer than two uses from one


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LONG + "\n- The code is seven. It is told to nobody at all. {private=true}\n", id="private part"),
        pytest.param(LONG + f"\n{SHORTENED_MARK}\n", id="shortened before"),
        pytest.param("Short.\n", id="nothing shorter"),
    ],
)
def test_some_files_have_no_shorter_form(tmp_path: Path, text: str) -> None:
    root = workspace(tmp_path, "docs: {files: docs/*.md, compress: {}}", {"docs/a.md": text})
    record(root, "2025-03-12", "2025-03-13")
    assert plan(root) == []


def test_a_file_with_a_managed_block_is_not_shortened(tmp_path: Path) -> None:
    root = workspace(tmp_path, "docs: {files: docs/*.md, compress: {}}", {"docs/a.md": LONG})
    record(root, "2025-03-12", "2025-03-13")
    assert len(plan(root)) == 1
    assert inside("build", "-w", root, "-a", "a", "--into", root / "docs/a.md").code == 0
    os.utime(root / "docs/a.md", (0, 0))
    assert plan(root) == []


def test_a_shorter_form_keeps_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    data = b"\xef\xbb\xbf" + (f"# {secret}\n\n{LONG}").replace("\n", "\r\n").encode()
    root = workspace(tmp_path, "docs: {files: docs/*.md, compress: {}}", {"docs/a.md": data})
    record(root, "2025-03-12", "2025-03-13")
    carry_out(root, plan(root))
    short = (root / "docs/a.md").read_bytes()
    assert short.startswith(b"\xef\xbb\xbf# " + secret.encode())
    assert len(short) < len(data)
    assert short.count(b"\n") == short.count(b"\r\n")


def test_the_summarizer_words_the_shorter_form_if_the_policy_says_so(tmp_path: Path) -> None:
    policy = "docs: {files: docs/*.md, compress: {summarize: true}}"
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    root = workspace(tmp_path, policy, {"docs/a.md": f"{LONG}\n{secret}\n"})
    record(root, "2025-03-12", "2025-03-13")
    asked: list[str] = []

    def summarize(text: str) -> str:
        asked.append(text)
        return "All of the harbor in a few words."

    (action,) = plan(root, summarize)
    assert action.edits[0].added.decode() == f"All of the harbor in a few words.\n\n{SHORTENED_MARK}\n"
    assert secret not in asked[0]
    (action,) = plan(root, lambda _: Problem("summarizer", "ctxasm.yaml", 1, "fails"))
    assert b"The harbor has two gates." in action.edits[0].added


def test_places_of_evicted_files(tmp_path: Path) -> None:
    """Row 102: cold is the archive beside the file, frozen the same compressed; a name that is taken gets a number."""
    policies = "cold: {files: docs/*.md, evict: {max_kb: 0}}\nfrozen: {files: ice/**/*, evict: {max_kb: 0, to: frozen}}"
    files: dict[str, str | bytes] = {"docs/a.md": LONG, "docs/archive/a.md": "older\n", "ice/deep/b.txt": b"\x00\xff"}
    root = workspace(tmp_path, policies, files)
    record(root, "2025-03-12")
    actions = plan(root)
    moves = {move.path: move.target for action in actions for move in action.moves}
    assert moves == {"docs/a.md": "docs/archive/a-2.md", "ice/deep/b.txt": "ice/deep/archive/b.txt.gz"}
    carry_out(root, actions)
    assert gzip.decompress((root / "ice/deep/archive/b.txt.gz").read_bytes()) == b"\x00\xff"
    assert plan(root) == []


def test_logs_are_evicted_to_the_archive_of_their_year_and_never_shortened(tmp_path: Path) -> None:
    files = {f"agents/a/daily/{day}.md": LONG for day in ("2025-01-01", "2025-02-20", "2025-03-13")}
    root = workspace(tmp_path, "logs: {files: '*/*/daily/*.md', compress: {}, evict: {max_kb: 0.7}}", files)
    record(root, "2025-03-14", "2025-03-13")
    (action,) = plan(root)
    assert action.moves == (("agents/a/daily/2025-02-20.md", "agents/a/daily/archive/2025/2025-02-20.md"),)


def test_pinned_files_never_move(tmp_path: Path) -> None:
    """Row 100: pins of the policy, files that instruct an agent, and those that the approval lock is made of."""
    policy = "all: {files: ['**/*.md', '*.yaml', rules/*.yaml], pin: {files: docs/keep*}, evict: {max_kb: 0}}"
    root = workspace(tmp_path, policy, {"docs/a.md": LONG, "docs/keep.md": LONG, "rules/r.yaml": ""})
    record(root, "2025-03-12")
    record(root, "2025-03-12", agent="b")
    assert verbs(plan(root)) == [("evict", "docs/a.md")]


def test_memories_go_one_by_one_by_type(tmp_path: Path) -> None:
    """Row 102: other types, pinned memories, comments and headings stay as they were written."""
    text = (
        "# March\n\n<!-- by hand -->\n- [fact] One {importance=0.1}\n  goes on\n- [fact] Two {pin=true}\n"
        "- [decision] Three\n\n* [fact] Four {importance=0.9 created=2025-03-13}\n<!-- end\nof it -->\n"
    )
    path = "agents/a/memories/2025-02.md"
    root = workspace(tmp_path, "facts: {types: fact, evict: {max_kb: 0.1, lru: 0}}", {path: text})
    actions = plan(root)
    carry_out(root, actions)
    left = (root / path).read_text(encoding="utf-8")
    assert left == text.replace("- [fact] One {importance=0.1}\n  goes on\n", "")
    assert all(edit.is_archived for action in actions for edit in action.edits)
    assert plan(root) == []


def test_a_record_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    root = workspace(tmp_path, "docs: {files: docs/*.md, evict: {max_kb: 0}}", {"docs/a.md": LONG})
    record(root, "2025-03-12")
    (root / ".ctxasm/records/0000.json").write_text('{"schema": "ctxasm.record/1"', encoding="utf-8")
    assert verbs(plan(root)) == [("skip", ".ctxasm/records/0000.json"), ("evict", "docs/a.md")]


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 6)), min_size=1, max_size=6, unique_by=lambda p: p[0]),
    st.integers(0, 40).map(lambda tenths: tenths / 10),
    st.booleans(),
    st.sets(st.sampled_from("abcdef")),
)
def test_a_plan_carried_out_keeps_to_the_limit_and_leaves_nothing_to_do(
    files: list[tuple[str, int]], limit: float, compresses: bool, pinned: set[str]
) -> None:
    """Row 102; pinned files are as they were, and every byte of the others is in a file or in an edit's removal."""
    pins = ", ".join(f"docs/{name}.md" for name in sorted(pinned))
    pin = f", pin: {{files: [{pins}]}}" if pins else ""
    compress = ", compress: {after_days: 5}" if compresses else ""
    policy = f"docs: {{files: docs/*.md{pin}{compress}, evict: {{max_kb: {limit}}}}}"
    with tempfile.TemporaryDirectory() as folder:
        root = workspace(Path(folder), policy, {f"docs/{name}.md": LONG * size for name, size in files})
        record(root, "2025-03-12", "2025-03-13")
        before = {path: path.read_bytes() for path in root.glob("docs/*.md")}
        actions = plan(root)
        carry_out(root, actions)
        after = {path: path.read_bytes() for path in root.glob("docs/*.md")}
        fixed = {path for path in before if path.stem in pinned}
        assert {path: after.get(path) for path in fixed} == {path: before[path] for path in fixed}
        assert sum(map(len, after.values())) <= limit * 1024 or set(after) <= fixed
        kept = {*after.values(), *(path.read_bytes() for path in root.glob("docs/archive/*"))}
        kept |= {edit.removed for action in actions for edit in action.edits}
        assert set(before.values()) <= kept
        assert plan(root) == []


MEMORIES = "agents/a/memories/m.md"


def test_an_evicted_memory_takes_along_what_would_be_shown_again_without_it(tmp_path: Path) -> None:
    policy = "facts: {types: fact, evict: {max_kb: 0, lru: 0}}"
    text = "- [note] Port 80 {id=old}\n- [fact] Port 81 {id=new supersedes=old}\n- [note] Other\n"
    root = workspace(tmp_path, policy, {MEMORIES: text})
    (action,) = plan(root)
    assert action.targets == (f"{MEMORIES}#new", f"{MEMORIES}#old")
    carry_out(root, [action])
    assert (root / MEMORIES).read_text(encoding="utf-8") == "- [note] Other\n"


@pytest.mark.parametrize("first", ["old", "new"])
def test_of_two_evicted_memories_the_newer_one_takes_the_older_one_along(tmp_path: Path, first: str) -> None:
    policy = "facts: {types: fact, evict: {max_kb: 0, lru: 0}}"
    importance = {"old": 0.9, "new": 0.9, first: 0.1}
    text = (
        f"- [fact] Port 80 {{id=old importance={importance['old']}}}\n"
        f"- [fact] Port 81 {{id=new supersedes=old importance={importance['new']}}}\n"
    )
    root = workspace(tmp_path, policy, {MEMORIES: text})
    assert verbs(plan(root)) == [("evict", f"{MEMORIES}#new", f"{MEMORIES}#old")]


@pytest.mark.parametrize(
    "text",
    [
        "- [note] Port 80 {id=old pin=true}\n- [fact] Port 81 {supersedes=old}\n",
        "- [fact] Port 80 {id=x}\n- [fact] Port 81 {id=x}\n",
        "- [fact] Port 80\n<!-- why\nso -->\n  and more\n",
    ],
    ids=["pinned-follower", "shared-id", "comment"],
)
def test_a_memory_that_may_not_leave_is_not_evicted(tmp_path: Path, text: str) -> None:
    root = workspace(tmp_path, "facts: {types: fact, evict: {max_kb: 0, lru: 0}}", {MEMORIES: text})
    assert plan(root) == []


def test_a_policy_that_lacks_records_says_so(tmp_path: Path) -> None:
    policy = "docs: {files: docs/*.md, evict: {max_kb: 1}}\n"
    root = workspace(tmp_path, policy, {"docs/a.md": LONG * 3, "docs/b.md": LONG * 3})
    told = inside("tidy", "-w", root)
    assert "docs keeps 2." in told.out
    assert "the uses of 2 of its items are unknown: record builds with `ctxasm build --record`" in " ".join(
        told.out.split()
    )
    assert "there is nothing to do" not in told.err
    assert inside("tidy", "--apply", "--all", "-w", root).code == 0
    small = workspace(tmp_path / "small", policy.replace("1}", "9}"), {"docs/a.md": LONG})
    assert "there is nothing to do" in inside("tidy", "-w", small).err
