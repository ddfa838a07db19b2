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
