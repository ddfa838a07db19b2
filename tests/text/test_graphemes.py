"""Letters as a reader sees them."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from contextasm.text.graphemes import grapheme_ends


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        pytest.param("naïve", [1, 2, 3, 4, 5], id="one character each"),
        pytest.param("nai\u0308ve", [1, 2, 4, 5, 6], id="accent of its own"),
        pytest.param("日本・デモ→「x」", [1, 2, 3, 4, 5, 6, 7, 8, 9], id="Japanese and signs"),
        pytest.param("か\u3099x", [2, 3], id="voicing mark"),
        pytest.param("👩\u200d💻!", [3, 4], id="emoji of three characters"),
        pytest.param("각\u11a8", [2], id="Korean"),
        pytest.param("", [], id="empty"),
    ],
)
def test_ends_of_letters(text: str, ends: list[int]) -> None:
    assert [*grapheme_ends(text)] == ends


@given(st.text(st.characters(max_codepoint=0xFFFF, categories=("L", "M", "N", "P", "S", "Z", "Cc", "Cf")), max_size=6))
def test_ends_are_those_of_unicode(text: str) -> None:
    assert [*grapheme_ends(text)] == [found.end() for found in regex.finditer(r"\X", text)]


def test_characters_of_the_quick_way_stand_alone() -> None:
    for number in range(0x20, 0xA000):
        for text in (chr(number) * 3, f"字{chr(number)}©"):
            assert [*grapheme_ends(text)] == [found.end() for found in regex.finditer(r"\X", text)], hex(number)
