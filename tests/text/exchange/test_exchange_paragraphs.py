"""A Markdown text in parts: bullets and paragraphs, each with its line and the heading above it."""

from __future__ import annotations

import pytest

from contextasm.text.exchange.notes import TextPart, text_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("\n\n", []),
        ("One\ntwo\n\nThree", [TextPart(1, "One\ntwo", ""), TextPart(4, "Three", "")]),
        ("# A\nOne\n## B\n- two", [TextPart(2, "One", "A"), TextPart(4, "two", "B")]),
        ("**A**\n\nOne\n\n**B:**\nTwo", [TextPart(3, "One", "A"), TextPart(6, "Two", "B")]),
        ("One\n- two\n  more\n\n  last\n* three", [
            TextPart(1, "One", ""), TextPart(2, "two\nmore\n\nlast", ""), TextPart(6, "three", ""),
        ]),
        ("Run\n```\n# no heading\n\n- no bullet\n```\nafter\n\nnext", [
            TextPart(1, "Run\n```\n# no heading\n\n- no bullet\n```\nafter", ""), TextPart(9, "next", ""),
        ]),
        ("```\nnever closed\n\nend", [TextPart(1, "```\nnever closed\n\nend", "")]),
    ],
)  # fmt: skip
def test_parts_of_a_text(text: str, parts: list[TextPart]) -> None:
    assert [*text_parts(text)] == parts
