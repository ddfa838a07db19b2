"""Whatever changes in cited files, a build shows, marks or leaves out the memories that a plain model says."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from contextasm.model import Build, Context, IndexedPools, Workspace
from contextasm.pipeline import assemble
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.memories.cites import file_lines, written_cite
from contextasm.workspace.folder import Folder
from contextasm.workspace.recording import RecordingWorkspace, SnapshotWorkspace
from tests.command import fill
from tests.retrieval.memory_index.test_memory_index import NO_INDEXES, indexes, pools_above
from tests.workspaces import limited, request

PATHS = ("src/a.py", "src/b c.py", "docs/x.md")
MEMORIES = "agents/a/memories/m.md"
LINES = st.lists(st.sampled_from(["x = 1", "", "x = 2", "def f():", "\ufeffé"]), min_size=1, max_size=12)
FILES = st.fixed_dictionaries(dict.fromkeys(PATHS, LINES))
MARK = " (changed since)"

Cited = tuple[str, int, int]
"""A file and its lines `[first:stop]`."""


@st.composite
def trees(draw: st.DrawFn) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]], Sequence[Sequence[Cited]]]:
    """Files, the same after some edits, and what each memory cites of the first."""
    before = draw(FILES)
    after = {path: [*lines] for path, lines in before.items()}
    for path in draw(st.lists(st.sampled_from(PATHS), max_size=4)):
        at = draw(st.integers(0, 12))
        match draw(st.sampled_from(["insert", "insert", "delete", "change", "rewrite", "remove"])):
            case "insert":
                after.get(path, []).insert(at, "new")
            case "delete":
                del after.get(path, [])[at : at + 1]
            case "change":
                after.get(path, [])[at : at + 1] = ["changed"]
            case "rewrite":
                after[path] = draw(LINES)
            case _:
                after.pop(path, None)
    cites: list[list[Cited]] = []
    for paths in draw(st.lists(st.lists(st.sampled_from(PATHS), max_size=2), min_size=1, max_size=8)):
        firsts = [draw(st.integers(0, len(before[path]) - 1)) for path in paths]
        stops = [draw(st.integers(at + 1, len(before[path]))) for path, at in zip(paths, firsts, strict=True)]
        cites.append([*zip(paths, firsts, stops, strict=True)])
    return before, after, cites


def content(lines: Sequence[str], end: str = "\n") -> bytes:
    return "".join(f"{line}{end}" for line in lines).encode()


def bullet(number: int, cites: Sequence[Cited], before: Mapping[str, list[str]]) -> str:
    written = ",".join(written_cite(path, at + 1, stop, file_lines(content(before[path]))) for path, at, stop in cites)
    fields = f' {{id=id-{number} cites="{written}"}}' if written else f" {{id=id-{number}}}"
    return f"- [fact] memory {number}{' word' * (number % 3)}{fields}\n"


def has_changed(cites: Sequence[Cited], before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> bool:
    for path, at, stop in cites:
        old, new = before[path][at:stop], after.get(path, [])
        if not any(new[start : start + len(old)] == old for start in range(len(new))):
            return True
    return False


def built(by: Workspace, layer: Mapping[str, object], budget: int, used: IndexedPools | None = None) -> Context:
    asked = request(agent="a", team="", budget=budget)
    return assemble(Build(by, limited(L5=layer), asked, ESTIMATE, memory_index=used))


def shown(context: Context) -> list[tuple[int, bool]]:
    """The number of each memory that is shown, and whether it is marked, in their order."""
    lines = [line for section in context.sections for line in section.text.split("\n") if "] memory " in line]
    return [(int(line.split()[3]), line.endswith(MARK)) for line in lines]


@given(
    tree=trees(),
    mode=st.sampled_from(["mark", "leave-out", "show"]),
    top=st.integers(0, 4),
    budget=st.one_of(st.just(16_000), st.integers(20, 90)),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_a_build_shows_what_the_files_still_say(
    tree: tuple[Mapping[str, list[str]], Mapping[str, list[str]], Sequence[Sequence[Cited]]],
    mode: str,
    top: int,
    budget: int,
    end: str,
) -> None:
    before, after, cites = tree
    changed = [has_changed(each, before, after) for each in cites]
    event(f"{mode}, {'some' if any(changed) else 'none'} changed")
    layer = {"cited": mode, "top": top, "fallback_top": top, "overflow": ["drop"]}
    with tempfile.TemporaryDirectory() as name:
        folder = fill(Path(name), {path: content(lines, end) for path, lines in after.items()})
        fill(folder, {MEMORIES: "".join(bullet(number, each, before) for number, each in enumerate(cites))}, base={})
        recording = RecordingWorkspace(Folder(folder))
        context = built(recording, layer, budget)
        with pools_above(0):
            home = Folder(folder)
            indexed = [built(home, layer, budget, used) for used in (NO_INDEXES, indexes(home))]
    again = built(SnapshotWorkspace(recording.lists, recording.reads), layer, budget)
    assert again == context
    assert [each.text for each in indexed] == [context.text] * 2
    assert context.tokens <= budget
    best = [number for number in reversed(range(len(cites))) if mode != "leave-out" or not changed[number]]
    expected = [(number, mode == "mark" and changed[number]) for number in best[: top or None]]
    assert shown(context) == expected if budget == 16_000 else {*shown(context)} <= {*expected}
    left_out = {int(each.fragment[3:]) for each in context.decisions if each.reason.code == "cited-text-changed"}
    assert all(changed[number] for number in left_out)
    assert mode == "leave-out" or not left_out
    looked_at = {number for number, _ in shown(context)} | left_out
    if budget == 16_000 and mode == "leave-out":
        last = min((number for number, _ in expected), default=0) if len(expected) == top else 0
        assert left_out == {number for number in range(last, len(cites)) if changed[number]}
    if budget == 16_000:
        read = {path for path in recording.reads if path in PATHS}
        assert read <= {path for number in looked_at for path, _, _ in cites[number]}
        assert mode != "show" or not read


@pytest.mark.parametrize("cite", ["x", "../a.py:1-1@0123456789ab", "/a.py:1-1@0123456789ab", "a:2-1@0123456789ab"])
def test_what_is_no_cite_of_the_workspace_opens_nothing_else(tmp_path: Path, cite: str) -> None:
    (tmp_path / "a.py").write_text("secret\n")
    folder = fill(tmp_path / "w", {MEMORIES: f"- [fact] memory 0 {{id=id-0 cites={cite}}}\n"})
    context = built(Folder(folder), {}, 16_000)
    assert shown(context) == [(0, "@" in cite and "2-1" not in cite)]
    assert not context.cited
