"""`ctxasm feedback`: what is written, what is refused, and what builds make of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import fill, inside, refused

DAY = ("--date", "2025-03-14")
MEMORIES = "- [fact] The pier is wet {id=a}\n- [fact] The lamp is red {id=b}\n- [draft] Nothing {id=c status=draft}\n"
LINES = "feedback/2025-03.jsonl"
WEIGHED = "layers:\n  - {id: L5, source: weighed, order: best, weights: {credibility: 1}}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fill(tmp_path, {"agents/a/memories/m.md": MEMORIES, "ctxasm.yaml": WEIGHED})


def record(root: Path) -> str:
    before = {path.stem for path in (root / ".ctxasm" / "records").glob("*.json")}
    assert inside("build", "--record", "-q", *DAY, cwd=root).code == 0
    (new,) = {path.stem for path in (root / ".ctxasm" / "records").glob("*.json")} - before
    return new


def lines(root: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (root / LINES).read_text(encoding="utf-8").splitlines()]


def test_one_line_is_appended(root: Path) -> None:
    name = record(root)
    done = inside(
        "feedback", name[:6], "--useful", "a", "--wrong", "b", "--missing", "Who?", "--missing", "Ärger", *DAY, cwd=root
    )
    assert done == (0, f"appended to {LINES}:1: 1 useful, 1 wrong, 2 missing (record {name})\n", "")
    assert lines(root) == [
        {
            "type": "feedback",
            "time": "2025-03-14",
            "record": name,
            "shown": 4,
            "coherence": pytest.approx(0.3, abs=0.3),
            "useful": ["a"],
            "wrong": ["b"],
            "missing": ["Who?", "Ärger"],
        }
    ]
    first = (root / LINES).read_bytes()
    assert inside("feedback", name, "--useful", "b", "-q", *DAY, cwd=root) == (0, "", "")
    assert (root / LINES).read_bytes().startswith(first)
    assert len(lines(root)) == 2


def test_line_is_told_as_json(root: Path) -> None:
    told = json.loads(inside("feedback", record(root), "--useful", "a", "--json", "-q", *DAY, cwd=root).out)
    place = {name: told.pop(name) for name in ("schema", "path", "line")}
    assert place == {"schema": "ctxasm.feedback/1", "path": LINES, "line": 1}
    (line,) = lines(root)
    assert told == {name: line[name] for name in ("record", "shown", "coherence", "useful", "wrong", "missing")} | {
        "day": line["time"]
    }


def test_a_fragment_may_be_named_by_its_place(root: Path) -> None:
    assert inside("feedback", record(root), "--useful", "agents/a/memories/m.md:2", "-q", *DAY, cwd=root).code == 0
    assert lines(root)[0]["useful"] == ["b"]


def test_a_record_may_be_a_file_anywhere(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    name = record(root)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    copy = elsewhere / "copy.json"
    copy.write_bytes((root / ".ctxasm" / "records" / f"{name}.json").read_bytes())
    refused(inside("feedback", copy, "--useful", "a", cwd=elsewhere), "no workspace")
    assert inside("feedback", copy, "--useful", "a", "-w", root, "-q", *DAY, cwd=elsewhere).code == 0
    assert lines(root)[0]["record"] == name


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param((), "nothing is judged", id="nothing"),
        pytest.param(("--useful", "nobody-has-this"), "is not a fragment of this build", id="unknown"),
        pytest.param(("--wrong", "agents/a/IDENTITY"), "did you mean agents/a/IDENTITY.md?", id="a slip"),
        pytest.param(("--wrong", "c"), "c was not shown in this build, but was excluded", id="not shown"),
        pytest.param(("--useful", "a", "--wrong", "a"), "a is also given with --useful", id="both"),
        pytest.param(("--missing", "  "), "is empty", id="empty"),
        pytest.param(("--useful", "a", "--date", "soon"), "--date", id="a day that is none"),
    ],
)
def test_what_can_not_be_said_is_refused_and_nothing_is_written(root: Path, words: tuple[str, ...], told: str) -> None:
    refused(inside("feedback", record(root), *words, cwd=root), told)
    assert not (root / "feedback").exists()


def test_no_record_and_a_damaged_one_are_refused(root: Path) -> None:
    refused(inside("feedback", "0123abcd", "--useful", "a", cwd=root), "no such record", "build --record")
    path = root / ".ctxasm" / "records" / f"{record(root)}.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"tokens"', '"token"', 1), encoding="utf-8")
    refused(inside("feedback", path, "--useful", "a", cwd=root), "damaged")
    assert not (root / "feedback").exists()


def test_secrets_are_masked_and_hidden_characters_removed(root: Path) -> None:
    secret = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789AB"
    done = inside("feedback", record(root), "--missing", f"The\u200b key {secret}", "-q", *DAY, cwd=root)
    assert done.code == 0
    assert "masked here" in done.err
    assert "hidden" in done.err
    assert secret not in done.err + (root / LINES).read_text(encoding="utf-8")
    assert lines(root)[0]["missing"] == ["The key [masked:github-token]"]


def test_a_torn_last_line_stays_one_and_the_new_one_is_whole(root: Path) -> None:
    fill(root, {LINES: '{"type": "feed'})
    assert inside("feedback", record(root), "--useful", "a", "-q", *DAY, cwd=root).code == 0
    text = (root / LINES).read_text(encoding="utf-8")
    assert text.startswith('{"type": "feed\n{"type": "feedback"')
    assert f"{LINES}:1" in inside("build", *DAY, cwd=root).err


def test_a_link_out_of_the_workspace_is_refused(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (root / "feedback").symlink_to(outside)
    refused(inside("feedback", record(root), "--useful", "a", *DAY, cwd=root), "out of the workspace")
    assert not [*outside.iterdir()]


def test_no_output_is_written_over_feedback(root: Path) -> None:
    assert inside("feedback", record(root), "--useful", "a", "-q", *DAY, cwd=root).code == 0
    before = (root / LINES).read_bytes()
    refused(inside("build", *DAY, "-o", LINES, cwd=root), "is for feedback on builds")
    assert (root / LINES).read_bytes() == before


def test_builds_weigh_it_and_a_record_of_one_replays_after_more_feedback(root: Path) -> None:
    assert inside("feedback", record(root), "--wrong", "b", "-q", *DAY, cwd=root).code == 0
    (root / ".ctxasm" / "lock").unlink()
    built = inside("build", "--record-inputs", "-q", *DAY, cwd=root)
    assert built.out.index("The pier is wet") < built.out.index("The lamp is red")
    names = sorted((root / ".ctxasm" / "records").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    replayed = names[-1].stem
    for _ in range(3):
        assert (
            inside("feedback", record_with(root, "x"), "--useful", "b", "--wrong", "a", "-q", *DAY, cwd=root).code == 0
        )
    later = inside("build", "-q", *DAY, cwd=root)
    assert later.out.index("The lamp is red") < later.out.index("The pier is wet")
    assert inside("replay", replayed, "-q", cwd=root).out == built.out


def record_with(root: Path, text: str) -> str:
    count = len([*(root / ".ctxasm" / "records").glob("*.json")])
    fill(root, {"agents/a/KNOWLEDGE.md": f"{text} {count}\n"})
    return record(root)
