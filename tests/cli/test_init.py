"""`ctxasm init`: what it makes works at once, and what is there stays as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contextasm.cli.app import run
from contextasm.workspace.scaffold import create_file, owner_files, workspace_files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: empty, with no workspace named by the surroundings."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("CTXASM_")]:
        monkeypatch.delenv(name)
    return tmp_path


def test_a_folder_that_can_not_be_written_to_is_one_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "agents").mkdir()
    (folder / "agents").chmod(0o500)
    if os.access(folder / "agents", os.W_OK):
        pytest.skip("this user may write anywhere")
    assert run(["init"]) == 2
    out, err = capfd.readouterr()
    assert out.splitlines() == ["made ctxasm.yaml", "made .gitignore"]
    assert (err.count("\n"), "can't be made" in err) == (1, True)


def test_a_file_that_comes_in_between_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.md").write_text("first")
    monkeypatch.setattr(Path, "exists", lambda _path: False)
    assert not create_file(folder, "a.md", "second")
    assert (folder / "a.md").read_text() == "first"


def test_every_starter_file_ends_in_one_newline() -> None:
    for path, text in [*workspace_files(), *owner_files("agent", "a"), *owner_files("team", "b")]:
        assert text is None or (text.strip() and text == text.rstrip("\n") + "\n"), path


@pytest.mark.parametrize(("sign", "profile"), [("SOUL.md", "openclaw"), ("CLAUDE.md", "repo")])
def test_a_folder_of_another_program_gets_its_profile_and_no_agent(
    folder: Path, capfd: pytest.CaptureFixture[str], sign: str, profile: str
) -> None:
    (folder / sign).write_text("Be calm.\n")
    assert run(["build", "-q"]) == 0
    before = capfd.readouterr().out
    assert run(["init"]) == 0
    out, err = capfd.readouterr()
    assert out == "made ctxasm.yaml\n"
    assert (err.count("\n"), f"profile {profile}, because {sign} is here" in err) == (1, True)
    assert {path.name for path in folder.iterdir()} == {sign, "ctxasm.yaml"}
    assert run(["build", "-q"]) == 0
    assert capfd.readouterr().out == before
    assert run(["init"]) == 0
    assert capfd.readouterr().out == "kept ctxasm.yaml\n"


def test_an_agent_in_a_folder_of_another_program_needs_force(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "SOUL.md").write_text("Be calm.\n")
    (folder / "MEMORY.md").write_text("- One\n")
    assert run(["init", "-a", "luna"]) == 2
    err = capfd.readouterr().err
    assert "SOUL.md, MEMORY.md would no longer be read" in err
    assert "--force" in err
    assert [*folder.glob("agents")] == []
    assert run(["init", "-a", "luna", "--force"]) == 0
    assert (folder / "agents/luna/IDENTITY.md").exists()
    assert run(["build"]) == 0
    assert "not read, but also here: SOUL.md, MEMORY.md (-p openclaw)" in capfd.readouterr().err


def test_an_agent_that_the_profile_of_the_settings_does_not_read_needs_force(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "ctxasm.yaml").write_text("profile: openclaw\n")
    assert run(["init", "-a", "luna"]) == 2
    assert "ctxasm.yaml: its profile openclaw reads no agents" in capfd.readouterr().err


def test_settings_of_a_new_workspace_leave_the_defaults_to_the_profile(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", "-q"]) == 0
    (folder / "short.yaml").write_text("extends: default\nbudget: 8000\n")
    assert run(["build", "-p", "short.yaml"]) == 0
    assert " of 8,000 tokens" in capfd.readouterr().err
