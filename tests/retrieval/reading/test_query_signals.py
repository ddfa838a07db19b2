"""Signals: what a text is about and what is wanted, by its words; how age and matches weigh."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.retrieval.reading.query_signals import boosted, half_life, intent, keywords


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Fix the login", "fix"),
        ("there is an ERROR in chapter 2", "fix"),
        ("is that a bug?", "fix"),
        ("explain the tide table", "explain"),
        ("How does the nightly order boats?", "explain"),
        ("what  is\nthe berth", "explain"),
        ("explain this error", "fix"),
        ("Who holds the keys?", "question"),
        ("鍵は誰が持っていますか？", "question"),
        ("write the letter from Isak's sister", "action"),
        ("", "other"),
        (" \n", "other"),
        ("...", "other"),
    ],
)
def test_row_45_intent_is_settled_by_whole_words_in_order(text: str, wanted: str) -> None:
    assert intent(text) == wanted


@pytest.mark.parametrize("text", ["update the prefix table", "debugger layout", "terrors of the deep", "explained"])
def test_row_45_a_part_of_a_word_says_nothing(text: str) -> None:
    assert intent(text) == "action"


def test_row_46_keywords_come_without_stop_words_in_stable_order() -> None:
    assert keywords("Where is the Foghorn, and WHY is the foghorn in the Lamp-Room?") == ("foghorn", "lamp-room")
    assert keywords("Straße STRASSE 霧笛 Maren’s") == ("strasse", "霧笛", "maren's")
    assert keywords("what is it about?") == ()
    assert keywords("Okay, please get me everything about the foghorn, thanks") == ("foghorn",)


@given(st.text())
def test_row_46_keywords_of_keywords_are_the_same(text: str) -> None:
    assert keywords(" ".join(keywords(text))) == keywords(text)


@pytest.mark.parametrize(("hours", "left"), [(0, 1), (24, 0.5), (48, 0.25), (-48, 1), (-0.5, 1)])
def test_row_47_half_is_gone_after_a_day(hours: float, left: float) -> None:
    assert half_life(hours) == pytest.approx(left, abs=1e-12)


def test_row_47_the_half_life_may_be_another() -> None:
    assert half_life(72, half=72) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(
    ("score", "matches", "hours", "expected"),
    [
        (0.5, 0, 100, 0.5),
        (0.5, 1, 100, 0.55),
        (0.5, 3, 100, 0.65),
        (0.5, 0, 23.9, 0.6),
        (0.5, 0, 24, 0.5),
        (0.5, 2, 1, 0.72),
        (0.9, 5, 1, 1.0),
        (1.0, 0, 0, 1.0),
        (0.0, 9, 0, 0.0),
    ],
)
def test_row_51_each_match_adds_a_tenth_and_the_first_day_a_fifth(
    score: float, matches: int, hours: float, expected: float
) -> None:
    assert boosted(score, matches, hours) == pytest.approx(expected, abs=1e-12)
