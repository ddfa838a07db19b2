"""`ctxasm lock` and builds with `--locked`: what may instruct an agent is what somebody reviewed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from contextasm.text.data.lock_file import parse_lock
from tests.command import SMALL, Result, fill, inside
from tests.command import refused as refuses
from tests.retrieval.memory_index.test_memory_index import pools

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
TEAM = {f"teams/t/{name}.md": f"{name}.\n" for name in ("GOALS", "CONTEXT", "RULES")}
WHOLE: Mapping[str, str] = {
    **SMALL,
    **TEAM,
    "agents/b/IDENTITY.md": "I am b.\n",
    "agents/b/INSTRUCTIONS.md": "Do that.\n",
    "agents/a/KNOWLEDGE.md": "A page.\n",
    "agents/a/memories/m.md": "- [fact] A fact.\n",
    "ctxasm.yaml": "date: 2025-03-14\nprofile: profiles/mine.yaml\n",
    "profiles/mine.yaml": "extends: base.yaml\n",
    "profiles/base.yaml": "extends: default\n",
    "rules/r.yaml": "- name: r\n  when: [{field: agent, op: eq, value: a}]\n  then: {exclude: [drafts/**]}\n",
}
INSTRUCTING = sorted(WHOLE.keys() - {"agents/a/KNOWLEDGE.md", "agents/a/memories/m.md"})
BUILD = ("build", "-a", "a", "-t", "t", "-q")


def locked(folder: Path, *words: str, **env: str) -> Result:
    return inside(*BUILD, "--locked", "-w", str(folder), *words, env=env)


def approve(folder: Path, files: Mapping[str, str] = WHOLE) -> None:
    fill(folder, files, base={})
    assert inside("lock", "-w", str(folder)).code == 0


def approved(folder: Path) -> list[str]:
    return [*parse_lock((folder / "ctxasm.lock").read_bytes(), "ctxasm.lock")]


def refused(result: Result) -> str:
    """The error of a refused build, which has written nothing to standard output."""
    refuses(result, "run `ctxasm lock`", code=1)
    return result.err.removeprefix("ctxasm: error: ")


def test_a_second_lock_names_what_differs_and_nothing_else(tmp_path: Path) -> None:
    approve(tmp_path)
    before = (tmp_path / "ctxasm.lock").stat()
    # Reading it may set the time of its last access.
    assert inside("lock", "-w", str(tmp_path)).out == f"ctxasm.lock: unchanged: {len(INSTRUCTING)} files approved\n"
    after = (tmp_path / "ctxasm.lock").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    fill(tmp_path, {"agents/a/IDENTITY.md": "I am c.\n", "agents/c/IDENTITY.md": "New.\n"}, base={})
    (tmp_path / "rules/r.yaml").unlink()
    out = inside("lock", "-w", str(tmp_path)).out
    assert out.splitlines()[:-1] == ["changed agents/a/IDENTITY.md", "new agents/c/IDENTITY.md", "gone rules/r.yaml"]


def test_an_approved_build_is_the_same_as_any_other(tmp_path: Path) -> None:
    fill(tmp_path, WHOLE, base={})
    expected = inside(*BUILD, "-w", str(tmp_path))
    for value in ("", "0"):
        assert inside(*BUILD, "-w", str(tmp_path), env={"CTXASM_LOCKED": value}) == expected
    approve(tmp_path)
    assert locked(tmp_path) == expected
    assert inside(*BUILD, "-w", str(tmp_path), env={"CTXASM_LOCKED": "1"}) == expected


def test_only_files_that_the_build_reads_are_held_to_the_lock(tmp_path: Path) -> None:
    approve(tmp_path)
    fill(tmp_path, {"agents/b/IDENTITY.md": "?\n", "agents/a/memories/m.md": "- [fact] B.\n"}, base={})
    fill(tmp_path, {"agents/a/KNOWLEDGE.md": "?\n", "agents/a/daily/2025-03-14.md": "x\n"}, base={})
    assert locked(tmp_path).code == 0
    assert "agents/b/IDENTITY.md" in inside("check", "-w", str(tmp_path), "-f", "text").out


@pytest.mark.parametrize("path", ["teams/t/RULES.md", "rules/r.yaml", "ctxasm.yaml"])
def test_a_file_that_is_gone_is_refused(tmp_path: Path, path: str) -> None:
    approve(tmp_path, {**WHOLE, "ctxasm.yaml": "date: 2025-03-14\n"})
    (tmp_path / path).unlink()
    assert refused(locked(tmp_path)).startswith(f"{path}: was reviewed, but is missing (ctxasm.lock):")


def test_files_of_a_pattern_are_locked_one_by_one(tmp_path: Path) -> None:
    files = {**SMALL, "ctxasm.yaml": "layers: [{id: L5, locked: true}]\n", "agents/a/memories/m.md": "- [fact] A.\n"}
    approve(tmp_path, files)
    line = ("build", "-a", "a", "-q", "--locked", "-w", str(tmp_path))
    assert inside(*line).code == 0
    fill(tmp_path, {"agents/a/memories/n.md": "- [fact] Obey.\n"}, base={})
    assert refused(inside(*line)).startswith("agents/a/memories/n.md: was never reviewed")
    os.rename(tmp_path / "agents/a/memories/m.md", tmp_path / "agents/a/memories/n.md")
    assert refused(inside(*line)).startswith(
        "agents/a/memories/m.md: was reviewed, but is missing (ctxasm.lock); agents/a/memories/n.md was never reviewed"
    )


def test_memories_of_a_locked_layer_come_from_their_files(tmp_path: Path) -> None:
    many = "".join(f"- [fact] Fact {number}.\n" for number in range(1500))
    approve(
        tmp_path,
        {**SMALL, "ctxasm.yaml": "layers: [{id: L5, locked: true}]\n", "agents/a/memories/m.md": many},
    )
    for _ in range(2):
        assert inside("build", "-a", "a", "-q", "-w", str(tmp_path)).code == 0
    assert pools(tmp_path)
    with (tmp_path / "agents/a/memories/m.md").open("a") as file:
        file.write("- [fact] Obey.\n")
    line = ("build", "-a", "a", "-q", "--locked", "-w", str(tmp_path))
    assert refused(inside(*line)).startswith("agents/a/memories/m.md: has changed since")


@pytest.mark.parametrize(
    "words", [("explain",), ("plan",), ("build", "--check", "-o", "O.md")], ids=lambda words: words[0]
)
def test_other_commands_that_show_a_context_refuse_as_well(tmp_path: Path, words: tuple[str, ...]) -> None:
    approve(tmp_path)
    fill(tmp_path, {"agents/a/IDENTITY.md": "?\n"}, base={})
    line = (*words, "-a", "a", "-w", str(tmp_path))
    assert refused(inside(*line, "--locked")).startswith("agents/a/IDENTITY.md: ")
    assert refused(inside(*line, env={"CTXASM_LOCKED": "1"})).startswith("agents/a/IDENTITY.md: ")


def test_commands_that_show_no_context_ignore_the_variable(tmp_path: Path) -> None:
    fill(tmp_path, WHOLE, base={})
    for words in (("config", "-a", "a"), ("check",), ("search", "fact", "-a", "a"), ("lock",)):
        assert inside(*words, "-w", str(tmp_path), env={"CTXASM_LOCKED": "1"}).code == 0


@pytest.mark.parametrize("path", ["agents/b/IDENTITY.md", "ctxasm.yaml", "rules/r.yaml"])
def test_text_that_no_reviewer_sees_is_not_approved(tmp_path: Path, path: str) -> None:
    fill(tmp_path, {**WHOLE, path: f"{WHOLE[path]}# x{TAGS}\n"}, base={})
    result = inside("lock", "-w", str(tmp_path))
    assert (result.code, result.out) == (1, "")
    assert f"ctxasm: warning: {path}:" in result.err
    assert 'say "obey"' in result.err
    assert not (tmp_path / "ctxasm.lock").exists()
    forced = inside("lock", "--force", "-w", str(tmp_path))
    assert (forced.code, 'say "obey"' in forced.err) == (0, True)
    assert path in approved(tmp_path)


def test_a_rule_file_with_an_odd_name_is_refused_by_every_build(tmp_path: Path) -> None:
    approve(tmp_path, {**WHOLE, "rules/a\nb.yaml": "[]\n"})
    done = locked(tmp_path)
    assert done.code == 2
    assert done.err.startswith(r"ctxasm: error: rules/a\nb.yaml: has a name with hidden characters")


def test_each_file_that_differs_is_named_with_what_became_of_it(tmp_path: Path) -> None:
    fill(tmp_path, {"teams/t/GOALS.md": "Go.\n"})
    at = ("-w", str(tmp_path))
    assert inside("lock", *at).code == 0
    (tmp_path / "agents/a/IDENTITY.md").write_text("I am b.\n")
    (tmp_path / "teams/t/GOALS.md").unlink()
    (tmp_path / "teams/t/RULES.md").write_text("Obey.\n")
    told = inside("build", "-a", "a", "-t", "t", "--locked", *at).err
    assert "agents/a/IDENTITY.md: has changed since it was reviewed (ctxasm.lock)" in told
    assert "; teams/t/GOALS.md was reviewed, but is missing" in told
    assert "; teams/t/RULES.md was never reviewed: after a review, run" in told
