"""The gate where it stands: a plain git hook, pre-commit and the GitHub action, in a scratch repository."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.checks.test_checks import KNOWN, TOKEN
from tests.command import ROOT, Result, clean, fill

SOURCE = ("contextasm", "man", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
"""What a package is built from, and the hooks."""

WHO = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
GIT = {**WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")


def run(*words: str, cwd: Path, env: Mapping[str, str]) -> Result:
    """Run a program to its end."""
    done = subprocess.run(
        words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
    )
    return Result(done.returncode, done.stdout, done.stderr)


def surroundings(folder: Path) -> dict[str, str]:
    """A clean environment in which `ctxasm` is a command: this one."""
    command = folder / "bin" / "ctxasm"
    command.parent.mkdir()
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(ROOT))))
    command.write_text(f"#!/bin/sh\nPYTHONPATH='{path}' exec '{sys.executable}' -m contextasm \"$@\"\n")
    command.chmod(0o755)
    return clean({**GIT, "PATH": f"{command.parent}{os.pathsep}{os.defpath}"})


def repository(folder: Path, env: Mapping[str, str]) -> Path:
    """A git repository whose top is a small workspace, committed."""
    fill(folder, {"ctxasm.yaml": "date: 2025-03-14\n"})
    assert run("git", "init", "-q", cwd=folder, env=env).code == 0
    assert commit(folder, env).code == 0
    return folder


def commit(folder: Path, env: Mapping[str, str]) -> Result:
    """Add everything and commit it."""
    run("git", "add", "-A", cwd=folder, env=env)
    return run("git", "commit", "-q", "-m", "A change", cwd=folder, env=env)


def commits(folder: Path, env: Mapping[str, str]) -> int:
    """How many commits there are."""
    return int(run("git", "rev-list", "--count", "HEAD", cwd=folder, env=env).out)


def install(folder: Path, script: str) -> None:
    """Make a script the hook that git runs before a commit."""
    hook = folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(script)
    hook.chmod(0o755)


def plain_hook() -> str:
    """The git hook that its page shows."""
    page = (ROOT / "docs/how-to/git-hook.md").read_text(encoding="utf-8")
    found = re.search(r"\n## A plain hook\n.*?```sh\n(.*?)```", page, re.DOTALL)
    assert found
    return found[1]


def test_a_plain_hook_refuses_a_commit_until_it_is_put_right(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    folder = repository(tmp_path / "work", env)
    install(folder, plain_hook())
    fill(folder, {KNOWN: f"Key: {TOKEN}\n"})
    refused = commit(folder, env)
    assert (refused.code, commits(folder, env)) == (1, 1)
    assert f"{KNOWN}:1: error: holds what looks like a secret" in refused.out + refused.err
    fill(folder, {KNOWN: "The key is in the vault.\n"})
    passed = commit(folder, env)
    assert (passed.code, commits(folder, env)) == (0, 2), passed.err


def test_a_plain_hook_refuses_a_commit_with_a_stale_output(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    folder = repository(tmp_path / "work", env)
    install(folder, plain_hook())
    fill(folder, {"ctxasm.yaml": "date: 2025-03-14\noutputs:\n  - file: CONTEXT.md\n    agent: a\n"})
    refused = commit(folder, env)
    told = re.search(r"run `(ctxasm [^`]*)`", refused.out + refused.err)
    assert refused.code == 1
    assert told
    assert run(*told[1].split(), cwd=folder, env=env).code == 0
    assert commit(folder, env).code == 0


@pytest.mark.parametrize("words", [(), ("-a",), (KNOWN,)], ids=["staged", "all", "file"])
def test_the_hook_checks_what_is_committed_however_git_commits(tmp_path: Path, words: tuple[str, ...]) -> None:
    env = surroundings(tmp_path)
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    folder = repository(tmp_path / "work", env)
    fill(folder, {KNOWN: "Nothing yet.\n"})
    commit(folder, env)
    install(folder, f"#!/bin/sh\nexec {hooks[0]['entry']}\n")
    assert run("git", "worktree", "add", "-q", str(tmp_path / "linked"), cwd=folder, env=env).code == 0
    for tree in (folder, tmp_path / "linked"):
        fill(tree, {KNOWN: f"Key: {TOKEN}\n"})
        if not words:
            run("git", "add", "-A", cwd=tree, env=env)
            fill(tree, {KNOWN: "The key is in the vault.\n"})
        refused = run("git", "commit", "-q", "-m", "A secret", *words, cwd=tree, env=env)
        assert refused.code == 1, refused.err
        assert f"{KNOWN}:1: error: holds what looks like a secret" in refused.out + refused.err
        fill(tree, {KNOWN: f"The key is in the vault of {tree.name}.\n"})
        run("git", "add", "-A", cwd=tree, env=env)
        fill(tree, {"agents/a/daily/2025-03-14.md": f"Not added: {TOKEN}\n"})
        passed = run("git", "commit", "-q", "-m", "Put right", *words, cwd=tree, env=env)
        assert passed.code == 0, passed.out + passed.err


def _steps() -> list[dict[str, Any]]:
    """The steps of the GitHub action."""
    steps: list[dict[str, Any]] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    return steps


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_the_action_writes_annotations_and_a_table_in_the_summary(tmp_path: Path) -> None:
    folder = fill(tmp_path / "work", {"ctxasm.yaml": "date: 2025-03-14\n", KNOWN: f"{TOKEN}\n[x](GONE.md)\n"})
    step, summary = _steps()[-1], tmp_path / "summary.md"
    inputs = {"WORKSPACE": ".", "ARGS": "--strict", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTIONS": "true"}
    assert {*step["env"]} == {"WORKSPACE", "ARGS"}
    words = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
    env = {**surroundings(tmp_path), **inputs}
    result = run(*words, cwd=folder, env=env)
    assert result.code == 1
    assert [line.partition(",")[0] for line in result.out.splitlines()] == [f"::error file={KNOWN}"] * 2
    assert summary.read_text().startswith("### ctxasm check\n\n2 findings: 2 errors\n\n| finding |")
    fill(folder, {KNOWN: "Sound.\n"})
    summary.unlink()
    assert run(*words, cwd=folder, env=env).code == 0
    assert "no findings" in summary.read_text()


def test_no_input_of_the_action_is_taken_for_code() -> None:
    assert [step["name"] for step in _steps() if "${{" in step.get("run", "")] == []


def _pre_commit() -> str:
    """The program, beside the Python that runs the tests or on the path; empty for none."""
    return shutil.which("pre-commit", path=os.path.dirname(sys.executable)) or shutil.which("pre-commit") or ""


@pytest.mark.pip
@pytest.mark.skipif(not _pre_commit(), reason="pre-commit is not installed")
def test_pre_commit_refuses_and_passes_as_the_plain_hook_does(tmp_path: Path) -> None:
    env = {**os.environ, **GIT, "PRE_COMMIT_HOME": str(tmp_path / "home")}
    env = {key: value for key, value in env.items() if not key.startswith(("CTXASM_", "PYTHON"))}
    source, folder = _source(tmp_path / "source", env), repository(tmp_path / "work", env)
    listed = f"repos:\n- repo: {source}\n  rev: v1\n  hooks:\n  - id: ctxasm-check\n"
    fill(folder, {".pre-commit-config.yaml": listed, KNOWN: f"Key: {TOKEN}\n"})
    installed = run(_pre_commit(), "install", "--install-hooks", cwd=folder, env=env)
    if installed.code:
        pytest.skip(f"pip can't make the environment: {installed.out.strip().splitlines()[-1]}")
    refused = commit(folder, env)
    assert (refused.code, commits(folder, env)) == (1, 1)
    assert f"{KNOWN}:1: error: " in refused.out + refused.err
    fill(folder, {KNOWN: "The key is in the vault.\n"})
    assert commit(folder, env).code == 0
    fill(folder, {"CONTEXT.md": "old\n"})
    assert commit(folder, env).code == 0
    tried = run(_pre_commit(), "try-repo", str(source), "--all-files", cwd=folder, env=env)
    assert re.search(r"ctxasm build\.+Failed", tried.out)
    assert "files were modified by this hook" in tried.out
    assert re.search(r"ctxasm check\.+Passed", tried.out)
    assert (folder / "CONTEXT.md").read_text().startswith("## Identity\nI am a.\n")


def _source(folder: Path, env: Mapping[str, str]) -> Path:
    """The source as a git repository with one tag, whatever state the one around it is in."""
    folder.mkdir()
    for name in SOURCE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    assert run("git", "init", "-q", cwd=folder, env=env).code == 0
    assert commit(folder, env).code == 0
    assert run("git", "tag", "v1", cwd=folder, env=env).code == 0
    return folder
