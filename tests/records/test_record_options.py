"""Records know everything that decided: options, deadline, settings, rules and profiles (law 8)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from contextasm.model import ContextasmError
from contextasm.records.record import Record, encode_record, parse_record
from tests.command import fill, inside, python
from tests.records.test_records import SCHEMA, recorded, records

DAY = "date: 2025-03-14\n"
KNOWLEDGE = "agents/a/KNOWLEDGE.md"
GOALS = "teams/t/GOALS.md"

FILES = {
    "ctxasm.yaml": DAY,
    KNOWLEDGE: "Known.\n",
    GOALS: "Goals.\n",
    "agents/a/daily/2025-03-14.md": "Did this.\n",
    "agents/a/daily/2025-03-10.md": "Did that.\n",
    "agents/a/memories/m.md": "- [fact] one pear {id=m1}\n- [fact] two plums {id=m2}\n",
    "teams/t/memories/m.md": "- [decision] three pears {id=m3}\n",
    "rules/r.yaml": (
        "- name: beta\n  when: {field: var.phase, op: eq, value: beta}\n  then: {exclude: ['agents/a/K*']}\n"
    ),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fill(tmp_path / "ws", FILES)


def changes(record: Path, *words: str | Path, cwd: Path | str = "/") -> list[Any]:
    """The changes that `diff` sees between a record and the workspace as it is."""
    done = inside("diff", record, *words, "--json", cwd=cwd)
    assert done.code == 0, done.err
    return list(json.loads(done.out)["changes"])


OPTIONS: Sequence[tuple[str, ...]] = (
    ("--exclude", GOALS),
    ("--exclude", "m1", "--exclude", "agents/a/daily/*"),
    ("--since", "2025-03-12"),
    ("--open", KNOWLEDGE),
    ("--scope", "L5"),
    ("--scope", "L2,L3"),
    ("--var", "phase=beta"),
    ("--layer", "L5=20"),
    ("-b", "60"),
    ("--topic", "pear"),
    ("--date", "2025-03-11"),
    ("--tokenizer", "o200k_base"),
    ("-f", "xml"),
    ("--session", "s1"),
    ("--additional", "More."),
    ("--prefer", "m2"),
    ("--event-type", "message"),
    ("--entity-type", "person"),
    ("-p", "memory"),
    ("-p", "query", "--strategy", "coding"),
)
"""Options of a build, those that have an effect here and those that have none."""


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_other_side_of_a_record_is_built_with_its_options(root: Path, words: tuple[str, ...]) -> None:
    team = () if {"memory", "query"} & {*words} else ("-t", "t")
    built = inside("build", "-q", "-w", root, *team, *words)
    if built.code:
        pytest.skip(built.err)
    assert changes(recorded(root, *team, *words)) == []


def test_json_of_a_request_names_its_strategy(root: Path) -> None:
    words = ("build", "-w", root, "-p", "query", "--strategy", "coding", "-f", "json")
    assert json.loads(inside(*words).out)["request"]["strategy"] == "coding"


def test_options_given_to_diff_count_more_than_those_of_the_record(root: Path) -> None:
    record = recorded(root, "-t", "t", "--exclude", GOALS)
    [change] = changes(record, "--exclude", KNOWLEDGE)[:1]
    assert (change["kind"], change["path"]) == ("entered", GOALS)


def test_record_of_a_profile_file_is_compared_from_any_folder(root: Path, tmp_path: Path) -> None:
    (tmp_path / "prof.yaml").write_text("extends: default\nlayers:\n  - {id: L7, heading: Known Things}\n")
    assert inside("build", "-q", "-w", root, "-p", "./prof.yaml", "--record", cwd=tmp_path).code == 0
    [record] = records(root)
    assert changes(record) == []
    (tmp_path / "prof.yaml").unlink()
    assert changes(record) == []
    assert f"{tmp_path}/prof.yaml: gone" in inside("diff", record).err


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("rules/r.yaml", "- name: all\n  then: {exclude: ['agents/**']}\n", "changed"),
        ("rules/new.yaml", "- name: new\n  then: {exclude: ['agents/**']}\n", "added"),
        ("ctxasm.yaml", DAY + "budget: 9k\n", "changed"),
        ("profiles/mine.yaml", "extends: default\nbudget: 3k\n", "changed"),
    ],
)
def test_replay_names_a_changed_rule_setting_or_profile(root: Path, path: str, text: str, kind: str) -> None:
    (root / "profiles").mkdir()
    (root / "profiles" / "mine.yaml").write_text("extends: default\n")
    assert inside("build", "-q", "-w", root, "-p", "profiles/mine.yaml", "--record", cwd=root).code == 0
    [record] = records(root)
    assert inside("replay", record).err.startswith("same ")
    (root / path).write_text(text)
    done = inside("replay", record)
    assert done.code == 0
    assert f"ctxasm: note: {path}: {kind}; the replay uses the content in the record\n" in done.err


def test_record_lists_settings_rules_and_profiles_with_their_digests(root: Path) -> None:
    path = recorded(root, "--var", "phase=beta", "--exclude", f"./{GOALS}", "--deadline", "60000")
    fields = json.loads(path.read_text())
    Draft202012Validator(SCHEMA).validate(fields)
    assert [*fields["config_files"]] == ["ctxasm.yaml", "rules/r.yaml"]
    assert all(len(digest) == 64 for digest in fields["config_files"].values())
    assert (fields["options"]["variables"], fields["options"]["deadline"]) == (["phase=beta"], "60000")
    assert fields["rule_evaluation"]["effects"]
    assert [trace["rule"] for trace in fields["rule_traces"]] == ["beta"]


SLOW = """
import sys, time
from contextasm.retrieval.retrieve import SOURCES
plain = SOURCES["recent"]
def slow(query):
    if query.layer.id == "L5":
        time.sleep(60)
    return plain(query)
SOURCES["recent"] = slow
from contextasm.__main__ import main
main()
"""


def test_source_that_timed_out_is_replayed_as_timed_out(root: Path) -> None:
    done = python(SLOW, "build", "-q", "-w", root, "-t", "t", "--deadline", "3000", "--record")
    assert done.code == 0
    [record] = records(root)
    replayed = inside("replay", record)
    assert (replayed.code, replayed.out) == (0, done.out), replayed.err
    assert "one pear" not in done.out
    assert "three pears" in done.out


def test_diff_says_of_a_layer_that_was_late_that_it_was(root: Path) -> None:
    python(SLOW, "build", "-q", "-w", root, "--deadline", "3000", "--record")
    inside("build", "-q", "-w", root, "--record")
    late, whole = sorted(records(root), key=lambda path: "source-timeout" not in path.read_text())
    reasons = [
        [(change["kind"], change["fragment"], change["why"]) for change in changes(one, other)]
        for one, other in ((late, whole), (whole, late))
    ]
    words = "its layer did not answer in time"
    assert reasons[0] == [("entered", name, f"was out: {words}") for name in ("m2", "m1")]
    assert reasons[1] == [("left", name, words) for name in ("m2", "m1")]


NO_TEAM = SLOW.replace('"L5"', '"L4"')


def test_layer_that_is_skipped_for_want_of_a_team_is_not_late(root: Path) -> None:
    done = python(NO_TEAM, "build", "-w", root, "-f", "json", "--deadline", "2000")
    assert (done.code, "source-timeout" in done.err) == (0, False), done.err
    assert json.loads(done.out)["report"]["coverage"] == 1.0


def signed_again(path: Path, **fields: Any) -> None:
    record: Record = parse_record(path.read_bytes(), "record")
    path.write_bytes(encode_record(record._replace(context=record.context._replace(**fields)))[1])


@pytest.mark.parametrize("part", ["sections", "decisions", "allowances", "tokens"])
def test_record_with_false_content_does_not_replay_as_the_same(root: Path, part: str) -> None:
    path = recorded(root)
    record = parse_record(path.read_bytes(), "record")
    false: dict[str, Any] = {
        "sections": (record.context.sections[0]._replace(text="Another identity."), *record.context.sections[1:]),
        "decisions": record.context.decisions[1:],
        "allowances": (),
        "tokens": 1,
    }
    signed_again(path, **{part: false[part]})
    done = inside("replay", path)
    assert (done.code, done.out) == (1, "")
    assert "the inputs are the same, but they do not give the recorded" in done.err
    assert ("text and sections" if part == "sections" else part) in done.err


def test_record_of_an_unknown_layer_is_still_refused(root: Path) -> None:
    path = recorded(root)
    data = json.loads(path.read_bytes())
    data["options"]["colour"] = "red"
    with pytest.raises(ContextasmError, match="damaged"):
        parse_record(json.dumps(data).encode(), "record")


flags = st.lists(st.sampled_from(OPTIONS), max_size=5, unique_by=lambda words: words[0])


@given(flags, st.booleans())
def test_law_8_record_of_any_options_replays_and_is_equal_to_its_build(
    drawn: list[tuple[str, ...]], team: bool
) -> None:
    with TemporaryDirectory() as name:
        folder = fill(Path(os.path.realpath(name)), FILES)
        words = [word for option in drawn for word in option] + (["-t", "t"] if team else [])
        done = inside("build", "-w", folder, "--record", *words)
        if done.code:
            assert records(folder) == []
            return
        [record] = records(folder)
        replayed = inside("replay", record)
        assert (replayed.code, replayed.out) == (0, done.out), replayed.err
        assert changes(record) == []


SUMMARIZER = """date: 2025-03-14
summarizer:
  command: [sh, -c, "echo run >> runs; echo In short."]
layers:
  - {id: L5, max_tokens: 30, overflow: [summarize, drop]}
"""
EMBEDDER = """date: 2025-03-14
embedder:
  command: [sh, -c, "echo run >> runs; while read -r line; do echo '[1.0, 0.5]'; done"]
"""


@pytest.mark.parametrize(("settings", "words"), [(SUMMARIZER, ()), (EMBEDDER, ("--topic", "dinner"))])
def test_answers_of_programs_are_replayed_and_no_program_is_run(
    tmp_path: Path, settings: str, words: tuple[str, ...]
) -> None:
    long = " ".join(["A sentence that goes on for a while."] * 12)
    memories = "".join(f"- [note] {long} {number} {{id=m{number}}}\n" for number in range(3))
    root = fill(tmp_path / "ws", {"ctxasm.yaml": settings, "agents/a/memories/a.md": memories})
    env = {"CTXASM_TRUST": os.path.realpath(root), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = inside("build", "-w", root, "--record", *words, env=env)
    assert done.code == 0, done.err
    [record] = records(root)
    Draft202012Validator(SCHEMA).validate(json.loads(record.read_text()))
    runs = (root / "runs").read_text()
    replayed = inside("replay", record)
    assert (replayed.code, replayed.out) == (0, done.out), replayed.err
    assert (root / "runs").read_text() == runs
