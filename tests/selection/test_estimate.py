"""The estimate of tokens: near the exact count in fourteen languages, and additive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.selection.tokens import ESTIMATE
from tests.command import CASES
from tests.selection.test_tokens import counter

LANGUAGES = sorted(path.stem for path in (CASES / "prose").glob("*.txt"))


def test_there_is_prose_in_fourteen_languages() -> None:
    assert len(LANGUAGES) == 14


@pytest.mark.parametrize("language", LANGUAGES)
def test_estimate_of_prose_is_near_the_exact_count(language: str) -> None:
    prose = (CASES / "prose" / f"{language}.txt").read_text(encoding="utf-8")[:2000]
    assert len(prose) == 2000
    assert 0.9 <= ESTIMATE.count(prose) / counter("o200k_base").count(prose) <= 1.5


@given(st.lists(st.text()))
def test_units_of_the_parts_add_up_to_those_of_the_text(parts: list[str]) -> None:
    assert sum(map(ESTIMATE.units, parts)) == ESTIMATE.units("".join(parts))


@given(st.text(st.characters(max_codepoint=0x24F)))
def test_latin_text_counts_a_quarter_of_its_length(text: str) -> None:
    assert ESTIMATE.count(text) == -(-len(text) // 4)


@given(st.text())
def test_no_script_counts_less_than_latin(text: str) -> None:
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    assert ESTIMATE.count(text) >= -(-units // 4)
