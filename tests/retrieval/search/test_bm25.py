"""How a search behaves: the laws it keeps, what counts as the same word, what counts besides words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contextasm.retrieval.search import bm25
from contextasm.retrieval.search.bm25 import similarities
from contextasm.retrieval.search.inverted_index import IndexEntry, build_index, leading_name, split_words
from contextasm.retrieval.search.query_words import named_dates, similar_words
from tests.command import python
from tests.tables import rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LOG = (
    IndexEntry("Ana planted tomatoes on the balcony", "a.md", "2025-03-08", "ana"),
    IndexEntry("They need more light than we thought", "a.md", "2025-03-08"),
    IndexEntry("Ben moved the release to Friday", "a.md", "2025-03-08", "ben"),
    IndexEntry("The database ran out of connections", "b.md", "2025-03-10"),
    IndexEntry("We bought two servers", "b.md", "2025-03-10"),
)


def found(query: str, *texts: str, floor: float = 0.0) -> dict[int, float]:
    """What a query finds among texts that have nothing to do with each other."""
    return similarities(query, build_index([IndexEntry(text) for text in texts]), floor)


def named(*texts: str) -> list[IndexEntry]:
    """Entries that have nothing to do with each other, with the names that they begin with."""
    return [IndexEntry(text, author=leading_name(text)) for text in texts]


def best(query: str, *texts: str) -> int:
    """The place of the text that answers best, from 0."""
    scores = found(query, *texts)
    return max(scores, key=lambda row: scores[row])


# --- laws


@pytest.mark.parametrize("row", range(len(LOG)))
def test_the_very_words_of_a_memory_score_1_and_nothing_scores_as_much(row: int) -> None:
    scores = similarities(LOG[row].text.upper() + "!", build_index(LOG), 0.0)
    assert scores.pop(row) == 1.0
    assert all(score < 1.0 for score in scores.values())


def test_the_very_words_win_against_repetition_dates_and_authors() -> None:
    loud = IndexEntry("release release plan plan 10 March 2025", day="2025-03-10", author="ana:")
    index = build_index([loud, IndexEntry("ana release plan 10 march 2025"), *named("Ana: sleeps", "Ana: eats")])
    scores = similarities("Ana: release plan 10 March 2025", index)
    assert scores[1] == 1.0
    assert scores[0] < 1.0


def test_no_shared_word_is_no_hit() -> None:
    assert similarities("zebra xylophone", build_index(LOG), 0.0) == {}


def test_an_empty_index_and_an_empty_query_find_nothing() -> None:
    assert similarities("anything", build_index([])) == {}
    assert similarities("", build_index(LOG)) == {}
    assert similarities("?!", build_index(LOG)) == {}


def test_the_order_of_unrelated_entries_does_not_matter() -> None:
    entries = [IndexEntry(entry.text, day=entry.day, author=entry.author) for entry in LOG]
    forward = similarities("when did Ana plant tomatoes and lights?", build_index(entries), 0.0)
    backward = similarities("when did Ana plant tomatoes and lights?", build_index(entries[::-1]), 0.0)
    assert forward == {len(entries) - 1 - row: score for row, score in backward.items()}


def test_a_query_of_stop_words_uses_them() -> None:
    assert best("to be or not to be", "Alas, poor Yorick", "To be, or not to be") == 1
    assert 0 in found("to do", "To do: buy milk", "Milk is white")


def test_the_least_match_drops_what_is_below_that_share_of_the_best_sum() -> None:
    texts = ("red green blue white", "red car", "green blue sea", "the sky")
    assert set(found("red green blue white", *texts, floor=0.0)) == {0, 1, 2}
    assert set(found("red green blue white", *texts, floor=0.5)) == {0}
    assert set(similarities("red green blue white", build_index([IndexEntry(text) for text in texts]))) == {0, 2}


def test_every_similarity_is_above_0_and_at_most_1() -> None:
    scores = similarities("did Ben buy servers on 10 March 2025?", build_index(LOG), 0.0)
    assert all(0 < score <= 1 for score in scores.values())
    assert max(scores.values()) == 1.0


# --- words


@pytest.mark.parametrize(("text", "expected"), rows("search/terms"), ids=str)
def test_a_text_as_terms(text: str, expected: str) -> None:
    assert split_words(text) == expected.split()


@pytest.mark.parametrize(("query", "text"), rows("search/forms"), ids=str)
def test_a_word_finds_its_other_forms(query: str, text: str) -> None:
    assert 1 in found(query, "nothing of the kind", text)


@pytest.mark.parametrize(("query", "text"), rows("search/languages"), ids=str)
def test_a_word_finds_its_compounds_and_its_forms_in_other_languages(query: str, text: str) -> None:
    assert set(found(query, "nothing of the kind", "今日は雨が降る", "Погода хорошая", text)) == {3}


@pytest.mark.parametrize(
    ("query", "texts", "rows"),
    [
        ("bus", ("the omnibus is late",), set()),
        ("rank", ("eine frankfurter wurst", "ein weinschrank"), {1}),
        ("mark", ("a marketplace",), {0}),
        ("print", ("a blueprinted house",), {0}),
        ("vita", ("inviting vitamins",), {0}),
        ("haus", ("wir traten herhaus", "das hochhaus"), {0, 1}),
    ],
)
def test_a_short_word_is_found_at_fewer_places(query: str, texts: tuple[str, ...], rows: set[int]) -> None:
    assert set(found(query, *texts)) == rows


def test_a_word_that_is_held_is_looked_for_in_no_other() -> None:
    assert set(found("Sicherung", "Die Sicherung läuft", "Eine Datenbanksicherung fehlt")) == {0}


def test_of_many_compounds_the_shortest_fifty_are_found() -> None:
    texts = [f"{'a' * number}bcsicherung" for number in range(60, 0, -1)]
    assert set(found("sicherung", *texts)) == set(range(10, 60))


def test_the_word_itself_beats_its_relatives() -> None:
    assert best("community", "a communication", "our community", "their community", "her community") > 0


def test_a_known_word_is_not_taken_for_a_slip() -> None:
    assert set(found("desert", "we crossed the desert", "we ate a dessert")) == {0}


def test_numbers_and_short_words_are_never_slips() -> None:
    assert found("2024 cat", "2023 was long", "a cart broke") == {}


def test_rapidfuzz_is_loaded_for_unknown_words_among_many_only() -> None:
    code = (
        "import sys; from contextasm.retrieval.search.bm25 import similarities;"
        "from contextasm.retrieval.search.inverted_index import IndexEntry, build_index;"
        "held = build_index([IndexEntry('the database is down', day='2025-03-10')]);"
        "similarities('databases on 10 March 2025', held); print('rapidfuzz' in sys.modules);"
        "similarities('datbase', held); print('rapidfuzz' in sys.modules);"
        "held = build_index([IndexEntry(' '.join(f'word{number}' for number in range(3000)))]);"
        "similarities('datbase', held); print('rapidfuzz' in sys.modules)"
    )
    assert python(code).out.split() == ["False", "False", "True"]


# --- besides words


def test_neighbours_share_within_a_section_and_nearer_ones_more() -> None:
    scores = similarities("tomatoes", build_index(LOG), 0.0)
    assert set(scores) == {0, 1, 2}
    assert scores[0] > scores[1] > scores[2]


def test_what_follows_a_match_gets_more_than_what_came_before() -> None:
    scores = similarities(
        "needle", build_index([IndexEntry(text, "a") for text in ("hay one", "a needle", "hay two")]), 0.0
    )
    assert scores[2] > scores[0]


def test_half_a_kernel_shares_half() -> None:
    def neighbour(kernel: float) -> float:
        entries = [IndexEntry("tomatoes", "a", kernel=kernel), IndexEntry("light", "a", kernel=kernel)]
        return similarities("tomatoes seeds", build_index(entries), 0.0)[1]

    assert neighbour(0.5) == pytest.approx(neighbour(1.0) / 8)  # a half, cubed


def test_the_last_rows_are_no_neighbours_of_the_first() -> None:
    assert set(
        similarities(
            "start", build_index([IndexEntry("start", "a"), *[IndexEntry("x", "b")] * 5, IndexEntry("end", "a")]), 0.0
        )
    ) == {0}


def test_a_named_day_comes_first() -> None:
    entries = [IndexEntry("we met the team", day=f"2025-03-{day:02}") for day in range(1, 29)]
    scores = similarities("who met the team on 10 March 2025?", build_index(entries), 0.0)
    assert max(scores, key=lambda row: scores[row]) == 9
    assert scores[8] == scores[10] > scores[0]


def test_a_named_day_is_found_without_a_word() -> None:
    assert set(similarities("3月10日", build_index(LOG), 0.0)) == {3, 4}


ANA = ("Ana likes to paint walls", "Ana sleeps until noon", "Ana eats bread")
BEN = ("Ben likes to paint walls", "Ben asked Ana for a ladder", "Ben is tall")


def test_a_named_author_is_a_cue_and_not_a_word() -> None:
    scores = similarities("what did Ana paint", build_index(named(*ANA, *BEN)), 0.0)
    assert scores[0] > scores[3]
    assert set(scores) == {0, 3}


@pytest.mark.parametrize("floor", [0.0, 0.3, 0.9])
def test_other_entries_of_a_named_author_follow_the_matches_if_that_is_wanted(floor: float) -> None:
    index = build_index(named(*ANA, *BEN, "Ana: paints", "Ana: walls are hard"))
    matches = similarities("what walls did Ana paint", index, floor)
    followed = similarities("what walls did Ana paint", index, floor, authors_follow=True)
    assert matches.items() <= followed.items()
    rest = {row: followed[row] for row in followed.keys() - matches.keys()}
    assert {1, 2} <= rest.keys() <= {0, 1, 2, 6, 7}
    assert 0 < rest[1] == rest[2] <= max(rest.values()) < min(matches.values())


def test_a_query_of_a_name_alone_searches_for_the_name() -> None:
    assert {0, 1, 2, 4} <= set(similarities("Ana", build_index(named(*ANA, *BEN)), 0.0))


@pytest.mark.parametrize(("count", "others", "is_name"), [(2, 3, False), (3, 3, True), (3, 57, True), (3, 58, False)])
def test_a_name_is_the_first_word_of_three_entries_and_of_a_twentieth(count: int, others: int, is_name: bool) -> None:
    rest = [f"wall{number} is white" for number in range(others - 1)]
    index = build_index(named(*ANA[:count], "ask Ana", *rest))
    assert (count not in similarities("what does Ana paint", index, 0.0)) == is_name


@pytest.mark.parametrize(
    ("query", "entries", "is_name"),
    [
        ("use paint", ("Use paint", "Use soap", "Use oil"), False),
        ("Use paint", ("Use paint", "Use soap", "Use oil"), True),
        ("ana paint", ("Ana paints", "Ana sleeps", "Ana eats"), False),
        ("ana paint", ("Ana: I paint", "Ana: I sleep", "**Ana**: I eat"), True),
        ("ana paint", ("Ana: I paint", "Ana sleeps", "Ana eats"), False),
        ("Ana paint", ("Ana: I paint", "Ana sleeps", "Ana eats"), True),
    ],
)
def test_a_name_has_a_capital_in_the_query_or_a_colon_behind_it(
    query: str, entries: tuple[str, ...], is_name: bool
) -> None:
    scores = similarities(query, build_index(named(*entries, f"nothing but {query.partition(' ')[0]}")), 0.0)
    assert (3 not in scores) == is_name


@pytest.mark.parametrize(("text", "name"), rows("search/names"), ids=str)
def test_leading_name_of_a_text(text: str, name: str) -> None:
    assert leading_name(text) == name


def test_an_answer_comes_before_the_question() -> None:
    assert best("what colour is the car", "What colour is the new car?", "The new car has the colour red") == 1


@pytest.mark.parametrize(("query", "expected"), rows("search/dates"), ids=str)
def test_a_date_is_read(query: str, expected: str) -> None:
    assert [f"{named.year}-{named.month}-{named.day}" for named in named_dates(query)] == [expected]


@pytest.mark.parametrize(
    "query", ["may I go", "May I go", "they march on", "yesterday", "12:30", "mayor 5x", "99 月 x", "2025-13-40"]
)
def test_no_date_is_read(query: str) -> None:
    assert named_dates(query) == []


# --- limits


def test_author_whose_name_alone_is_found_has_its_memories_found() -> None:
    index = build_index(named("Ana likes tea", "Ana: chess", "Ana bought a kettle", "Bob sells boats"))
    assert similarities("What does Ana drink?", index).keys() == {0, 1, 2}
    assert similarities("what does ana drink?", index).keys() == {0, 1, 2}
    assert max(scores := similarities("What boats has Ana?", index), key=lambda row: scores[row]) == 3


def test_number_of_words_that_are_corrected_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def counting(word: str, candidates: Sequence[str], cutoff: float) -> Iterator[tuple[str, float]]:
        compared.append(word)
        return similar_words(word, candidates, cutoff)

    monkeypatch.setattr(bm25, "similar_words", counting)
    index = build_index([IndexEntry("The harbour was dredged"), IndexEntry("Soup")])
    unknown = [f"unknown{number}" for number in range(500)]
    similarities(" ".join(["dredged", *unknown]), index)
    assert {word for word in compared if word in unknown} == {*unknown[: bm25.MAX_CORRECTED]}
    assert 0 in similarities(" ".join([*unknown[: bm25.MAX_CORRECTED - 1], "harbuor"]), index)
    assert similarities(" ".join([*unknown[: bm25.MAX_CORRECTED], "harbuor"]), index) == {}


@pytest.mark.parametrize("query", ["datbase", "looks", "Sicherung", "datbase 2019"])
def test_a_word_that_is_only_near_is_half_a_match_at_most_and_a_word_that_is_there_a_whole_one(query: str) -> None:
    texts = ["the database is down", "tie loose ends", "Die Datenbanksicherung", "education is dear", "a fern"]
    assert 0.2 < max(found(query, *texts).values()) < 0.6
    assert max(found(f"{query} fern", *texts).values()) == 1.0
