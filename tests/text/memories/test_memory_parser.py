"""Memories: what a list or a file holds, what is said of each, and what is wrong with it."""

import pytest

from contextasm.model import Memory
from contextasm.text.memories.parser import distinct_memories, parse_memories
from tests.tables import rows
from tests.workspaces import agent, build, document, outcomes, section


def read(text: str) -> list[Memory]:
    """The memories of a file with which nothing is wrong."""
    found, problems = parse_memories(document(text))
    assert problems == ()
    return [*found]


def one(text: str) -> Memory:
    """The only memory of a file."""
    (memory,) = read(text)
    return memory


def wrong(text: str) -> list[str]:
    """The problems of a file: `LINE: message`."""
    return [f"{problem.line}: {problem.advice}" for problem in parse_memories(document(text))[1]]


def stated(memory: Memory) -> dict[str, object]:
    """What a memory says of itself other than the defaults."""
    plain = one("- plain")._asdict()
    return {
        key: value
        for key, value in memory._asdict().items()
        if value != plain[key] and key not in {"id", "line", "text"}
    }


def test_each_top_level_bullet_is_one_memory() -> None:
    found = read("# Notes\n\n- [decision] Ship in May\n* no type\n+ [open question] Who tests?\n\nThe end.")
    assert [(each.line, each.type, each.text) for each in found] == [
        (3, "decision", "Ship in May"),
        (4, "note", "no type"),
        (5, "open question", "Who tests?"),
    ]


def test_plain_memory_has_the_defaults() -> None:
    memory = one("- plain")
    assert memory._replace(id="") == Memory(
        id="",
        path="m.md",
        line=1,
        text="plain",
        type="note",
        importance=0.5,
        created="",
        accessed="",
        status="active",
        confidence=0.5,
        key="",
        tier="",
        dedup="",
        tags=(),
        files=(),
        private=False,
        pin=False,
        supersedes=(),
        expires="",
        superseded_by="",
        writer="",
    )


def test_attributes_say_what_a_memory_is() -> None:
    memory = one(
        "- [fact] Text {id=m12 importance=0.9 created=2025-03-10 accessed=2025-03-11T09:00:00Z status=Draft "
        "confidence=0.2 key=user/name tier=core dedup=name tags=a,b "
        'files="x.py, y.py" private=yes pin=true supersedes=m1,m2}'
    )
    assert (memory.id, memory.text) == ("m12", "Text")
    assert stated(memory) == {
        "type": "fact",
        "importance": 0.9,
        "created": "2025-03-10",
        "accessed": "2025-03-11",
        "status": "draft",
        "confidence": 0.2,
        "key": "user/name",
        "tier": "core",
        "dedup": "name",
        "tags": ("a", "b"),
        "files": ("x.py", "y.py"),
        "private": True,
        "pin": True,
        "supersedes": ("m1", "m2"),
    }


@pytest.mark.parametrize(
    ("written", "value"),
    [("low", 0.25), ("medium", 0.5), ("High", 0.75), ("critical", 1.0), ("0", 0.0), ("1", 1.0), (".5", 0.5)],
)
def test_importance_is_a_number_or_a_word(written: str, value: float) -> None:
    assert one(f"- text {{importance={written}}}").importance == value


@pytest.mark.parametrize(("written", "value"), [("low", 0.3), ("medium", 0.5), ("high", 0.8)])
def test_confidence_in_words_is_that_of_the_source_document(written: str, value: float) -> None:
    assert one(f"- text {{confidence={written}}}").confidence == value


def test_heading_that_is_a_date_sets_created_for_the_bullets_under_it() -> None:
    found = read(
        "- a\n## 2025-03-10\n- b\n### Morning\n- c\n- d {created=2024-01-01}\n"
        "## Later\n- e\n# 2025-03-12: review\n- f\n# No date\n- g"
    )
    assert [(each.text, each.created) for each in found] == [
        ("a", ""),
        ("b", "2025-03-10"),
        ("c", "2025-03-10"),
        ("d", "2024-01-01"),
        ("e", ""),
        ("f", "2025-03-12"),
        ("g", ""),
    ]


@pytest.mark.parametrize("title", ["2025-02-30", "On 2025-03-10", "2025-03-101", "March"])
def test_heading_that_is_no_date_sets_nothing(title: str) -> None:
    assert one(f"## {title}\n- text").created == ""


def test_front_matter_gives_the_defaults_of_a_list() -> None:
    found = read(
        "---\nimportance: high\ncreated: 2025-01-01\ntags: [a, b]\n---\n"
        "- one\n- two {importance=0.1 tags=c}\n## 2025-02-02\n- three"
    )
    assert [(each.importance, each.created, each.tags) for each in found] == [
        (0.75, "2025-01-01", ("a", "b")),
        (0.1, "2025-01-01", ("c",)),
        (0.75, "2025-02-02", ("a", "b")),
    ]
    assert [each.line for each in found] == [6, 7, 9]


def test_file_whose_front_matter_has_a_type_is_one_memory() -> None:
    memory = one(
        "---\ntype: decision\nid: d7\nfiles:\n  - a.py\n  - b.py\n---\n\nUse three acts:\n\n- set-up\n- conflict\n\n"
    )
    assert (memory.id, memory.type, memory.files, memory.line) == ("d7", "decision", ("a.py", "b.py"), 9)
    assert memory.text == "Use three acts:\n\n- set-up\n- conflict"


@pytest.mark.parametrize(("bullet", "text"), rows("memories/bullets"), ids=str)
def test_memory_holds_the_lines_that_belong_to_its_bullet(bullet: str, text: str) -> None:
    memory = one(bullet)
    assert (memory.type, memory.text) == ("a", text)


def test_bullets_in_a_fence_are_no_memories() -> None:
    assert [each.text for each in read("```md\n- no\n```\n- yes\n\n~~~\n- no\n~~~\n")] == ["yes"]


@pytest.mark.parametrize(("bullet", "type_", "text"), rows("memories/types"), ids=str)
def test_only_words_in_brackets_at_the_start_are_a_type(bullet: str, type_: str, text: str) -> None:
    memory = one(bullet)
    assert (memory.type, memory.text) == (type_, text)


@pytest.mark.parametrize(
    "line", ["---", "- - -", "***", "-no blank", "1. numbered", "  - indented", "-", "-  ", "- {id=x}"]
)
def test_what_is_no_bullet_with_text_is_no_memory(line: str) -> None:
    found, problems = parse_memories(document(f"Text.\n\n{line}\n"))
    assert found == ()
    assert [problem.code for problem in problems] == ["no-memory"]


def test_blank_file_is_no_problem() -> None:
    assert read("") == read("\n \n") == read("---\nimportance: 1\n---\n\n") == []


@pytest.mark.parametrize(("attribute", "message"), rows("memories/values"), ids=str)
def test_value_that_cannot_be_used_is_a_problem_and_the_default_holds(attribute: str, message: str) -> None:
    text = f"# Notes\n\n- text {{{attribute}}}"
    assert wrong(text) == [f"3: {message}"]
    (memory,), _ = parse_memories(document(text))
    assert memory.text == "text"
    assert stated(memory) == {}


def test_field_like_no_other_is_told_what_there_is() -> None:
    (message,) = wrong("- text {qqq=1}")
    assert message.startswith("1: unknown field `qqq`")
    assert "id, type, importance" in message


def test_unknown_fields_are_told_in_the_order_in_which_they_stand() -> None:
    fields = [f"zz{letter}" for letter in "abcdefgh"]
    text = "- text {" + " ".join(f"{field}=1" for field in fields) + "}"
    assert [message.split()[3].strip("`;") for message in wrong(text)] == fields


def test_key_of_the_front_matter_that_is_nearly_a_field_is_a_problem() -> None:
    assert wrong("---\ntitle: Notes\naliases: [a]\nimportanse: high\n---\n- text") == [
        "1: unknown field `importanse` in the front matter; did you mean importance?"
    ]


def test_id_stays_the_same_when_other_memories_are_added_above() -> None:
    before = one("- [fact] stays")
    after = read("# Title\n\n- new above\n- [fact] stays {importance=1}\n- new below")[1]
    assert before.id == after.id
    (elsewhere,), _ = parse_memories(document("- [fact] stays", "other.md"))
    assert before.id != elsewhere.id


def test_equal_memories_get_an_id_each_in_silence() -> None:
    own, problems = distinct_memories(read("- same\n- same\n- other\n- same"))
    assert problems == ()
    assert [each.id for each in own[1::2]] == [f"{own[0].id}~2", f"{own[0].id}~3"]
    assert len({each.id for each in own}) == 4


def test_id_that_was_given_twice_is_a_problem() -> None:
    own, problems = distinct_memories(read("- one {id=m1}\n- two {id=m1}"))
    assert [each.id for each in own] == ["m1", "m1~2"]
    assert [(each.code, each.line) for each in problems] == [("duplicate-id", 2)]


def test_id_is_unique_whatever_was_given() -> None:
    own, _ = distinct_memories(read("- one {id=a}\n- two {id=a~2}\n- three {id=a}\n- four {id=a~2}"))
    assert len({each.id for each in own}) == 4


def test_memory_is_shown_as_a_bullet_with_its_lines_indented() -> None:
    context = build(
        agent() | {"agents/luna/memories/a.md": "- [a] first\n  - sub\n\n  more\n- last {created=2025-01-01}"}
    )
    assert section(context, "Personal Memories") == "- [note] last\n- [a] first\n  - sub\n\n  more"


def test_memories_that_do_not_count_say_why() -> None:
    lines = "- [a] old {id=m1}\n- [a] new {supersedes=m1}\n"
    lines += "- [b] archived {status=archived supersedes=m2}\n- [b] stays {id=m2}"
    context = build(agent() | {"agents/luna/memories/a.md": lines})
    assert section(context, "Personal Memories") == "- [b] stays\n- [a] new"
    assert sorted(each.reason.code for each in context.decisions if each.layer == "L5") == [
        "fits",
        "fits",
        "status",
        "superseded",
    ]


def test_newest_memory_comes_first_and_one_without_a_date_last() -> None:
    files = agent() | {
        "agents/luna/memories/b.md": "- b1\n- b2 {created=2025-01-02}",
        "agents/luna/memories/a.md": "- a1\n- a2\n- a3 {created=2025-01-03}",
    }
    context = build(files)
    assert section(context, "Personal Memories") == "\n".join(
        f"- [note] {each}" for each in ("a3", "b2", "a2", "a1", "b1")
    )
    assert {*outcomes(context, "L5")} == {"agents/luna/memories/a.md", "agents/luna/memories/b.md"}


@pytest.mark.parametrize("braces", ["{id=bad key key=x}", "{ id = x }", "{key=}", '{tags="a}', "{pin=true, key=a b}"])
def test_braces_that_set_a_field_and_can_not_be_read_are_a_problem(braces: str) -> None:
    (memory,), problems = parse_memories(document(f"- Text {braces}\n"))
    assert memory.text == f"Text {braces}"
    assert [problem.line for problem in problems] == [1]


@pytest.mark.parametrize("braces", ["{a}", "{colour=dark red}", "{x: 1}", "{ id }", "{}"])
def test_braces_of_a_text_are_no_problem(braces: str) -> None:
    assert parse_memories(document(f"- Text {braces}\n"))[1] == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- a\n\n<!--\n- [fact] x\n-->\n\n- b\n", id="apart"),
        pytest.param("- a\n<!--\n- [fact] x\n-->\n- b\n", id="between items"),
        pytest.param("<!-- old:\n- x\n\n- y\n-->\n- a\n- b\n", id="with a blank line"),
        pytest.param("- a\n- b\n<!--\n## 2026-01-02\n- x\n-->", id="at the end"),
    ],
)
def test_a_bullet_in_a_comment_is_no_memory(text: str) -> None:
    assert [memory.text for memory in read(text)] == ["a", "b"]


def test_a_bullet_behind_a_comment_keeps_its_line() -> None:
    assert [memory.line for memory in read("<!--\n- x\n-->\n- a\n")] == [4]


def test_a_heading_in_a_comment_dates_nothing() -> None:
    assert one("<!--\n## 2026-01-02\n-->\n- a\n").created == ""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<!--\n- a\n- b\n", id="never closed"),
        pytest.param("```\n<!--\n```\n- a\n- b\n\n```\n-->\n```\n", id="in code"),
        pytest.param("- a\n\n<!-- one line -->\n\n- b\n", id="one line"),
    ],
)
def test_a_comment_around_nothing_hides_nothing(text: str) -> None:
    assert [memory.text for memory in read(text)] == ["a", "b"]


@pytest.mark.parametrize("name", ["pre", "script", "style", "textarea"])
def test_a_bullet_in_unformatted_html_is_none(name: str) -> None:
    found = read(f"- one\n\n<{name}>\n- two\n# 2025-03-14\n</{name}>\n- three")
    assert [(each.text, each.created) for each in found] == [("one", ""), ("three", "")]


def test_unformatted_html_that_is_never_closed_hides_no_memory() -> None:
    assert [each.text for each in read("- one\n\n<pre>\n- two\n\n<!-- open\n- three")] == ["one", "two", "three"]


@pytest.mark.parametrize(
    "front", ["metadata:\n  node_type: memory\n  type: feedback", "type: feedback\nmetadata:\n  type: x"]
)
def test_page_of_claude_code_is_one_memory(front: str) -> None:
    memory = one(f"---\nname: a\ndescription: b\n{front}\n---\n\nDo not guess.\n\n- Ask.\n")
    assert (memory.type, memory.text) == ("feedback", "Do not guess.\n\n- Ask.")
