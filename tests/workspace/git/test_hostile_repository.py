"""A copied folder whose `.git/config` names a program for every occasion: no command of ours runs one of them.

Settings of a repository are no part of a clone, but they come with a folder that is copied or unpacked.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from contextasm.workspace.git.commands import changed_paths
from tests.command import clean, ends, fill, inside, start
from tests.records.test_diff import GIT

ENVIRONMENT = {**clean(GIT), "GIT_CONFIG_NOSYSTEM": "1"}

SETTINGS = (
    "alias.config",
    "alias.diff-index",
    "alias.ls-files",
    "core.alternateRefsCommand",
    "core.askPass",
    "core.editor",
    "core.fsmonitor",
    "core.gitProxy",
    "core.pager",
    "core.sshCommand",
    "credential.helper",
    "diff.evil.command",
    "diff.evil.textconv",
    "diff.external",
    "filter.evil.clean",
    "filter.evil.process",
    "filter.evil.smudge",
    "filter.spa ce.clean",
    "gpg.program",
    "interactive.diffFilter",
    "merge.evil.driver",
    "pager.diff-index",
    "remote.origin.uploadpack",
)
"""Settings of git that name a program."""

HOOKS = ("post-checkout", "post-index-change", "pre-auto-gc", "pre-commit", "reference-transaction")

FILES = {
    "ctxasm.yaml": """date: 2025-03-14
rules:
  - {name: branch, when: {field: git.branch, op: eq, value: trunk}, then: {exclude: [agents/a/KNOWLEDGE.md]}}
  - {name: changed, when: {field: changed, op: contains, value: code}, then: {exclude: [agents/a/memories/m.md]}}
""",
    "agents/a/KNOWLEDGE.md": "On a branch.\n",
    "agents/a/memories/m.md": "- No code changed\n",
    "code.py": "one = 1\n",
    "other code.py": "two = 2\n",
    ".gitattributes": "* filter=evil diff=evil merge=evil\nother* filter=spa\\ ce\n",
}


def git(folder: Path, *words: str) -> None:
    """Run git with the person's own settings alone."""
    subprocess.run(["git", "-C", str(folder), *words], env=ENVIRONMENT, check=True, capture_output=True)


def program(folder: Path, name: str) -> str:
    """A program that leaves a mark with its name."""
    path = folder / "programs" / name.replace(" ", "_")
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch '{folder}/marks/{path.name}'\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def marks(folder: Path) -> set[str]:
    """Names of the programs that were run."""
    return {path.name for path in (folder / "marks").iterdir()}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The hostile folder, copied with its times: git can't tell by them what has changed, and asks the filters."""
    (tmp_path / "marks").mkdir()
    made = fill(tmp_path / "made", FILES)
    for folder in (made, made / "module"):
        folder.mkdir(exist_ok=True)
        git(folder, "init", "-q", "-b", "trunk")
        (folder / "inner.txt").write_text("inner\n", encoding="utf-8")
        (folder / ".gitattributes").write_text(FILES[".gitattributes"], encoding="utf-8")
        git(folder, "add", ".gitattributes", "inner.txt", *(["agents"] if folder == made else []))
        git(folder, "commit", "-q", "-m", "first")
    git(made, "add", ".")
    git(made, "commit", "-q", "-m", "second")
    (made / "code.py").write_text("one = 11\n", encoding="utf-8")
    for folder in (made, made / "module"):
        for key in SETTINGS:
            git(folder, "config", key, program(tmp_path, key))
        for hook in HOOKS:
            shutil.copy(program(tmp_path, hook), folder / ".git/hooks" / hook)
        git(folder, "config", "core.hooksPath", str(folder / ".git/hooks"))
        included = folder / ".git/more"
        included.write_text(f'[filter "included"]\n\tclean = {program(tmp_path, "included")}\n', encoding="utf-8")
        git(folder, "config", "include.path", "more")
        (folder / ".git/info/attributes").write_text("*.md filter=included\n", encoding="utf-8")
    assert marks(tmp_path) == set()
    shutil.copytree(made, tmp_path / "w", symlinks=True)
    return tmp_path / "w"


COMMANDS = (
    ("build", "-a", "a"),
    ("build", "-a", "a", "-p", "librarian"),
    ("check", "--staged"),
    ("check",),
    ("diff", "HEAD~1"),
    ("diff", "HEAD~1", "HEAD"),
    ("explain", "-a", "a"),
    ("rules", "eval"),
    ("config",),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_program_that_a_copied_repository_names_is_run(copied: Path, words: Sequence[str]) -> None:
    index = (copied / ".git/index").read_bytes()
    result = inside(*words, cwd=copied, env=GIT)
    assert result.code in {0, 1}, result.err
    assert marks(copied.parent) == set()
    assert (copied / ".git/index").read_bytes() == index


def test_changes_and_branch_of_a_copied_repository_are_right(copied: Path) -> None:
    assert changed_paths(str(copied), ENVIRONMENT) == ("code.py",)
    out = inside("build", "-a", "a", cwd=copied, env=GIT).out
    assert "I am a." in out
    assert "On a branch." not in out
    assert "No code changed" not in out


def test_watch_runs_no_program_of_a_copied_repository(copied: Path) -> None:
    process = start("watch", "-w", copied, "-a", "a", "-o", copied.parent / "out.md", stderr=subprocess.DEVNULL)
    for _ in range(300):
        if (copied.parent / "out.md").exists():
            break
        time.sleep(0.05)
    process.terminate()
    process.wait(20)
    assert ends(process.pid)
    assert "No code changed" not in (copied.parent / "out.md").read_text()
    assert marks(copied.parent) == set()


def test_settings_are_hostile_enough_to_be_worth_a_test(copied: Path) -> None:
    subprocess.run(["git", "-C", str(copied), "diff", "HEAD"], env=ENVIRONMENT, capture_output=True, check=False)
    for folder in (copied, copied / "module"):
        git(folder, "config", "--unset", "filter.evil.process")  # git has ended at its wrong answer
    subprocess.run(["git", "-C", str(copied), "diff", "HEAD"], env=ENVIRONMENT, capture_output=True, check=False)
    named = {"filter.evil.process", "filter.evil.clean", "included", "post-index-change"}
    assert marks(copied.parent) >= named


def test_lack_of_a_partial_clone_is_fetched_by_no_program(copied: Path) -> None:
    for key, value in (
        ("remote.origin.url", str(copied.parent / "made")),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialclonefilter", "blob:none"),
        ("extensions.partialClone", "origin"),
        ("core.repositoryFormatVersion", "1"),
        ("protocol.allow", "always"),
        ("protocol.file.allow", "always"),
    ):
        git(copied, "config", key, value)
    name = subprocess.run(
        ["git", "-C", str(copied), "rev-parse", "HEAD:agents/a/IDENTITY.md"],
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    (copied / ".git/objects" / name[:2] / name[2:].strip()).unlink()
    result = inside("check", "--staged", cwd=copied, env=GIT)
    assert result.code == 2, result.out
    assert marks(copied.parent) == set()
    subprocess.run(["git", "-C", str(copied), "cat-file", "-p", name.strip()], env=ENVIRONMENT, check=False)
    assert "remote.origin.uploadpack" in marks(copied.parent)


def test_filter_that_cannot_be_turned_off_is_an_error(copied: Path) -> None:
    with (copied / ".git/config").open("a", encoding="utf-8") as config:
        config.write(f'[filter "a=b"]\n\tclean = {program(copied.parent, "equals")}\n')
    result = inside("build", "-a", "a", cwd=copied, env=GIT)
    assert result.code == 2
    assert "the filter a=b has `=` in its name" in result.err
    assert marks(copied.parent) == set()
