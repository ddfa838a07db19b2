"""Front matter and attributes: what is read of them, and what belongs to the text."""

import pytest

from contextasm.text.markdown.front_matter import Value, attributes, front_matter
from tests.workspaces import document


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param("key: word", "word", id="word"),
        pytest.param("key: several words", "several words", id="words"),
        pytest.param('key: "quoted: # text"', "quoted: # text", id="double quotes"),
        pytest.param("key: 'quoted'", "quoted", id="single quotes"),
        pytest.param("key: 'it''s' # why", "it's", id="doubled single quotes"),
        pytest.param("key: word # why", "word", id="comment"),
        pytest.param("key: C#", "C#", id="a hash without a blank before it"),
        pytest.param("key: a:b", "a:b", id="colon"),
        pytest.param("key: 2025-03-10T12:00:00Z", "2025-03-10T12:00:00Z", id="time"),
        pytest.param("key:", "", id="nothing"),
        pytest.param("key: [a, b]", ("a", "b"), id="flow list"),
        pytest.param("key: ['a', \"b c\",]", ("a", "b c"), id="flow list in quotes"),
        pytest.param("key: []", (), id="empty flow list"),
        pytest.param("key:\n  - a\n  - b c", ("a", "b c"), id="block list"),
        pytest.param("key:\n- a # why", ("a",), id="block list at the margin"),
        pytest.param("# note\n\nkey: 日本", "日本", id="comment and blank line before"),
        pytest.param("key: first\nkey: last", "last", id="the last of two"),
    ],
)
def test_value_is_read_as_people_write_it(written: str, value: Value) -> None:
    assert document(f"---\n{written}\n---\ntext").front == {"key": value}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("text\n---\nkey: value\n---\n", id="not at the top"),
        pytest.param("---\nkey: value\n", id="never closed"),
        pytest.param("---\njust text\n---\nmore", id="no key"),
        pytest.param("---\n---\ntext", id="empty"),
        pytest.param("----\nkey: value\n----\n", id="four dashes"),
        pytest.param(" ---\nkey: value\n---\n", id="indented"),
        pytest.param("", id="nothing"),
    ],
)
def test_rules_of_the_text_stay_in_the_text(text: str) -> None:
    found = document(text)
    assert (found.text, found.line, found.front) == (text, 1, {})


@pytest.mark.parametrize("end", ["---", "...", "--- "])
def test_body_begins_below_the_front_matter(end: str) -> None:
    found = document(f"---\ntype: fact\n{end}\n\nThe body.")
    assert (found.text, found.line) == ("\nThe body.", 4)


@pytest.mark.parametrize(
    "data", [b"\xef\xbb\xbf---\r\ntype: fact\r\n---\r\nBody.\r\n", "---\ntype: fact\n---\nBody.\n".encode("utf-16")]
)
def test_front_matter_is_found_behind_a_byte_order_mark_and_with_any_line_ends(data: bytes) -> None:
    found = document(data)
    assert (found.text, found.line, found.front) == ("Body.\n", 4, {"type": "fact"})


def test_lines_that_are_not_understood_are_told() -> None:
    found = front_matter(["---", "key: a", "- item", "loose words", "map:", "  inner: b", "---", "text"])
    assert found.values["key"] == "a"
    assert found.unread == {3: "", 4: "", 6: "map"}
    assert found.lines == 7


@pytest.mark.parametrize(
    ("line", "text", "found"),
    [
        pytest.param("text {id=m1}", "text", {"id": "m1"}, id="one"),
        pytest.param("text {id=m1 importance=0.9}  ", "text", {"id": "m1", "importance": "0.9"}, id="two"),
        pytest.param('text {key="two words" tags=a,b}', "text", {"key": "two words", "tags": "a,b"}, id="quoted"),
        pytest.param("text { id=m1 }", "text", {"id": "m1"}, id="blanks inside"),
        pytest.param("{id=m1}", "", {"id": "m1"}, id="nothing else"),
        pytest.param("uses {braces} {id=m1}", "uses {braces}", {"id": "m1"}, id="braces before"),
    ],
)
def test_attributes_end_a_line(line: str, text: str, found: dict[str, str]) -> None:
    assert attributes(line) == (text, found)


@pytest.mark.parametrize(
    "line",
    [
        "no braces",
        "a set {1, 2}",
        "a template {name}",
        "{id=m1} in front",
        "empty {}",
        "code `{id=m1}`",
        "not a pair {id=}",
        "half {id=m1 rest}",
        "two at once {id=a}b}",
        'open quote {id="m1}',
        "no name {=x}",
    ],
)
def test_braces_with_anything_but_pairs_belong_to_the_text(line: str) -> None:
    assert attributes(line) == (line, {})


@pytest.mark.parametrize(
    "line", ["{" + "a=b " * 20_000, "{" + "a" * 50_000 + "}", "{" * 50_000 + "}", '{a="' * 10_000 + "}"]
)
def test_monstrous_line_takes_no_time(line: str) -> None:
    assert attributes(line)[1] == {}
