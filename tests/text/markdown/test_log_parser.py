"""Lines of a log: what is one, and where it stands."""

import pytest

from contextasm.text.markdown.logs import parse_log
from tests.workspaces import document


def parsed(text: str) -> list[tuple[int, str]]:
    """Line of the file and text of each line that is no heading."""
    return [(line.location.line, line.text) for line in parse_log(document(text)) if not line.is_heading]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("- one\n- two\n", [(1, "one"), (2, "two")], id="items"),
        pytest.param("- one\n  goes on\n  - inner\n", [(1, "one\ngoes on\n- inner")], id="an item inside another"),
        pytest.param(
            "1. a\n   - b\n     - c\n2. d\n", [(1, "a\n- b\n  - c"), (4, "d")], id="an item with the items below it"
        ),
        pytest.param("- a\n  - b\n\n## C\n  - d\n", [(1, "a\n- b"), (5, "d")], id="an item under a heading"),
        pytest.param(
            "- a\n" + "  - b\n" * 8, [(1, "a"), *((number, "b") for number in range(2, 10))], id="an item of nine lines"
        ),
        pytest.param("A text that goes\non here\n\nNext\n", [(1, "A text that goes\non here"), (4, "Next")], id="text"),
        pytest.param("It was said.\nIt was done\n", [(1, "It was said."), (2, "It was done")], id="ends of sentences"),
        pytest.param("Ada: yes\nBen: no\n", [(1, "Ada: yes"), (2, "Ben: no")], id="names"),
        pytest.param("10:30 in\n11:00 out\n", [(1, "10:30 in"), (2, "11:00 out")], id="times"),
        pytest.param("as\nfor example: so\n", [(1, "as\nfor example: so")], id="a colon after small words"),
        pytest.param("---\n\n-\n\n***\n", [], id="no words"),
        pytest.param("-\n  one\n", [(2, "one")], id="a mark alone"),
        pytest.param("---\na: b\n---\n\n# Day\n\n1. one\n", [(7, "one")], id="front matter and heading"),
        pytest.param("```\n# a\n\n  - b\n```\n", [(2, "# a"), (4, "  - b")], id="rows of a fence"),
        pytest.param("```\na\n\nb\n", [(2, "a"), (4, "b")], id="rows of a fence that is never closed"),
        pytest.param("| a |\n|---|\n| b |\n| c |\n", [(3, "| b |"), (4, "| c |")], id="rows of a table"),
        pytest.param("| a |\n|---|\n", [(1, "| a |\n|---|")], id="a table without rows"),
        pytest.param("- | a |\n|---|\n| b |\n", [(1, "| a |\n|---|\n| b |")], id="a table in an item"),
        pytest.param("- a\n  ```\n  b\n- c\n", [(1, "a"), (3, "b"), (4, "c")], id="a fence that ends with its item"),
        pytest.param(
            "- a\n\n  | b |\n  |---|\n- c | d\n", [(1, "a"), (3, "| b |\n|---|"), (5, "c | d")], id="a table, too"
        ),
        pytest.param("  ```\n  b\n- c\n", [(2, "  b"), (3, "- c")], id="an indented fence that is in no item"),
    ],
)
def test_what_is_a_line_of_a_log(text: str, expected: list[tuple[int, str]]) -> None:
    assert parsed(text) == expected


def test_headings_are_told_apart() -> None:
    assert [(line.text, line.is_heading) for line in parse_log(document("# Day\n\n## Noon\n- one\n"))] == [
        ("# Day", True),
        ("## Noon", True),
        ("one", False),
    ]
