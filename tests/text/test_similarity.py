"""Similarity: which near-equal texts say the same, and which say the opposite."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.text.similarity import SAME, find_candidates, fold_text, similarity
from tests.tables import rows

FILLER = "when the release of the ledger service for the European region is prepared by the team in the big room"
"""Words behind a text that make the letters of two texts nearly equal."""


def is_same(one: str, other: str) -> bool:
    """Whether two texts as written say the same."""
    return similarity(one, other) >= SAME


@pytest.mark.parametrize(("one", "other"), rows("search/opposites"), ids=str)
def test_texts_of_other_polarity_never_say_the_same(one: str, other: str) -> None:
    first, second = f"{one} {FILLER}", f"{other} {FILLER}"
    assert find_candidates(fold_text(first), [fold_text(second)]), "their letters are not alike enough to show anything"
    assert not is_same(first, second)
    assert similarity(first, second) == 0


@pytest.mark.parametrize(("one", "other"), rows("search/twins"), ids=str)
def test_texts_of_one_polarity_still_say_the_same(one: str, other: str) -> None:
    assert is_same(f"{one} {FILLER}", f"{other} {FILLER}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mia likes tea", "Mia likes tee"),
        ("Mail the contract", "Mail the contact"),
        ("The lead asks the client", "The client asks the lead"),
        ("The service runs on bun", "The service runs on npm"),
        ("山田さんに送る", "山口さんに送る"),
    ],
)
def test_a_word_in_the_place_of_another_one_makes_another_fact(one: str, other: str) -> None:
    assert not is_same(f"{one} {FILLER}", f"{other} {FILLER}")


@given(
    st.lists(st.sampled_from(FILLER.split()), min_size=12, max_size=40),
    st.sampled_from(["not", "never", "without", "cannot", "nicht", "nie", "ohne", "kein"]),
    st.integers(0, 40),
)
def test_law_a_negation_more_is_another_text(words: list[str], negation: str, place: int) -> None:
    negated = [*words[:place], negation, *words[place:]]
    assert not is_same(" ".join(words), " ".join(negated))


NAMES = [
    *("Mia", "Tom", "Anna", "Anne", "Carlo", "Carlos", "Bremen", "Berlin", "Åse", "Łódź", "GitHub", "GitLab"),
    *("staging-eu", "staging-us", "docs/a.md", "docs/b.md", "/srv/a", "/srv/b", "v2.1", "v2.2", "port_in", "port_on"),
    *("userId", "userID", "-v", "-V"),
    *("3", "5", "1,200", "1,300", "http", "https", "ssh", "me@a.org", "me@b.org", "#build", "#tests"),
]
"""Names, identifiers, numbers and paths, of which many differ in one letter."""
SENTENCES = st.lists(st.sampled_from([*FILLER.split(), "lives", "calls", "from"]), min_size=14, max_size=40)
PLACES = st.lists(st.integers(1, 12), min_size=2, max_size=2, unique=True)


@given(SENTENCES, PLACES, st.lists(st.sampled_from(NAMES), min_size=3, max_size=3, unique=True))
def test_law_another_name_and_another_order_of_names_is_another_fact(
    words: list[str], places: list[int], names: list[str]
) -> None:
    def fact(one: str, other: str) -> str:
        named = {places[0]: one, places[1]: other}
        return " ".join(named.get(at, word) for at, word in enumerate(words))

    one, other, third = names
    assert similarity(fact(one, other), fact(one, third)) == 0
    assert similarity(fact(one, other), fact(other, one)) == 0
    assert similarity(fact(one, other), fact("the", other)) == 0


@given(SENTENCES, PLACES, st.lists(st.sampled_from(NAMES), min_size=2, max_size=2), st.data())
def test_law_spaces_the_first_capital_and_the_last_mark_make_no_other_fact(
    words: list[str], places: list[int], names: list[str], data: st.DataObject
) -> None:
    for place, name in zip(places, names, strict=True):
        words[place] = name
    blanks = data.draw(st.lists(st.sampled_from([" ", "  ", "\n", "\t"]), min_size=len(words), max_size=len(words)))
    text = "".join(f"{word}{blank}" for word, blank in zip(words, blanks, strict=True))
    mark = data.draw(st.sampled_from(["", ".", "!", "…", ";"]))
    assert is_same(" ".join(words), text[0].upper() + text[1:].rstrip() + mark)
