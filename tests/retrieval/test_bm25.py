"""How a search behaves: the laws it keeps, what counts as the same word, what counts besides words."""

from __future__ import annotations

import pytest

from contextasm.retrieval.search.analyzer import split_words
from contextasm.retrieval.search.bm25 import similarities
from contextasm.retrieval.search.dates import named_dates
from contextasm.retrieval.search.inverted_index import IndexEntry, build_index
from tests.command import python

LOG = (
    IndexEntry("Ana planted tomatoes on the balcony", "a.md", "2025-03-08", "Ana"),
    IndexEntry("They need more light than we thought", "a.md", "2025-03-08", "Ben"),
    IndexEntry("Ben moved the release to Friday", "a.md", "2025-03-08", "Ben"),
    IndexEntry("The database ran out of connections", "b.md", "2025-03-10", "Ana"),
    IndexEntry("We bought two servers", "b.md", "2025-03-10", "Ben"),
)


def found(query: str, *texts: str, floor: float = 0.0) -> dict[int, float]:
    """What a query finds among texts that have nothing to do with each other."""
    return similarities(query, build_index([IndexEntry(text) for text in texts]), floor)


def best(query: str, *texts: str) -> int:
    """The place of the text that answers best, from 0."""
    scores = found(query, *texts)
    return max(scores, key=lambda row: scores[row])


# --- laws


@pytest.mark.parametrize("row", range(len(LOG)))
def test_the_very_words_of_a_memory_score_1_and_nothing_scores_as_much(row: int) -> None:
    """Whatever its case and marks."""
    scores = similarities(LOG[row].text.upper() + "!", build_index(LOG), 0.0)
    assert scores.pop(row) == 1.0
    assert all(score < 1.0 for score in scores.values())


def test_the_very_words_win_against_repetition_dates_and_authors() -> None:
    """All the cues together do not lift another above it."""
    loud = IndexEntry("release release plan plan 10 March 2025", day="2025-03-10", author="Ana")
    scores = similarities(
        "Ana: release plan 10 March 2025", build_index([loud, IndexEntry("ana release plan 10 march 2025")])
    )
    assert scores[1] == 1.0
    assert scores[0] < 1.0


def test_no_shared_word_is_no_hit() -> None:
    """Not even a bad one."""
    assert similarities("zebra xylophone", build_index(LOG), 0.0) == {}


def test_an_empty_index_and_an_empty_query_find_nothing() -> None:
    """And nothing is raised."""
    assert similarities("anything", build_index([])) == {}
    assert similarities("", build_index(LOG)) == {}
    assert similarities("?!", build_index(LOG)) == {}


def test_the_order_of_unrelated_entries_does_not_matter() -> None:
    """Where they stand in no section together."""
    entries = [IndexEntry(entry.text, day=entry.day, author=entry.author) for entry in LOG]
    forward = similarities("when did Ana plant tomatoes and lights?", build_index(entries), 0.0)
    backward = similarities("when did Ana plant tomatoes and lights?", build_index(entries[::-1]), 0.0)
    assert forward == {len(entries) - 1 - row: score for row, score in backward.items()}


def test_a_query_of_stop_words_uses_them() -> None:
    """There is nothing else to go by."""
    assert best("to be or not to be", "Alas, poor Yorick", "To be, or not to be") == 1
    assert 0 in found("to do", "To do: buy milk", "Milk is white")


def test_the_floor_drops_what_is_less_than_half_as_good() -> None:
    """Of the best hit's sum."""
    texts = ("red green blue", "red car", "the sky")
    assert set(found("red green blue", *texts, floor=0.0)) == {0, 1}
    assert set(found("red green blue", *texts, floor=0.5)) == {0}


def test_every_similarity_is_above_0_and_at_most_1() -> None:
    """The best one is 1."""
    scores = similarities("did Ben buy servers on 10 March 2025?", build_index(LOG), 0.0)
    assert all(0 < score <= 1 for score in scores.values())
    assert max(scores.values()) == 1.0


# --- words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Gardens", ["garden"]),
        ("Zoë's café", ["zoe", "cafe"]),
        ("ＡＢＣ", ["abc"]),
        ("don't", ["dont"]),
        ("l’école", ["ecol"]),
        ("went children mice", ["go", "child", "mous"]),
        ("東京都", ["東京", "京都"]),
        ("猫", ["猫"]),
        ("Visit 東京 now", ["visit", "東京"]),
        ("ガラス", ["ガラ", "ラス"]),
        ("서울", ["서울"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("Привет МИР", ["привет", "мир"]),
        ("snake_case", ["snake", "case"]),
        ("", []),
    ],
    ids=str,
)
def test_a_text_as_terms(text: str, expected: list[str]) -> None:
    """Folded, cut, stemmed; scripts without spaces by pairs."""
    assert split_words(text) == expected


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cafe", "a new Café opened"),
        ("buy", "we bought it"),
        ("mice", "a mouse was seen"),
        ("children", "her child is ill"),
        ("painting", "she painted a wall"),
        ("photograph", "a photo of the house"),
        ("repo", "the repositories are private"),
        ("educational", "education is dear"),
        ("organisational", "the organised people"),
        ("datbase", "the database is down"),
        ("adtabase", "the database is down"),
        ("writnig", "she writes every day"),
        ("bougth", "he buys bread"),
        ("天気", "今日の天気は晴れ"),
        ("猫", "黒猫がいる"),
        ("STRASSE", "die Straße"),
    ],
    ids=str,
)
def test_a_word_finds_its_other_forms(query: str, text: str) -> None:
    """Accents, irregular forms, endings, beginnings, slips."""
    assert 1 in found(query, "nothing of the kind", text)


def test_the_word_itself_beats_its_relatives() -> None:
    """They share its first letters only."""
    assert best("community", "a communication", "our community", "their community", "her community") > 0


def test_a_known_word_is_not_taken_for_a_slip() -> None:
    """The corpus has it."""
    assert set(found("desert", "we crossed the desert", "we ate a dessert")) == {0}


def test_numbers_and_short_words_are_never_slips() -> None:
    """Too much would be near them."""
    assert found("2024 cat", "2023 was long", "a cart broke") == {}


def test_rapidfuzz_is_loaded_for_unknown_words_only() -> None:
    """It costs more than the search."""
    code = (
        "import sys; from contextasm.retrieval.search.bm25 import similarities;"
        "from contextasm.retrieval.search.inverted_index import IndexEntry, build_index;"
        "held = build_index([IndexEntry('the database is down', day='2025-03-10')]);"
        "similarities('databases on 10 March 2025', held); print('rapidfuzz' in sys.modules);"
        "similarities('datbase', held); print('rapidfuzz' in sys.modules)"
    )
    assert python(code).out.split() == ["False", "True"]


# --- besides words


def test_neighbours_share_within_a_section_and_nearer_ones_more() -> None:
    """The next section gets nothing."""
    scores = similarities("tomatoes", build_index(LOG), 0.0)
    assert set(scores) == {0, 1, 2}
    assert scores[0] > scores[1] > scores[2]


def test_what_follows_a_match_gets_more_than_what_came_before() -> None:
    """It explains more."""
    scores = similarities(
        "needle", build_index([IndexEntry(text, "a") for text in ("hay one", "a needle", "hay two")]), 0.0
    )
    assert scores[2] > scores[0]


def test_half_a_kernel_shares_half() -> None:
    """In a list of memories."""

    def neighbour(kernel: float) -> float:
        entries = [IndexEntry("tomatoes", "a", kernel=kernel), IndexEntry("light", "a", kernel=kernel)]
        return similarities("tomatoes seeds", build_index(entries), 0.0)[1]

    assert neighbour(0.5) == pytest.approx(neighbour(1.0) / 8)  # a half, cubed


def test_the_last_rows_are_no_neighbours_of_the_first() -> None:
    """The index is no ring."""
    assert set(
        similarities(
            "start", build_index([IndexEntry("start", "a"), *[IndexEntry("x", "b")] * 5, IndexEntry("end", "a")]), 0.0
        )
    ) == {0}


def test_a_named_day_comes_first() -> None:
    """The days around it come next."""
    entries = [IndexEntry("we met the team", day=f"2025-03-{day:02}") for day in range(1, 29)]
    scores = similarities("who met the team on 10 March 2025?", build_index(entries), 0.0)
    assert max(scores, key=lambda row: scores[row]) == 9
    assert scores[8] == scores[10] > scores[0]


def test_a_named_day_is_found_without_a_word() -> None:
    """By its date alone."""
    assert set(similarities("3月10日", build_index(LOG), 0.0)) == {3, 4}


def test_a_named_author_is_a_cue_and_not_a_word() -> None:
    """Names are the commonest words of a log."""
    entries = [
        IndexEntry("paint the wall", author="Ben"),
        IndexEntry("paint the wall", author="Ana"),
        IndexEntry("ask Ana", author="Ben"),
    ]
    scores = similarities("what did Ana paint", build_index(entries), 0.0)
    assert set(scores) == {0, 1}
    assert scores[1] > scores[0]


def test_an_answer_comes_before_the_question() -> None:
    """What only asks is worth less."""
    assert best("what colour is the car", "What colour is the new car?", "The new car has the colour red") == 1


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("on 2025-03-10", (2025, 3, 10)),
        ("2025/3", (2025, 3, 0)),
        ("March 10, 2025", (2025, 3, 10)),
        ("10th of march 2025", (2025, 3, 10)),
        ("Sept 3", (0, 9, 3)),
        ("in May", (0, 5, 0)),
        ("in June 2023", (2023, 6, 0)),
        ("back in 2023", (2023, 0, 0)),
        ("3月10日", (0, 3, 10)),
        ("2025年3月10日", (2025, 3, 10)),
    ],
    ids=str,
)
def test_a_date_is_read(query: str, expected: tuple[int, int, int]) -> None:
    """In English, ISO and Japanese forms; 0 for what is left out."""
    assert [(named.year, named.month, named.day) for named in named_dates(query)] == [expected]


@pytest.mark.parametrize(
    "query", ["may I go", "May I go", "they march on", "yesterday", "12:30", "mayor 5x", "99 月 x", "2025-13-40"]
)
def test_no_date_is_read(query: str) -> None:
    """Words that only look like one."""
    assert named_dates(query) == []
