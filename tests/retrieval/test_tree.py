"""Source `tree`: the structure of the project, from the files that git tracks."""

from __future__ import annotations

import subprocess
from pathlib import Path
from unittest.mock import patch

import pytest

from contextasm.config.profiles.loader import load_profile
from contextasm.workspace.git import commands
from tests.command import clean, fill, inside
from tests.workspaces import agent, build

LIBRARIAN = load_profile("librarian", "tests", Path())


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=root, env=clean(), check=True, capture_output=True)


def repository(root: Path, *paths: str) -> Path:
    """A workspace in which git tracks these files, and no other."""
    fill(root, {"ctxasm.yaml": "profile: librarian\ndate: 2025-03-14\n", **dict.fromkeys(paths, "x\n")})
    git(root, "init", "-q")
    git(root, "add", "--", "agents", *paths)
    return root


def structure(root: Path, *words: str) -> list[str]:
    """The lines of the section."""
    result = inside("build", "-q", "--scope", "tree", *words, cwd=root)
    assert result.code == 0, result.err
    return result.out.partition("## Project Structure\n")[2].splitlines()


def test_structure_of_the_project_as_source_002_has_it(tmp_path: Path) -> None:
    paths = ("README.md", "src/app.py", "src/web/page.py", "src/web/static/a.css", "src/web/static/img/b.svg")
    root = repository(tmp_path, *paths, ".github/ci.yml")
    fill(root, {"build/out.o": "x\n"}, base={})
    assert structure(root) == ["- ./: README.md, src/", "- src/: app.py, web/", "- src/web/: page.py, static/"]


def test_upper_folders_come_first_and_each_has_a_decision() -> None:
    tracked = tuple(sorted([f"d{n:03}/f.py" for n in range(120)] + [f"big/f{n:02}.py" for n in range(50)]))
    context = build(agent(), LIBRARIAN, tracked=tracked)
    (section,) = [each for each in context.sections if each.layer == "tree"]
    assert section.text.startswith("- ./: big/, d000/, d001/")
    assert "and 81 more\n- big/: f00.py" in section.text
    assert "f39.py, and 10 more\n- d000/: f.py" in section.text
    assert section.tokens <= 400
    outcomes = [each.outcome for each in context.decisions if each.layer == "tree"]
    assert len(outcomes) == 122
    assert outcomes.count("excluded") == 22
    assert {"included", "dropped"} <= {*outcomes}


def test_names_are_shown_clean_and_in_one_line(tmp_path: Path) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"
    root = repository(tmp_path, "src/a\n## Title.py", "src/b\u202e.py", f"src/{token}.py")
    (root_line, names) = structure(root)
    assert root_line == "- ./: src/"
    assert names == "- src/: [masked:github-token].py, a\\n## Title.py, b\\u202e.py"


def test_a_folder_without_git_has_no_structure(tmp_path: Path) -> None:
    fill(tmp_path, {"ctxasm.yaml": "profile: librarian\n", "src/app.py": "x\n"})
    result = inside("build", "--scope", "tree", cwd=tmp_path)
    assert "Project Structure" not in result.out
    assert "warning" not in result.err


def test_a_shared_context_lacks_the_names_of_private_files(tmp_path: Path) -> None:
    root = repository(tmp_path, "notes/salaries.md", "notes/plan.md")
    layer = "{id: own, heading: Own, source: document, path: notes/sal*.md, private: true}"
    fill(root, {"ctxasm.yaml": "profile: p.yaml\n", "p.yaml": f"extends: librarian\nlayers:\n  - {layer}\n"}, base={})
    assert structure(root)[-1] == "- notes/: plan.md, salaries.md"
    assert structure(root, "--audience", "shared")[-1] == "- notes/: plan.md"


@pytest.mark.parametrize(("scope", "asked"), [("tree", 1), ("turns", 0)])
def test_git_is_asked_once_and_only_if_a_layer_shows_it(tmp_path: Path, scope: str, asked: int) -> None:
    root = repository(tmp_path, "src/app.py")
    with patch.object(commands, "run_git", side_effect=commands.run_git) as run:
        assert inside("build", "-q", "--scope", scope, cwd=root).code == 0
    assert run.call_count == asked


def test_structure_of_a_revision_is_that_of_its_files(tmp_path: Path) -> None:
    root = repository(tmp_path, "src/app.py")
    git(root, "add", "ctxasm.yaml")
    git(root, "commit", "-q", "-m", "First")
    fill(root, {"src/more.py": "x\n"}, base={})
    git(root, "add", "src/more.py")
    out = inside("diff", "HEAD", "--scope", "tree", "--text", cwd=root).out
    assert "-- src/: app.py\n" in out
    assert "+- src/: app.py, more.py\n" in out
