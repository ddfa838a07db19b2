"""Git as the workspace runs it: the folder decides on the repository, and nothing in the repository is written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from contextasm.workspace.git.commands import changed_files, changed_paths, current_branch

IDENTITY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def environment() -> dict[str, str]:
    """The environment of this process, without settings of git and with an author."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**own, **IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(root: Path, *words: str) -> None:
    """Run git in a folder."""
    subprocess.run(["git", "-C", str(root), *words], env=environment(), check=True, capture_output=True)


def repository(root: Path) -> Path:
    """A repository with one commit, then one file changed, one new and one deleted."""
    root.mkdir()
    git(root, "init", "-q", "-b", "trunk")
    for name in ("one.py", "two.py", "PROJECT.md"):
        (root / name).write_text("old\n", encoding="utf-8")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    (root / "one.py").write_text("new\n", encoding="utf-8")
    (root / "PROJECT.md").write_text("new\n", encoding="utf-8")
    (root / "ünïcode.py").write_text("new\n", encoding="utf-8")
    (root / "two.py").unlink()
    return root


def test_changed_files_are_those_that_are_worked_on(tmp_path: Path) -> None:
    root = repository(tmp_path / "repository")
    assert changed_files(str(root), environment()) == ("one.py", "ünïcode.py")
    assert changed_paths(str(root), environment()) == ("PROJECT.md", "one.py", "two.py", "ünïcode.py")
    assert current_branch(str(root), environment()) == "trunk"


def test_variables_of_a_hook_do_not_lead_to_another_repository(tmp_path: Path) -> None:
    root = repository(tmp_path / "repository")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "elsewhere")
    hook = {**environment(), "GIT_DIR": str(other / ".git"), "GIT_INDEX_FILE": str(other / ".git" / "index")}
    assert changed_files(str(root), hook) == ("one.py", "ünïcode.py")
    assert current_branch(str(root), hook) == "trunk"


def test_fsmonitor_program_of_a_repository_is_not_started(tmp_path: Path) -> None:
    root = repository(tmp_path / "repository")
    program = tmp_path / "monitor"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n", encoding="utf-8")
    program.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(program))
    assert changed_files(str(root), environment()) == ("one.py", "ünïcode.py")
    assert not (tmp_path / "started").exists()


def test_without_repository_or_git_nothing_has_changed(tmp_path: Path) -> None:
    assert changed_files(str(tmp_path), environment()) == ()
    assert current_branch(str(tmp_path), environment()) == ""
    assert changed_files(str(tmp_path), {**environment(), "PATH": str(tmp_path)}) == ()
