"""Git whoever calls: missing objects, the index, hooks, linked worktrees, and every way to name a revision."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from contextasm.model import ContextasmError, Document
from contextasm.workspace.git.commands import changed_files
from contextasm.workspace.git.folder import open_index, open_revision
from tests.checks.test_checks import KNOWN, TOKEN
from tests.command import clean, fill, inside, refused
from tests.records.test_diff import GIT

KNOWLEDGE = "agents/a/KNOWLEDGE.md"
ENVIRONMENT = clean(GIT)


def git(folder: Path, *words: str, **variables: str) -> str:
    """The output of git, without anybody's settings."""
    command = ["git", "-C", str(folder), *words]
    done = subprocess.run(command, env={**ENVIRONMENT, **variables}, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace in a subfolder of a repository, committed once."""
    folder = fill(tmp_path / "repository" / "ws", {"ctxasm.yaml": "date: 2025-03-14\n", KNOWLEDGE: "Known.\n"})
    top = folder.parent
    git(top, "init", "-q", "-b", "main")
    git(top, "config", "uploadpack.allowFilter", "true")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "the first one")
    return folder


def remove_object(root: Path, name: str) -> Path:
    """Remove the object of a file from the repository, and give its path."""
    digest = git(root, "rev-parse", name)
    path = root.parent / ".git" / "objects" / digest[:2] / digest[2:]
    path.unlink()
    return path


def test_missing_object_is_an_error_and_no_blank_file(root: Path) -> None:
    remove_object(root, f"HEAD:ws/{KNOWLEDGE}")
    refused(inside("diff", "-w", root, "HEAD"), f"HEAD: {KNOWLEDGE}: git can't read this file", "git fsck")


def test_damaged_object_is_an_error_and_no_blank_file(root: Path) -> None:
    remove_object(root, f"HEAD:ws/{KNOWLEDGE}").write_bytes(b"x")
    refused(inside("diff", "-w", root, "HEAD"), f"HEAD: {KNOWLEDGE}: git can't read this file")


def test_partial_clone_is_an_error_and_nothing_is_fetched(root: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{root.parent}", str(clone))
    fill(clone / "ws", {"ctxasm.yaml": "date: 2025-03-14\n"})
    refused(inside("diff", "-w", clone / "ws", "HEAD"), "HEAD: ctxasm.yaml: git can't read this file", "git archive")


def test_damaged_repository_is_no_repository_without_changes(root: Path) -> None:
    (root / KNOWLEDGE).write_text("Other.\n")
    remove_object(root, "HEAD^{tree}")
    with pytest.raises(ContextasmError, match="git diff"):
        changed_files(str(root), ENVIRONMENT)


@pytest.mark.parametrize("name", ["@", "HEAD", "@{0}", ":/first", "@~0", "main"])
def test_every_name_of_a_revision_is_understood(root: Path, name: str) -> None:
    done = inside("diff", "-w", root, name)
    assert (done.code, done.out.startswith(f"{name}: ")) == (0, True), done.err


def test_upstream_of_a_branch_is_a_revision(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(root.parent), "clone")
    assert inside("diff", "-w", tmp_path / "clone" / "ws", "@{u}").code == 0


def test_repository_that_does_not_hold_the_workspace_is_told(root: Path) -> None:
    later = fill(root.parent / "later", {})
    refused(inside("diff", "-w", later, "HEAD"), "HEAD: has no file of the workspace", "committed")


@pytest.mark.parametrize(("name", "shown"), [("^HEAD", "^HEAD"), ("--all", "--all"), (" ", "' '")])
def test_name_of_no_single_revision_is_refused_in_words_of_ours(root: Path, name: str, shown: str) -> None:
    refused(inside("diff", "-w", root, "--", name), f"{shown}: no such revision", "HEAD~3")


def test_bare_repository_is_told(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(root.parent), "bare")
    refused(inside("diff", "-w", tmp_path / "bare", "HEAD"), "is in a bare repository", "-w DIR")


def test_error_of_the_side_now_names_the_side(root: Path) -> None:
    fill(root, {"agents/c/IDENTITY.md": "C\n", "agents/c/INSTRUCTIONS.md": "C\n"}, base={})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "two")
    git(root, "mv", "agents/c", "agents/d")
    refused(inside("diff", "-w", root, "-a", "c", "HEAD"), "now: --agent: unknown agent `c`")


def test_changed_files_are_right_in_a_hook_of_a_linked_worktree(root: Path, tmp_path: Path) -> None:
    worktree = tmp_path / "linked"
    git(root, "worktree", "add", "-q", str(worktree))
    (worktree / "ws" / "code.py").write_text("new\n")
    git_folder = git(worktree, "rev-parse", "--absolute-git-dir")
    hook = {**ENVIRONMENT, "GIT_DIR": git_folder, "GIT_INDEX_FILE": f"{git_folder}/index", "GIT_PREFIX": ""}
    assert changed_files(str(worktree / "ws"), hook) == ("code.py",)


def test_objects_of_another_repository_are_not_looked_up(root: Path, tmp_path: Path) -> None:
    hook = {**ENVIRONMENT, "GIT_OBJECT_DIRECTORY": str(tmp_path / "none"), "GIT_DIR": str(tmp_path / "none")}
    with open_revision(str(root), "HEAD", hook) as workspace:
        assert isinstance(workspace.read(KNOWLEDGE), Document)


def test_index_holds_what_the_next_commit_holds(root: Path) -> None:
    (root / KNOWLEDGE).write_text("Staged.\n")
    git(root, "add", "-A")
    (root / KNOWLEDGE).write_text("Edited since.\n")
    (root / "agents/a/new.md").write_text("Not added.\n")
    with open_index(str(root), ENVIRONMENT, "/") as workspace:
        read = workspace.read(KNOWLEDGE)
        assert isinstance(read, Document)
        assert read.text == "Staged.\n"
        assert "agents/a/new.md" not in workspace.list("agents/a/*.md")


@pytest.mark.parametrize("name", [None, "ws/../.git/other", ".git/other"])
def test_index_of_a_hook_counts_in_its_own_repository(root: Path, name: str | None) -> None:
    other = root.parent / ".git" / "other"
    (root / KNOWLEDGE).write_text("Committed.\n")
    git(root, "add", "-A", GIT_INDEX_FILE=str(other))
    value = str(other) if name is None else name
    with open_index(str(root), {**ENVIRONMENT, "GIT_INDEX_FILE": value}, str(root)) as workspace:
        read = workspace.read(KNOWLEDGE)
        assert isinstance(read, Document)
        assert read.text == "Committed.\n"


def test_index_of_another_repository_does_not_count(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "outer")
    hook = {**ENVIRONMENT, "GIT_INDEX_FILE": str(tmp_path / "outer" / ".git" / "index")}
    with open_index(str(root), hook, str(tmp_path)) as workspace:
        assert workspace.list("agents/a/*.md")


def staged(root: Path, *words: str | Path, env: Mapping[str, str] = ENVIRONMENT) -> tuple[int, str]:
    """Exit code and output of `check --staged`."""
    done = inside("check", "-w", root, "--staged", *words, env=env)
    return done.code, done.out + done.err


def test_staged_secret_is_found_where_the_file_is_clean_again(root: Path) -> None:
    fill(root, {KNOWN: f"Key: {TOKEN}\n"}, base={})
    git(root, "add", "-A")
    fill(root, {KNOWN: "The key is in the vault.\n"}, base={})
    assert inside("check", "-w", root).code == 0
    code, text = staged(root)
    assert (code, f"{KNOWN}:1: error: holds what looks like a secret" in text) == (1, True)
    assert staged(root, root / KNOWN)[0] == 1


def test_secret_that_is_not_staged_does_not_refuse_the_commit(root: Path) -> None:
    fill(root, {KNOWN: f"Key: {TOKEN}\n"}, base={})
    assert inside("check", "-w", root).code == 1
    assert staged(root)[0] == 0


def test_settings_and_outputs_are_those_of_the_index(root: Path) -> None:
    fill(root, {"ctxasm.yaml": "date: 2025-03-14\noutputs:\n  - file: CONTEXT.md\n"}, base={})
    assert inside("build", "-q", "-w", root, "-o", root / "CONTEXT.md").code == 0
    git(root, "add", "ctxasm.yaml")
    assert inside("check", "-w", root).code == 0
    code, text = staged(root)
    assert (code, "CONTEXT.md: error: is missing" in text) == (1, True)
    git(root, "add", "CONTEXT.md")
    (root / "CONTEXT.md").write_text("stale\n")
    assert staged(root)[0] == 0


def test_merge_conflict_in_the_index_is_one_line(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "other")
    (root / KNOWLEDGE).write_text("One.\n")
    git(root, "commit", "-q", "-a", "-m", "one")
    git(root, "checkout", "-q", "main")
    (root / KNOWLEDGE).write_text("Two.\n")
    git(root, "commit", "-q", "-a", "-m", "two")
    subprocess.run(["git", "-C", root, "merge", "other"], env=ENVIRONMENT, check=False, capture_output=True)
    refused(inside("check", "-w", root, "--staged"), f"{KNOWLEDGE}: has a merge conflict in the index")


def test_linked_folder_that_leads_out_is_told_below_two_stars(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("hunter2\n")
    (root / "docs").mkdir()
    (root / "docs" / "linked").symlink_to(outside)
    fill(root, {"ctxasm.yaml": "date: 2025-03-14\nlayers:\n  - {id: L7, path: ['docs/**/*.md']}\n"}, base={})
    done = inside("build", "-w", root)
    assert "hunter2" not in done.out
    assert "docs/linked: is a link that leads out of the workspace [outside-workspace]" in done.err
    assert os.path.lexists(root / "docs" / "linked")
