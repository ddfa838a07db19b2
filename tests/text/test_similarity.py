"""Similarity: which near-equal texts say the same, and which say the opposite."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.text.similarity import find_candidates, fold_text, is_same, similarity

FILLER = "when the release of the ledger service for the European region is prepared by the team in the big room"
"""Words behind a text that make the letters of two texts nearly equal."""

OPPOSITES = [
    ("The cache must be cleared", "The cache must not be cleared"),
    ("The cache must be cleared", "The cache must never be cleared"),
    ("You can clear the cache", "You cannot clear the cache"),
    ("You can clear the cache", "You can't clear the cache"),
    ("You can clear the cache", "You can’t clear the cache"),
    ("You can clear the cache", "You cant clear the cache"),
    ("The cache is cleared", "The cache isn't cleared"),
    ("Deploy with approval", "Deploy without approval"),
    ("Enable the cache", "Disable the cache"),
    ("Always clear the cache", "Never clear the cache"),
    ("Allow the upload", "Deny the upload"),
    ("Turn the cache on", "Turn the cache off"),
    ("Start the cache", "Stop the cache"),
    ("Deploy on Monday", "Deploy on Sunday"),
    ("Deploy in June", "Deploy in July"),
    ("Der Cache wird geleert", "Der Cache wird nie geleert"),
    ("Der Cache wird geleert", "Der Cache wird nicht geleert"),
    ("Es gibt einen Cache", "Es gibt keinen Cache"),
    ("Mit Cache bauen", "Ohne Cache bauen"),
    ("Keep three copies", "Keep five copies"),
    ("Wait 5 minutes", "Wait 5 hours"),
    ("Deploy before the demo", "Deploy after the demo"),
    ("The link is safe", "The link is unsafe"),
    ("Connect the pump", "Disconnect the pump"),
    ("Keep it stateless", "Keep it stateful"),
    ("The load is < 5", "The load is > 5"),
    ("It drops to -5 degrees", "It drops to 5 degrees"),
    ("Use option b", "Use option c"),
    ("It drops to \u22125 degrees", "It drops to 5 degrees"),
    ("The fee is €5", "The fee is $5"),
    ("The fee is €5", "The fee is 5"),
    ("It takes ~5 runs", "It takes 5 runs"),
    ("预算是五百", "预算是六百"),
    ("Read chapter IV", "Read chapter VI"),
    ("Item ready: ✓", "Item ready: ✗"),
    ("Item ready: ✅", "Item ready: ❌"),
    ("The crash is a bug?", "The crash is a bug"),
    ("The plan lacks a test", "The plan has a test"),
    ("The cache is barely used", "The cache is used"),
    ("Few tests fail", "Many tests fail"),
    ("Nobody reads the log", "Somebody reads the log"),
    ("The red team wins", "The red team loses"),
    ("We bought the shares", "We sold the shares"),
    ("The north gate is used", "The south gate is used"),
    ("The gate to the east", "The gate to the west"),
    ("Paint the wall black", "Paint the wall white"),
    ("Use http://ledger.example", "Use https://ledger.example"),
    ("Look into main.py", "Look into main.pl"),
    ("Meet at noon EST", "Meet at noon PST"),
    ("Write it in C#", "Write it in C"),
    ("Staging is cleared and production is not cleared", "Staging is not cleared and production is cleared"),
]


@pytest.mark.parametrize(("one", "other"), OPPOSITES, ids=[other for _, other in OPPOSITES])
def test_texts_of_other_polarity_never_say_the_same(one: str, other: str) -> None:
    first, second = fold_text(f"{one} {FILLER}"), fold_text(f"{other} {FILLER}")
    assert find_candidates(first, [second]), "their letters are not alike enough to show anything"
    assert not is_same(first, second)
    assert similarity(first, second) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The cache is not cleared", "The cache isn't cleared"),
        ("You cannot clear the cache", "You can not clear the cache"),
        ("The cache is enabled", "The cache was enabled"),
        ("The caches are disabled", "The cache is disabled"),
        ("Always clear the cache", "Always clear the caches"),
        ("Drops to \u22125 degrees", "Drops to -5 degrees"),
        ("The “cache” is enabled…", 'The "cache" is enabled...'),
        ("See https://ledger.example/a.", "See https://ledger.example/a"),
        ("Clear the cahce on Mondays", "Clear the cache on Monday"),
    ],
)
def test_texts_of_one_polarity_still_say_the_same(one: str, other: str) -> None:
    assert is_same(fold_text(f"{one} {FILLER}"), fold_text(f"{other} {FILLER}"))


@given(
    st.lists(st.sampled_from(FILLER.split()), min_size=12, max_size=40),
    st.sampled_from(["not", "never", "without", "cannot", "nicht", "nie", "ohne", "kein"]),
    st.integers(0, 40),
)
def test_law_a_negation_more_is_another_text(words: list[str], negation: str, place: int) -> None:
    negated = [*words[:place], negation, *words[place:]]
    assert not is_same(fold_text(" ".join(words)), fold_text(" ".join(negated)))
