"""Private parts of a document, by whichever mark."""

import json

import pytest

from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import Data, Document
from contextasm.text.cleaning.clean import parse_data
from contextasm.text.cleaning.private_parts import withhold
from contextasm.text.markdown.managed_block import with_block
from tests.tables import rows
from tests.workspaces import document


def seen(text: str, path: str = "a.md") -> Document:
    """The document as a shared context sees it."""
    return withhold(document(text, path), load_yaml)


def spans(document: Document) -> list[tuple[int, int]]:
    """The lines that are left out."""
    return [(gap.first, gap.last) for gap in document.gaps if gap.reason == "private"]


BLOCK = with_block(None, "- x {private=true}\n", "a.md") + "- y {private=true}\n"


TABLE = "| a | b |\n|---|---|\n| Cem | 70k {private=true} |\n| Ben {private=true} | 5k |\n\nx\n"


@pytest.mark.parametrize(("text", "private"), [*rows("memories/private"), (BLOCK, "4-4"), (TABLE, "1-4")], ids=str)
def test_private_lines_are_gaps(text: str, private: str) -> None:
    document = seen(text)
    assert ", ".join(f"{first}-{last}" for first, last in spans(document)) == private
    lines = document.whole.split("\n")
    assert not any(lines[number - 1] for first, last in spans(document) for number in range(first, last + 1))


@pytest.mark.parametrize(
    "flag", ["", " ~", " null", " off", " 0", " none", ' "true"', " []", " # why", "\n  - true", ' "off"']
)
def test_front_matter_with_anything_but_no_is_private(flag: str) -> None:
    assert spans(seen(f"---\ntitle: a\nprivate:{flag}\n---\nText.\n"))[0][0] == 1
    assert not seen(f"---\ntitle: a\nprivate:{flag}\n---\nText.\n").whole.strip()


@pytest.mark.parametrize("flag", ["false", "no", "No", '"false"', "'no'", "false # for all"])
def test_front_matter_that_says_no_is_shown(flag: str) -> None:
    assert seen(f"---\nprivate: {flag}\n---\nText.\n").text == "Text.\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("---\nprivate: true\n\nText.\n", id="blank line"),
        pytest.param("---\ntitle: a\nprivate: true\nText.\n", id="text at once"),
        pytest.param("---\nprivate: true", id="nothing more"),
        pytest.param('---\n"private": true\n---\nText.\n', id="key in quotes"),
        pytest.param("---\n  private: true\n---\nText.\n", id="indented"),
        pytest.param("---\ntitle: a\nprivate: false\nprivate: true\n---\nText.\n", id="twice"),
    ],
)
def test_front_matter_that_is_broken_still_hides_the_file(text: str) -> None:
    document = seen(text)
    assert document.withheld == "file"
    assert not document.whole.strip()


def test_a_rule_above_a_text_is_no_front_matter() -> None:
    assert spans(seen("---\n\nSome text.\n\nprivate: true is a key.\n")) == []
    assert spans(seen("---\nprivate: false\n\nText.\n")) == []


@pytest.mark.parametrize(
    "mark",
    [
        *["{private=}", "{private}", "{ private }", "{private=true}.", "{private=true}**", "({private=yes})"],
        *["{private=off}", "{private=null}", "{private: true}", "{private='true'}", "{PRIVATE}", "{tags=a private}"],
        *["{private tags=a}", "{private=true} {tags=a}", "{private=false private=true}", "{private=true}\u3002"],
    ],
)
def test_a_mark_in_another_form_hides_its_memory(mark: str) -> None:
    assert spans(seen(f"- one\n- two {mark}\n- three\n")) == [(2, 2)]


@pytest.mark.parametrize(
    "end",
    [
        *["{private=no}", '{private="false"}', "{tags=a,private}", '{tags="private notes"}', "`{private=true}`"],
        *["{private_key=a}", "{id=private}", "private}"],
    ],
)
def test_a_text_without_the_mark_is_shown(end: str) -> None:
    assert spans(seen(f"- one\n- two {end}\n")) == []


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('"Our rate. {private=true}"', id="at the end"),
        pytest.param('"Our rate. {private=true}\\n\\nMore."', id="in a paragraph"),
        pytest.param('{"text": ["Our rate. {private}"]}', id="deeper"),
        pytest.param('"Our rate. {\\u0070rivate=true}"', id="escaped"),
    ],
)
def test_an_event_whose_text_holds_the_mark_is_left_out(content: str) -> None:
    other = '{"type": "turn", "content": "Shown."}'
    document = seen(f'{other}\n{{"type": "turn", "content": {content}}}\n{other}\n', "sessions/a.jsonl")
    assert spans(document) == [(2, 2)]
    assert document.text == f"{other}\n\n{other}\n"


def test_an_event_that_speaks_of_the_mark_is_shown() -> None:
    text = '{"type": "turn", "content": "Write {private=true} there.\\n```\\n- x {private=true}\\n```"}\n'
    assert spans(seen(text, "sessions/a.jsonl")) == []


@pytest.mark.parametrize("path", ["graph/relations.yaml", "a.md"])
def test_a_file_of_values_with_a_private_row_is_no_text(path: str) -> None:
    document = seen("relations:\n  - {source: A, target: B}\n  - source: C\n    private: true\n", path)
    assert spans(document) == [(1, 4)]
    assert not document.text.strip()


def test_private_rows_are_left_out_of_the_values() -> None:
    text = "rows:\n  - {a: 1}\n  - b: 2\n    private: true\n  - {c: {d: 3, private: yes}, e: 4}\n"
    raw = document(text, "r.yaml")
    data = parse_data(raw._replace(withheld="rows"), load_yaml)
    assert getattr(data, "value", None) == {"rows": [{"a": 1}, {"e": 4}]}
    assert spans(data.document) == [(3, 3), (5, 5)]  # type: ignore[union-attr]
    assert getattr(parse_data(raw, load_yaml), "value", {}).keys() == {"rows"}


def test_texts_with_the_mark_are_left_out_of_the_values_with_their_rows() -> None:
    text = (
        "a: open\nb: shut {private=true}\nrows:\n  - {c: shut {private}}\n  - {c: open, d: {e: f, g: 'x {private}'}}\n"
    )
    text = text.replace("{c: shut {private}}", "c: shut {private}")
    data = parse_data(seen(text, "r.yaml"), load_yaml)
    assert getattr(data, "value", None) == {"a": "open", "rows": [{"c": "open", "d": {"e": "f"}}]}
    escaped = parse_data(seen('{"a": "x {\\u0070rivate}\\n\\ny",\n"b": "z"}\n', "r.json"), load_yaml)
    assert getattr(escaped, "value", None) == {"b": "z"}
    assert spans(escaped.document) == [(1, 1)]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- {a: shut}  # {private=true}\n- {a: open}\n", id="comment"),
        pytest.param("# {private=true}\n- {a: shut}\n", id="comment above"),
        pytest.param("- a: shut {private=true}\n    on two lines\n- {a: open}\n", id="folded"),
        pytest.param("- {a: 'x {private=true}'}\n- a: shut  # {private=true}\n", id="another value"),
        pytest.param("- {a: '{private=true}'}\n- a: shut  # {private=true}\n", id="a value like the comment"),
        pytest.param("a {private=true}:\n  shut: 1\n", id="key"),
        pytest.param("- a: shut  # {pri\u200bvate=true}\n", id="hidden character"),
        pytest.param("b: open {private=true}\nshut: 1\nshut: 2\n", id="quoted by an error"),
    ],
)
def test_values_are_private_as_a_whole_if_the_mark_is_not_the_end_of_one(text: str) -> None:
    data = parse_data(seen(text, "r.yaml"), load_yaml)
    assert isinstance(data, Data)
    assert (data.value, data.document.withheld, data.document.whole.strip()) == ([], "file", "")


def test_a_marked_value_is_left_out_alone_however_it_is_quoted() -> None:
    text = """a: open
b: 'it is "x": #1 {private=true}'
c: "it's {private=true}"
e: |
  # In a block: {private=true}
"""
    assert getattr(parse_data(seen(text, "r.yaml"), load_yaml), "value", None) == {"a": "open"}
    packed = json.dumps({"a": "open", "b": 'say "x": y {private=true}'}, indent=1)
    assert getattr(parse_data(seen(packed, "r.json"), load_yaml), "value", None) == {"a": "open"}


AFTER_A_MARK = [*"”’»…、」—~>/،؟;・🔒", "</b>", "[^1]", " <!-- c -->.", "--> -"]


@pytest.mark.parametrize("text", [f"Salary {{private=true}}{end}" for end in AFTER_A_MARK])
def test_no_sign_after_a_mark_makes_it_a_part_of_the_text(text: str) -> None:
    assert spans(seen(f"Open\n\n{text}\n")) == [(3, 3)]


@pytest.mark.parametrize("text", ["Salary <!-- {private=true} -->", "- [fact] Salary <!-- {private} --> {id=x}"])
def test_a_mark_in_a_comment_is_a_mark(text: str) -> None:
    assert spans(seen(f"Open\n\n{text}\n")) == [(3, 3)]


@pytest.mark.parametrize("line", ["title: x # {private=true}", "tags: [x] {private}", "title: x {private=true}"])
def test_front_matter_with_the_mark_makes_its_file_private(line: str) -> None:
    text = f"---\n{line}\n---\nText\n"
    assert spans(seen(text)) == [(1, 4)]
    assert seen(text).front == {}


NPM = '{"name": "x", "private": true}'


@pytest.mark.parametrize("text", [NPM, NPM.replace(", ", ",\n  "), NPM.replace(": true", " : true")])
def test_the_flag_of_npm_that_a_package_is_not_published_is_no_mark(text: str) -> None:
    for path in ("package.json", "web/package.json"):
        document = seen(text, path)
        assert (document.text, spans(document)) == (text, [])
        assert getattr(parse_data(document, load_yaml), "value", {})["name"] == "x"
    assert spans(seen(text, "other.json"))


@pytest.mark.parametrize("more", ['"a": {"private": true}', '"a": "x {private: true}"', '"a": "{\\"private\\": true}"'])
def test_other_marks_in_a_file_of_npm_count(more: str) -> None:
    assert spans(seen(NPM.replace("}", f", {more}}}"), "package.json")) == [(1, 1)]


def test_an_argument_of_the_name_is_no_mark() -> None:
    tool = '{"tools": [{"name": "repo", "inputSchema": {"properties": {"private": {"type": "boolean"}}}}]}'
    assert spans(seen(tool, "tools/a.json")) == []


def test_a_file_of_values_that_cannot_be_parsed_is_private_where_it_speaks_of_it() -> None:
    assert spans(seen("a: [\n- private: true\n", "a.yaml")) == [(1, 2)]
    assert spans(seen("a: [\n", "a.yaml")) == []
