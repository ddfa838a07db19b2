"""Pairs of similar texts among many."""

from __future__ import annotations

from random import Random

import pytest
from rapidfuzz.fuzz import ratio

from contextasm.text.similarity import RELATED, similarity
from contextasm.upkeep.memories import merging as similar_texts
from contextasm.upkeep.memories.merging import similar_pairs


def drawn_texts(count: int) -> list[str]:
    """Texts of words, of which some repeat others with one word changed, left out or added."""
    random = Random(3)
    syllables = [one + two for one in "bdfgklmnprst" for two in "aeiou"]
    words = ["".join(random.choices(syllables, k=random.randint(1, 4))) for _ in range(600)]
    rows: list[list[str]] = []
    for _ in range(count):
        row = random.choices(words, k=random.randint(3, 18))
        if rows and random.random() < 0.2:
            row = [*random.choice(rows)]
            row[random.randrange(len(row))] = random.choice([*words, "", "a b"])
        rows.append(row)
    return [" ".join(" ".join(row).split()) for row in rows]


def test_every_pair_of_few_texts_is_found() -> None:
    texts = [*dict.fromkeys(drawn_texts(200))]
    expected = {
        (one, two) for two in range(len(texts)) for one in range(two) if similarity(texts[one], texts[two]) >= RELATED
    }
    found = [(earlier, later) for earlier, later, _ in similar_pairs(texts)]
    assert len(expected) > 20
    assert {*found} == expected
    assert len(found) == len(expected)


def test_nearly_every_pair_of_many_texts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*dict.fromkeys(drawn_texts(480))]
    all_pairs = {(earlier, later): share for earlier, later, share in similar_pairs(texts)}
    monkeypatch.setattr(similar_texts, "MAX_COMPARED", 0)
    found = {(earlier, later): share for earlier, later, share in similar_pairs(texts)}
    same = {(one, two) for one, two in all_pairs if ratio(texts[one], texts[two]) >= 92}
    assert found.items() <= all_pairs.items()
    assert len(same & found.keys()) >= 0.99 * len(same) > 20
    assert len(found) >= 0.95 * len(all_pairs)


def test_equal_texts_are_pairs_with_the_first_of_them() -> None:
    long = "word " * 5000
    assert [*similar_pairs([long, "", long, "", long + "x"])] == [(0, 2, 1.0)]


@pytest.mark.parametrize(("other", "is_alike"), [("boat carxx", True), ("boat caxxx", False)])
def test_the_boundary_is_part_of_it(other: str, is_alike: bool) -> None:
    assert bool([*similar_pairs(["boat cargo", other])]) is is_alike
