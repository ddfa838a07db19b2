"""A fault at any call of the workspace, or of the system below it: the right output, or one problem or error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import Build, Context, ContextasmError, Workspace
from contextasm.pipeline import assemble
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.folder import Folder
from tests.command import SMALL_TEXT, fill, inside, refused
from tests.faults.failing import FAULTS, Countdown, FailingWorkspace, failing_calls
from tests.workspaces import DAY, DEFAULT, Files, agent, log, request, team

WORKSPACE = {
    **agent(KNOWLEDGE="The harbor has a bell."),
    **team(GOALS="Ship it."),
    **log(DAY, "Today."),
    "agents/luna/memories/m.md": "- [fact] The tide is high.\n",
}


def built(workspace: Workspace) -> Context | ContextasmError:
    """The context, or the one error that a build may end with; any other exception fails the test."""
    try:
        return assemble(Build(workspace, DEFAULT, request(), ESTIMATE, parse_yaml=load_yaml))
    except ContextasmError as error:
        return error


CLEAN = built(Files(WORKSPACE))


@pytest.mark.parametrize("forever", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("fault", FAULTS)
def test_call_of_the_workspace_that_fails_is_one_error(fault: str, forever: bool) -> None:
    """P29: each call in its turn, until no call is left to fail."""
    at = 0
    while True:
        at += 1
        countdown = Countdown(fault, at, forever=forever)
        result = built(FailingWorkspace(Files(WORKSPACE), countdown))
        if not countdown.has_failed:
            break
        assert isinstance(result, ContextasmError), (fault, at)
        assert str(result).count("\n") == 0
    assert result == CLEAN
    assert at > len(WORKSPACE)


@pytest.mark.parametrize("forever", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("function", ["lstat", "open", "fstat", "read", "scandir"])
@pytest.mark.parametrize("fault", FAULTS)
def test_call_of_the_system_that_fails_costs_its_file_or_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, function: str, forever: bool
) -> None:
    """P24, P29: what is missing is named, but for a file that has gone; no descriptor stays open."""
    fill(tmp_path, WORKSPACE, base={})
    clean = built(Folder(tmp_path))
    assert isinstance(clean, Context)
    before = os.listdir("/dev/fd")
    at = 0
    while True:
        at += 1
        countdown = Countdown(fault, at, forever=forever)
        folder = Folder(tmp_path)
        with failing_calls(monkeypatch, function, countdown, tmp_path):
            result = built(folder)
        if not countdown.has_failed:
            break
        is_told = isinstance(result, ContextasmError) or result.problems or fault == "ENOENT"
        assert is_told or (isinstance(result, Context) and result.text == clean.text), (fault, function, at)
    assert result == clean
    assert at > 1
    assert len(os.listdir("/dev/fd")) == len(before)


def test_folder_that_can_not_be_listed_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P24: the build goes on, and the folder is named; so does `check`, with exit code 1."""
    fill(tmp_path, {"agents/a/memories/m.md": "- [fact] Hidden.\n"})
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("/memories"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    done = inside("build", "--date", "2025-03-14", cwd=tmp_path)
    assert (done.code, done.out) == (0, SMALL_TEXT)
    assert "ctxasm: warning: agents/a/memories/: can't be listed: Permission denied [unreadable]" in done.err
    assert inside("build", "--date", "2025-03-14", "--strict", cwd=tmp_path).code == 1
    checked = inside("check", cwd=tmp_path)
    assert checked.code == 1
    assert "agents/a/memories/: error: can't be listed: Permission denied" in checked.out
    refused(inside("remember", "-a", "a", "Something.", cwd=tmp_path), "can't be listed")


@pytest.mark.parametrize("function", ["scandir", "lstat", "open"])
def test_command_without_memory_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """P29: code 2, and no talk of a bug."""
    fill(tmp_path, {})
    with failing_calls(monkeypatch, function, Countdown("MemoryError", 1, forever=True), tmp_path):
        done = inside("build", cwd=tmp_path)
    refused(done, "memory")
    assert "bug" not in done.err
