"""`ctxasm init`: what it makes works at once, and what is there stays as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contextasm.cli.app import run
from contextasm.workspace.scaffold import create_file, owner_files, workspace_files

AGENT = [f"agents/assistant/{name}" for name in ("IDENTITY.md", "INSTRUCTIONS.md", "KNOWLEDGE.md")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: empty, with no workspace named by the surroundings."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("CTXASM_")]:
        monkeypatch.delenv(name)
    return tmp_path


def files(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


def init(capfd: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert run(["init", *words]) == 0
    out, err = capfd.readouterr()
    assert not err
    return out.splitlines()


def test_row_39_init_creates_the_files_only_where_none_exists_and_overwrites_none(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "agents/luna").mkdir(parents=True)
    (folder / "agents/luna/IDENTITY.md").write_text("Mine.")
    (folder / "agents/luna/KNOWLEDGE.md").touch()
    lines = init(capfd, "--agent", "luna")
    assert [line for line in lines if line.startswith("kept")] == [
        "kept agents/luna/IDENTITY.md",
        "kept agents/luna/KNOWLEDGE.md",
    ]
    assert "made agents/luna/INSTRUCTIONS.md" in lines
    assert files(folder)["agents/luna/IDENTITY.md"] == "Mine."
    assert files(folder)["agents/luna/KNOWLEDGE.md"] == ""


def test_row_39_a_second_run_makes_nothing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first = init(capfd, "-t", "core", "-a", "zoe")
    before = files(folder)
    assert init(capfd, "-t", "core", "-a", "zoe") == [
        line.replace("made", "kept") for line in first if "ctxasm.yaml" not in line and "gitignore" not in line
    ]
    assert files(folder) == before


def test_a_fresh_folder_becomes_a_workspace_that_builds(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = init(capfd)
    assert lines == [
        "made ctxasm.yaml",
        "made .gitignore",
        *(f"made {path}" for path in AGENT),
        "made agents/assistant/daily/",
        "made agents/assistant/memories/",
    ]
    assert sorted(files(folder)) == sorted(["ctxasm.yaml", ".gitignore", *AGENT])
    assert run(["build", "--strict"]) == 0
    text = capfd.readouterr().out
    assert "## Identity\nYou are assistant," in text
    assert "{name}" not in text


def test_a_team_is_shown_by_a_build(capfd: pytest.CaptureFixture[str]) -> None:
    init(capfd, "-a", "zoe", "-t", "core")
    assert run(["build", "-t", "core", "--strict"]) == 0
    text = capfd.readouterr().out
    assert all(f"## Team {each}\n" in text for each in ("Goals", "Context", "Rules"))


def test_several_agents_and_teams_at_once(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    init(capfd, "new/here", "-a", "zoe", "-a", "ümit", "-t", "core", "-t", "q1")
    assert sorted(os.listdir(folder / "new/here/agents")) == ["zoe", "ümit"]
    assert sorted(os.listdir(folder / "new/here/teams")) == ["core", "q1"]


def test_without_a_folder_a_name_goes_to_the_workspace_upwards(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    init(capfd)
    below = folder / "notes" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert init(capfd, "-t", "core")[0] == "made ../../teams/core/CONTEXT.md"
    assert init(capfd)[0] == "made ctxasm.yaml"


def test_the_workspace_that_the_environment_names_gets_the_agent(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "other").mkdir()
    monkeypatch.setenv("CTXASM_WORKSPACE", str(folder / "other"))
    assert "made other/agents/zoe/IDENTITY.md" in init(capfd, "-a", "zoe")
    monkeypatch.setenv("CTXASM_WORKSPACE", str(folder / "gone"))
    assert run(["init", "-a", "zoe"]) == 2
    assert sorted(os.listdir(folder)) == ["other"]


def test_an_agent_that_is_there_gets_no_company(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "agents" / "luna").mkdir(parents=True)
    assert init(capfd) == ["made ctxasm.yaml", "made .gitignore"]


def test_quiet_prints_nothing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert init(capfd, "-q") == []
    assert (folder / "ctxasm.yaml").exists()


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "../out", "a b", "a\nb"])
@pytest.mark.parametrize("flag", ["--agent", "--team"])
def test_a_name_that_is_no_path_component_is_refused(
    folder: Path, capfd: pytest.CaptureFixture[str], flag: str, name: str
) -> None:
    assert run(["init", flag, name]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"ctxasm: error: {flag}: ")
    assert files(folder) == {}


@pytest.mark.parametrize("link", ["agents", "agents/zoe", "agents/zoe/daily", "agents/zoe/IDENTITY.md"])
def test_a_link_that_leads_out_is_refused(
    tmp_path_factory: pytest.TempPathFactory, folder: Path, capfd: pytest.CaptureFixture[str], link: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (folder / link).parent.mkdir(parents=True, exist_ok=True)
    (folder / link).symlink_to(outside / "new.md" if link.endswith(".md") else outside)
    assert run(["init", "-a", "zoe"]) == 2
    assert "leads out of the workspace" in capfd.readouterr().err
    assert os.listdir(outside) == []


def test_a_link_inside_the_workspace_is_followed(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "people").mkdir()
    (folder / "agents").symlink_to("people")
    init(capfd, "-a", "zoe")
    assert (folder / "people" / "zoe" / "IDENTITY.md").is_file()


@pytest.mark.parametrize("target", ["file", "file/below", "folder"])
def test_what_is_in_the_way_is_one_line(folder: Path, capfd: pytest.CaptureFixture[str], target: str) -> None:
    (folder / "file").touch()
    (folder / "folder" / "ctxasm.yaml").mkdir(parents=True)
    assert run(["init", target]) == 2
    err = capfd.readouterr().err
    assert err.count("\n") == 1
    assert "can't be made" in err


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
