"""What a shared context sees of private layers, files and memories, and what it tells of the rest."""

import os
from pathlib import Path

import pytest

from contextasm.config.profiles.layers import with_layer_values
from contextasm.config.profiles.loader import load_profile
from contextasm.model import Build, Conflicts, Document, Profile, Workspace
from contextasm.pipeline import assemble
from contextasm.retrieval.reading.audience import SharedWorkspace
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.folder import Folder
from tests.command import fill
from tests.workspaces import DEFAULT, Files, agent, build, codes, log, outcomes, request, team

DIARY = "My secret day.\n"


def private_layer(layer_id: str) -> Profile:
    """The default profile with one private layer."""
    layers = (with_layer_values(each, {"private": each.id == layer_id}) for each in DEFAULT.layers)
    return DEFAULT._replace(layers=tuple(layers))


def text_of(workspace: Workspace, path: str) -> str:
    """The text of a file as the workspace gives it; fails where there is none."""
    document = workspace.read(path)
    assert isinstance(document, Document)
    return document.whole.strip()


@pytest.mark.parametrize("alias", [os.symlink, os.link], ids=["link", "hard link"])
def test_a_private_file_is_private_by_any_name(tmp_path: Path, alias: object) -> None:
    fill(tmp_path, {"diary/a.md": DIARY, "copy.md": DIARY.replace("\n", "\r\n"), "other.md": "Public.\n"}, base={})
    alias(tmp_path / "diary" / "a.md", tmp_path / "alias.md")  # type: ignore[operator]
    shared = SharedWorkspace(Folder(tmp_path), ("diary/*.md",), None)
    assert [text_of(shared, path) for path in ("diary/a.md", "alias.md", "copy.md", "other.md")] == [
        "",
        "",
        "",
        "Public.",
    ]


def test_a_private_layer_is_left_out_with_all_copies_of_its_files() -> None:
    files = agent(KNOWLEDGE=DIARY) | team(GOALS=DIARY, RULES="Be early.")
    context = build(files, private_layer("L7"), audience="shared")
    assert outcomes(context, "L7") == {"agents/luna/KNOWLEDGE.md": "excluded: private"}
    assert outcomes(context, "L2")["teams/writers/GOALS.md"] == "excluded: private"
    assert "secret" not in context.text
    assert "Be early." in context.text
    assert build(files, private_layer("L7")).text == build(files).text


def test_a_private_layer_of_other_agents_is_private_too() -> None:
    files = agent() | {"agents/kenji/KNOWLEDGE.md": DIARY} | team(GOALS=DIARY)
    assert "secret" not in build(files, private_layer("L7"), audience="shared").text


def test_a_required_private_layer_is_missed_aloud() -> None:
    context = build(agent(identity=DIARY), private_layer("L1"), audience="shared")
    assert "required-private" in codes(context)
    assert context.text == ""


def test_a_required_file_that_is_private_is_missed_aloud() -> None:
    context = build(agent(identity="All of it. {private=true}"), audience="shared")
    (problem,) = context.problems
    assert problem.message == "is private, so a shared context leaves it out, but layer `L1` is required"


def test_a_text_of_private_lines_alone_is_private_and_not_blank() -> None:
    files = agent(KNOWLEDGE="All of it. {private=true}") | log("2025-03-14", "- a day {private=true}")
    files |= log("2024-01-01", "- long ago {private=true}")
    context = build(files, audience="shared")
    assert outcomes(context, "L7") == {"agents/luna/KNOWLEDGE.md": "excluded: private"}
    assert outcomes(context, "L3") == {
        "agents/luna/daily/2025-03-14.md": "excluded: private",
        "agents/luna/daily/2024-01-01.md": "excluded: outside-window",
    }


def test_a_private_memory_decides_nothing_about_others() -> None:
    line = "- [fact] The harbour lamp is broken since Monday {id=%s}\n"
    lines = line % "m1" + "- [fact] A secret {private=true pin=true supersedes=m1}\n"
    files = agent() | {"agents/luna/memories/a.md": lines, "agents/luna/memories/b.md": line % "m2 private=true"}
    profile = DEFAULT._replace(merge=("content", "dedup", "near"), conflicts=Conflicts())
    context = build(files, profile, audience="shared")
    assert "lamp is broken" in context.text
    assert all(not decision.stands_for for decision in context.decisions)
    reasons = [(each.path, each.lines, each.reason.code) for each in context.decisions if each.layer == "L5"]
    assert sorted(reasons) == [
        ("agents/luna/memories/a.md", (1, 1), "fits"),
        ("agents/luna/memories/a.md", (2, 2), "private"),
        ("agents/luna/memories/b.md", (1, 1), "private"),
    ]


def test_a_copy_of_private_values_gives_no_rows() -> None:
    rows = "entities:\n  - {name: Ghent, type: place}\n"
    graph = load_profile("librarian", "tests", Path())
    reading = next(layer for layer in graph.layers if "entities" in layer.query.sources)
    files = {path.replace("*", "x"): rows for path in reading.query.paths}
    profile = Profile("p", "", 4000, "plain", (reading,))
    assert "Ghent" in build(files, profile, topic="Ghent").text
    shared = build(files | {"diary.yaml": rows}, profile._replace(private_paths=("diary.yaml",)), audience="shared")
    assert shared.text == ""
    assert [decision.reason.code for decision in shared.decisions] == ["private"]


def test_a_shared_context_asks_no_memory_index() -> None:
    class Index:
        def query(self, *_asked: object, **_options: object) -> None:
            raise AssertionError

    lines = "".join(f"- [fact] Fact {number}\n" for number in range(1200)) + "- [fact] A secret {private=true}\n"
    files = Files(agent() | {"agents/luna/memories/a.md": lines})
    built = Build(files, DEFAULT, request(audience="shared"), ESTIMATE, memory_index=Index())
    assert "secret" not in assemble(built).text
    with pytest.raises(AssertionError):
        assemble(built._replace(request=request()))
