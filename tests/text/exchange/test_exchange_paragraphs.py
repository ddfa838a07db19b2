"""A Markdown text in parts: bullets and paragraphs, each with its line and the heading above it."""

import pytest

from contextasm.text.exchange.notes import text_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("\n\n", []),
        ("One\ntwo\n\nThree", [(1, "One\ntwo", ""), (4, "Three", "")]),
        ("# A\nOne\n## B\n- two", [(2, "One", "A"), (4, "two", "B")]),
        ("**A**\n\nOne\n\n**B:**\nTwo", [(3, "One", "A"), (6, "Two", "B")]),
        ("One\n- two\n  more\n\n  last\n* three", [
            (1, "One", ""), (2, "two\nmore\n\nlast", ""), (6, "three", ""),
        ]),
        ("Run\n```\n# no heading\n\n- no bullet\n```\nafter\n\nnext", [
            (1, "Run\n```\n# no heading\n\n- no bullet\n```\nafter", ""), (9, "next", ""),
        ]),
        ("```\nnever closed\n\nend", [(1, "```\nnever closed\n\nend", "")]),
    ],
)  # fmt: skip
def test_parts_of_a_text(text: str, parts: list[tuple[int, str, str]]) -> None:
    assert [(line, content, title) for line, content, (*_, title), _ in text_parts(text)] == parts
