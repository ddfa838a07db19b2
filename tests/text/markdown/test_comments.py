"""HTML comments of a text."""

import pytest

from contextasm.text.markdown.blocks import without_comments


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <!-- b --> c", "a  c"),
        ("<!-- a\n\nb --> c", "\n\n c"),
        ("a <!-- b\nc --> d", "a \n d"),
        ("a <!-- b\n\nc -->", "a <!-- b\n\nc -->"),
        ("<!-- never closed\n\n# a", "<!-- never closed\n\n# a"),
        ("`<!-- a -->` ``<!-- ` -->`` <!-- b -->", "`<!-- a -->` ``<!-- ` -->`` "),
        ("```\n<!-- a -->\n```", "```\n<!-- a -->\n```"),
        ("a\n\n    <!-- b -->", "a\n\n    <!-- b -->"),
        ("- a\n\n    <!-- b -->", "- a\n\n    "),
        ("<!-- a --><!-- b -->c", "c"),
    ],
)
def test_comments_go_and_code_stays(text: str, shown: str) -> None:
    assert without_comments(text)[0] == shown
