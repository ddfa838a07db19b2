"""`ctxasm remember`: what is stored, what is reinforced, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextasm.model import Document
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.memories.parser import parse_memories
from contextasm.text.memories.writer import LONGEST_TEXT
from tests.command import fill, inside, refused

DAY = ("--date", "2025-03-14")
LIST = "agents/a/memories/2025-03.md"
OLD = "# March\n\n- [fact] The barrier is checked twice a night {importance=0.4 id=m1}\n"


def remember(folder: Path, *words: str, stdin: str | None = None) -> str:
    """Remember as agent a on the day; what is said of it."""
    line = ("remember", *DAY, "-w", str(folder), *words)
    done = inside(*line, stdin=stdin)
    assert (done.code, done.err) == (0, "")
    return done.out


def stored(file: Path) -> list[tuple[str, str]]:
    found = decode_document("f.md", file.read_bytes())
    assert isinstance(found, Document)
    return [(each.type, each.text) for each in parse_memories(found)[0]]


def test_a_memory_goes_to_the_list_of_the_month(tmp_path: Path) -> None:
    fill(tmp_path, {})
    out = remember(
        tmp_path, "Answer in one line", "--type", "preference", "--tag", "a", "--tag", "two words", "--key", "k"
    )
    assert out.startswith("stored m-")
    assert out.endswith(f" {LIST}:1\n")
    text = '- [preference] Answer in one line {tags="a,two words" key=k created=2025-03-14}\n'
    assert (tmp_path / LIST).read_text() == text
    assert "- [preference] Answer in one line\n" in inside("build", *DAY, "-w", tmp_path).out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"- a", b"- a\n- [note] b {created=2025-03-14}\n"),
        (b"- a\r\n", b"- a\r\n- [note] b {created=2025-03-14}\r\n"),
        (b"\xef\xbb\xbf- a\n", b"\xef\xbb\xbf- a\n- [note] b {created=2025-03-14}\n"),
        ("\ufeff- a\r\n".encode("utf-16-le"), "\ufeff- a\r\n- [note] b {created=2025-03-14}\r\n".encode("utf-16-le")),
        (b"## 2025-03-14\n\n- a\n", b"## 2025-03-14\n\n- a\n- [note] b\n"),
        (b"## 2025-03-13\n- a\n", b"## 2025-03-13\n- a\n- [note] b {created=2025-03-14}\n"),
        (b"```\n## 2025-03-14\n```\n", b"```\n## 2025-03-14\n```\n\n- [note] b {created=2025-03-14}\n"),
        (
            b"---\nstatus: archived\n---\n",
            b"---\nstatus: archived\n---\n\n- [note] b {status=active created=2025-03-14}\n",
        ),
    ],
)
def test_every_other_byte_of_the_file_is_kept(tmp_path: Path, old: bytes, new: bytes) -> None:
    fill(tmp_path, {LIST: old})
    remember(tmp_path, "b")
    assert (tmp_path / LIST).read_bytes() == new


@pytest.mark.parametrize(
    "text",
    [
        "[x] done",
        "ends in {id=m1}",
        "(see below)",
        "- a bullet",
        "# a heading",
        "```\nnever closed",
        "one\n\ntwo\n  three",
    ],
)
def test_a_text_that_looks_like_markup_is_kept_as_it_is(tmp_path: Path, text: str) -> None:
    fill(tmp_path, {})
    remember(tmp_path, "--type", "fact", "--", text)
    remember(tmp_path, "Something quite different")
    assert stored(tmp_path / LIST) == [("fact", text), ("note", "Something quite different")]


@pytest.mark.parametrize("old", ["```\nnever closed\n", "---\ntype: fact\n---\nOne memory a file\n"])
def test_a_file_that_can_hold_no_more_bullets_is_refused(tmp_path: Path, old: str) -> None:
    fill(tmp_path, {LIST: old})
    refused(inside("remember", "b", *DAY, "-w", tmp_path), LIST, "--file")
    assert (tmp_path / LIST).read_text() == old


def test_file_that_is_one_memory_takes_no_bullet(tmp_path: Path) -> None:
    text = "---\ntype: fact\n---\nOne memory.\n"
    fill(tmp_path, {LIST: text})
    result = inside("remember", "b", *DAY, "-w", tmp_path)
    refused(result, LIST, "one memory", "has a type", "--file")
    assert "fence" not in result.err
    assert (tmp_path / LIST).read_text() == text


def test_row_33_dedup_on_write(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/a/memories/old.md": OLD})
    out = remember(tmp_path, "the barrier  is checked twice a Night.")
    assert out.startswith("reinforced m1 agents/a/memories/old.md:3 (importance now 0.5; 99% alike")
    text = (tmp_path / "agents/a/memories/old.md").read_text()
    assert text == OLD.replace("importance=0.4 id=m1", "importance=0.5 id=m1 accessed=2025-03-14")
    assert not (tmp_path / LIST).exists()


def test_importance_never_passes_one(tmp_path: Path) -> None:
    fill(tmp_path, {LIST: "- Short answers {importance=0.95 accessed=2026-01-01}\n"})
    remember(tmp_path, "Short answers")
    remember(tmp_path, "Short answers")
    assert (tmp_path / LIST).read_text() == "- Short answers {importance=1 accessed=2026-01-01}\n"


def test_a_file_that_is_one_memory_is_reinforced_in_its_front_matter(tmp_path: Path) -> None:
    fill(
        tmp_path, {"agents/a/memories/x.md": "---\r\ntype: fact\r\nimportance: 0.35 # low\r\n---\r\nPeel potatoes.\r\n"}
    )
    remember(tmp_path, "Peel potatoes")
    text = (tmp_path / "agents/a/memories/x.md").read_bytes()
    assert text == b"---\r\ntype: fact\r\nimportance: 0.45 # low\r\naccessed: 2025-03-14\r\n---\r\nPeel potatoes.\r\n"


@pytest.mark.parametrize(
    ("old", "words"),
    [
        ("- Keep it short, please {status=archived}\n", ()),
        ("- Keep it short, please {id=m1}\n- No: at length {supersedes=m1}\n", ()),
        ("- Keep it short, please {id=m1}\n", ("--supersedes", "m1")),
        ("- Keep it short, please\n", ("--force",)),
        ("- Keep it short, please, in 3 lines\n", ()),
    ],
    ids=["archived", "superseded", "to-be-superseded", "forced", "other-numbers"],
)
def test_what_no_longer_counts_is_not_reinforced(tmp_path: Path, old: str, words: tuple[str, ...]) -> None:
    fill(tmp_path, {LIST: old})
    assert remember(tmp_path, "Keep it short, please", *words).startswith("stored ")
    marked = old.replace("{id=m1}", "{id=m1 status=superseded}") if "--supersedes" in words else old
    assert (tmp_path / LIST).read_text().startswith(marked)


@pytest.mark.parametrize("opposite", ["must not be cleared", "must never be cleared", "mustn't be cleared"])
def test_the_opposite_of_a_memory_is_stored_beside_it(tmp_path: Path, opposite: str) -> None:
    fill(tmp_path, {LIST: "- The cache must be cleared before each release\n"})
    assert remember(tmp_path, f"The cache {opposite} before each release").startswith("stored ")
    assert [text for _, text in stored(tmp_path / LIST)][1:] == [f"The cache {opposite} before each release"]


def test_a_repetition_gives_its_fields_to_the_memory(tmp_path: Path) -> None:
    fill(tmp_path, {LIST: "- [note] The train leaves on Thursday {id=m1 tags=rail}\r\n- Other\r\n"})
    words = ("--type", "decision", "--tag", "release", "--tag", "rail", "--key", "train", "--importance", "critical")
    out = remember(tmp_path, "The train leaves on Thursday.", *words)
    assert "importance now 1; " in out
    assert "left out" not in out
    line = (
        "- [decision] The train leaves on Thursday {id=m1 tags=rail,release importance=1 accessed=2025-03-14 key=train}"
    )
    assert (tmp_path / LIST).read_bytes() == f"{line}\r\n- Other\r\n".encode()


def test_a_repetition_says_which_of_its_fields_are_left_out(tmp_path: Path) -> None:
    fill(tmp_path, {LIST: "- [fact] The train leaves on Thursday {id=m1 key=rail importance=0.8}\n"})
    words = ("--type", "decision", "--key", "train", "--importance", "low")
    out = remember(tmp_path, "The train leaves on Thursday.", *words)
    assert "; left out importance=0.25; left out key=train; left out type=decision; " in out
    line = "- [fact] The train leaves on Thursday {id=m1 key=rail importance=0.9 accessed=2025-03-14}\n"
    assert (tmp_path / LIST).read_text() == line


def test_a_repetition_in_one_go_gives_its_fields_too(tmp_path: Path) -> None:
    fill(tmp_path, {})
    lines = '{"text": "Say it once", "key": "a"}\n{"text": "say it once", "tags": ["t"], "key": "b", "type": "rule"}\n'
    data = json.loads(remember(tmp_path, "-", "--json", stdin=lines))["memories"]
    assert [each["left_out"] for each in data] == [[], ["key=b"]]
    assert "[rule] Say it once {importance=0.6 tags=t key=a accessed=" in (tmp_path / LIST).read_text()


def test_a_repetition_gives_its_tags_to_a_file_that_is_one_memory(tmp_path: Path) -> None:
    front = "---\ntype: note\ntags:\n  - a\n  - b c\nowner: hana\n---\nPeel potatoes.\n"
    fill(tmp_path, {"agents/a/memories/x.md": front})
    remember(tmp_path, "Peel potatoes", "--tag", "d", "--key", "k #1", "--type", "fact")
    text = (
        "---\ntype: fact\ntags: a,b c,d\nowner: hana\nimportance: 0.6\naccessed: 2025-03-14\n"
        'key: "k #1"\n---\nPeel potatoes.\n'
    )
    assert (tmp_path / "agents/a/memories/x.md").read_text() == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"# M\r\n- a  {id=m1}\r\n\r\ntext", b"# M\r\n- a  {id=m1 status=superseded}\r\n\r\ntext"),
        (b"- a {id=m1 status=active}\n* b\n", b"- a {id=m1 status=superseded}\n* b\n"),
        (b"- a {id=m1 status=draft}\n", b"- a {id=m1 status=draft}\n"),
        (b"---\ntype: fact\nid: m1\n---\na\n", b"---\ntype: fact\nid: m1\nstatus: superseded\n---\na\n"),
    ],
)
def test_a_superseded_memory_is_marked_in_its_own_line(tmp_path: Path, old: bytes, new: bytes) -> None:
    fill(tmp_path, {"agents/a/memories/x.md": old})
    remember(tmp_path, "Another text", "--supersedes", "m1")
    assert (tmp_path / "agents/a/memories/x.md").read_bytes() == new
    assert inside("check", "--strict", *DAY, "-w", tmp_path).code == 0


def test_explain_names_the_memory_that_supersedes_one(tmp_path: Path) -> None:
    fill(tmp_path, {LIST: "- Old {id=m1 status=superseded}\n- New {id=m2 supersedes=m1}\n"})
    assert "superseded by m2" in inside("explain", *DAY, "-w", tmp_path).out


@pytest.mark.parametrize("file", ["memories/sub/x.md", "daily/2025-01-01.md", "IDENTITY.md", "PERSONA.md"])
def test_a_file_that_no_build_reads_memories_from_is_refused(tmp_path: Path, file: str) -> None:
    fill(tmp_path, {})
    before = (tmp_path / "agents/a/IDENTITY.md").read_bytes()
    refused(inside("remember", "b", "--file", f"agents/a/{file}", "-w", tmp_path), "--file", file, "memories/x.md")
    assert (tmp_path / "agents/a/IDENTITY.md").read_bytes() == before
    assert not (tmp_path / "agents/a/PERSONA.md").exists()


def test_a_file_that_the_own_profile_reads_memories_from_is_taken(tmp_path: Path) -> None:
    layer = "{id: notes, heading: Notes, source: recent, path: 'notes/*.md'}"
    fill(tmp_path, {"ctxasm.yaml": "profile: own.yaml\n", "own.yaml": f"layers:\n- {layer}\n"})
    assert remember(tmp_path, "b", "--file", "notes/x.md").startswith("stored ")
    assert "b" in inside("build", "-w", tmp_path).out


def test_a_file_of_the_month_has_a_year_of_four_digits(tmp_path: Path) -> None:
    fill(tmp_path, {})
    out = inside("remember", "b", "--date", "0001-01-01", "-w", tmp_path).out
    assert out.endswith("agents/a/memories/0001-01.md:1\n")


def test_another_owner_may_remember_the_same(tmp_path: Path) -> None:
    fill(tmp_path, {LIST: OLD, "teams/q1/GOALS.md": "Goals.\n"})
    assert remember(tmp_path, "The barrier is checked twice a night", "-t", "q1").startswith("stored ")
    assert "twice" in (tmp_path / "teams/q1/memories/2025-03.md").read_text()


def test_a_named_file_is_written_to(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/b/IDENTITY.md": "b", "agents/b/memories/old.md": OLD})
    out = remember(tmp_path, "Something new", "--file", "agents/b/memories/decisions.md")
    assert out.endswith("agents/b/memories/decisions.md:1\n")
    words = ("The barrier is checked twice a night", "--file", "decisions.md", "-a", "b")
    done = inside("remember", *words, *DAY, cwd=tmp_path / "agents/b/memories")
    assert done.out.startswith("reinforced m1 agents/b/memories/old.md:3")


def test_a_superseded_memory_has_to_be_there(tmp_path: Path) -> None:
    fill(tmp_path, {LIST: OLD.replace("m1", "barrier-check")})
    refused(inside("remember", "b", "--supersedes", "barier-check", "-w", tmp_path), "did you mean barrier-check?")
    remember(tmp_path, "Checked three times", "--supersedes", "barrier-check")
    assert "{supersedes=barrier-check created=2025-03-14}" in (tmp_path / LIST).read_text()
    assert "twice" not in inside("build", *DAY, "-w", tmp_path).out


def test_row_42_confidence_map(tmp_path: Path) -> None:
    fill(tmp_path, {})
    lines = [
        '{"text": "first of all", "confidence": "high", "type": "fact", "tags": ["a"], "key": "k"}',
        "",
        '{"text": "second thoughts", "confidence": "medium"}',
        '{"text": "third party", "confidence": "low"}',
        '{"text": "fourth wall", "confidence": "low", "importance": 1}',
        "a plain line",
    ]
    out = remember(tmp_path, "-", "--importance", "critical", "--json", stdin="\n".join(lines) + "\n")
    data = json.loads(out)
    assert data["schema"] == "ctxasm.remembered/1"
    assert [each["importance"] for each in data["memories"]] == [0.8, 0.5, 0.3, 1.0, 1.0]
    assert [each["line"] for each in data["memories"]] == [1, 2, 3, 4, 5]
    assert stored(tmp_path / LIST)[0] == ("fact", "first of all")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"text": "b"', "not valid JSON"),
        ('{"text": "b", "colour": "red"}', "unknown key colour"),
        ('{"text": ""}', "is empty"),
        ('{"type": "fact"}', "text: is missing"),
        ('{"text": 3}', "is not text"),
        ('{"text": "b", "confidence": "hihg"}', "did you mean high?"),
        ('{"text": "b", "importance": 7}', "not an importance"),
        ('{"text": "b", "importance": NaN}', "holds NaN, which JSON does not have"),
        ('{"text": "b", "tags": "a"}', "not a list"),
        ('{"text": "b", "tags": ["a,b"]}', "comma"),
        ('{"text": "b", "key": "{"}', "braces"),
        ('{"text": "b", "type": "x"}', "can't be a type"),
        ('{"text": "\\ud800"}', "half a character"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(tmp_path: Path, line: str, what: str) -> None:
    fill(tmp_path, {})
    refused(inside("remember", "-", "-w", tmp_path, stdin=f"fine\n\n{line}\n"), "line 3", what)
    assert not (tmp_path / "agents/a/memories").exists()


def test_the_same_twice_in_one_go_is_stored_once(tmp_path: Path) -> None:
    fill(tmp_path, {})
    out = remember(tmp_path, "-", stdin="Say it once\nSomething else\nsay it  once\n").splitlines()
    assert [line.split()[0] for line in out] == ["stored", "stored", "reinforced"]
    assert out[2].split()[1] == out[0].split()[1]
    first = (tmp_path / LIST).read_text().splitlines()[0]
    assert first.startswith("- [note] Say it once {importance=0.6 accessed=")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("b", "-a", "aa"), ("unknown agent aa", "a")),
        (("b", "-t", "q2"), ("unknown team q2", "q1")),
        (("b", "-a", "a", "-t", "q1"), ("--team",)),
        (("b", "-a", "../a"), ("can't be a name",)),
        (("b", "--file", "../x.md"), ("inside the workspace",)),
        (("b", "--file", "/x.md"), ("inside the workspace",)),
        (("b", "--file", "ctxasm.yaml"), (".md",)),
        (("b", "--file", "teams/q1/memories/x.md", "-a", "a"), ("agents/a/",)),
        (("b", "--file", "link/x.md"), ("leads out",)),
        (("b", "--type", "a]"), ("--type",)),
        (("b", "--importance", "2"), ("--importance",)),
        (("  ",), ("is empty",)),
    ],
)
def test_what_cant_be_done_is_refused(tmp_path: Path, words: tuple[str, ...], parts: tuple[str, ...]) -> None:
    folder = fill(tmp_path / "w", {"teams/q1/GOALS.md": "Goals.\n"})
    (tmp_path / "outside").mkdir()
    (folder / "link").symlink_to(tmp_path / "outside")
    refused(inside("remember", *words, "-w", folder), *parts)
    assert list((tmp_path / "outside").iterdir()) == []
    assert not (folder / "agents/a/memories").exists()


@pytest.mark.parametrize("path", ["agents/a/memories", ".ctxasm", "agents/a/memories/2025-03.md"])
def test_nothing_is_written_through_a_link_that_leads_out(tmp_path: Path, path: str) -> None:
    folder = fill(tmp_path / "w", {})
    outside = tmp_path / "outside"
    if path.endswith(".md"):
        outside.write_text("- theirs\n")
    else:
        outside.mkdir()
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).symlink_to(outside)
    refused(inside("remember", "b", *DAY, "-w", folder), "leads out of the workspace")
    assert outside.read_text() == "- theirs\n" if outside.is_file() else list(outside.iterdir()) == []


def test_without_a_single_agent_one_has_to_be_named(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/b/IDENTITY.md": "b"})
    refused(inside("remember", "b", "-w", tmp_path), "a, b")
    done = inside("remember", "c", *DAY, "-w", tmp_path, env={"CTXASM_AGENT": "b", "CTXASM_TEAM": "none"})
    assert "agents/b/memories/2025-03.md:1" in done.out
    assert inside("remember", "d", "-q", *DAY, "-a", "a", "-w", tmp_path).out == ""


def test_thousands_of_memories_are_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {f"agents/a/memories/{n}.md": f"- Number {n} is a memory of file {n}\n" for n in range(20)}
    fill(tmp_path, {**lists, "agents/a/memories/z.md": "- Peel the potatoes aboard\n"})
    seen: list[str] = []

    def watched(document: Document) -> object:
        seen.append(document.path)
        return parse_memories(document)

    monkeypatch.setattr("contextasm.workspace.editing.memory_file.parse_memories", watched)
    remember(tmp_path, "Peel the potatoes, abroad")
    assert seen == ["agents/a/memories/z.md"]
    remember(tmp_path, "Look up")
    assert seen[1:] == [LIST]


def test_text_that_no_context_could_show_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, {})
    pipe = ("remember", "-", *DAY, "-w", str(tmp_path))
    refused(inside(*pipe, stdin="x" * (LONGEST_TEXT + 1)), "line 1", "65,537 characters", "65,536 are the most")
    refused(inside("log", "-", "-w", tmp_path, stdin="x" * 10_000_000), "TEXT", "10,000,000 characters")
    for flag in ("--tag", "--key", "--type", "--supersedes"):
        refused(inside("remember", "A", *DAY, "-w", tmp_path, flag, "x" * 1001), flag, "1,001 characters", "1,000")
    refused(inside("remember", "A", *DAY, "-w", tmp_path, *("--tag", "x") * 101), "--tag", "101 values", "100 at most")
    assert not (tmp_path / LIST).exists()
    assert inside(*pipe, stdin="x" * LONGEST_TEXT).code == 0
    assert [len(text) for _, text in stored(tmp_path / LIST)] == [LONGEST_TEXT]


@pytest.mark.parametrize("option", ["--key", "--tag", "--type"])
def test_value_that_is_not_utf_8_is_refused(tmp_path: Path, option: str) -> None:
    fill(tmp_path, {})
    refused(inside("remember", "a", option, "\udcff", "-w", tmp_path), option)
    assert not (tmp_path / "agents/a/memories").exists()
