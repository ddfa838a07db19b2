"""Memories written into a text: they read back as they were given, and nothing else moves."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contextasm.model import Memory
from contextasm.text.cleaning.hidden_characters import strip_hidden
from contextasm.text.memories.parser import parse_memories
from contextasm.text.memories.writer import append_bullets, clean_lines, ends_under, format_bullet, is_type, is_value
from contextasm.text.similarity import SAME, fold_text, similarity
from tests.workspaces import document, memory_lists

PIECES = (
    *("[x] ", "[fact] ", "[a](b)", "(see)", "[", "{a=b}", '{importance=0.9 tags="x y"}', "{", "}", "- ", "* ", "+ "),
    *("-", "# ", "## 2025-03-14", "```", "```py\n", "~~~~", "`", "---", "| a | b |", "|---|", "1. ", "word", "é"),
    *("漢字", '"', "\n", "\n\n", "\n  ", "\n- ", "\n```\n", "\r\n", "\r", " ", "\t", "\u3000", "\x0b", "\u2028"),
    *("\ufeff", "<!-- ", "\\"),
)

texts = (
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=8)
    .map("".join)
    .map(lambda text: strip_hidden(text)[0])
    .map(clean_lines)
    .filter(bool)
)

fields = st.fixed_dictionaries(
    {},
    optional={
        "importance": st.sampled_from(("0", "0.3", "1")),
        "created": st.just("2025-03-14"),
        "tags": st.sampled_from(("a", "a,b", "two words,a")),
        "key": st.sampled_from(("k", "a key", "a=b", "x:y")),
    },
)


def is_same(one: str, other: str) -> bool:
    """Whether two texts as written say the same."""
    return similarity(one, other) >= SAME


def read(text: str) -> tuple[Memory, ...]:
    """The memories of a file."""
    return parse_memories(document(text))[0]


@given(
    memory_lists.filter(lambda text: "type:" not in text), st.lists(st.tuples(texts, fields), min_size=1, max_size=3)
)
@example("- [note] a\n", [("(b {c=d}", {}), ("```\nopen", {"created": "2025-03-14"}), ("[x] c\n\n# d", {})])
def test_each_bullet_reads_back_as_its_text_and_no_other_memory_changes(
    old: str, new: list[tuple[str, dict[str, str]]]
) -> None:
    text = old + append_bullets(old, [format_bullet(each, "fact", stated) for each, stated in new])
    before, after = read(old), read(text)
    assert after[: len(before)] == before
    assert [(each.text, each.type) for each in after[len(before) :]] == [(each, "fact") for each, _ in new]
    for memory, (_, stated) in zip(after[len(before) :], new, strict=True):
        assert memory.importance == float(stated["importance"]) if "importance" in stated else True
        assert memory.key == stated.get("key", "")
        assert ",".join(memory.tags) == stated.get("tags", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "- x\n"),
        ("- a", "\n- x\n"),
        ("- a\n", "- x\n"),
        ("- a\n  b\n\n", "- x\n"),
        ("# March\n", "\n- x\n"),
        ("words", "\n\n- x\n"),
    ],
)
def test_a_bullet_keeps_off_what_is_no_list(old: str, new: str) -> None:
    assert append_bullets(old, ["- x"]) == new


def test_the_last_heading_tells_the_day() -> None:
    assert ends_under("# a\n## 2025-03-14 Friday\n- b\n", "2025-03-14")
    assert not ends_under("## 2025-03-14\n## more\n- b\n", "2025-03-14")
    assert not ends_under("- b\n", "2025-03-14")
    assert not ends_under("- a\n\n<!--\n## 2026-01-02\n-->\n", "2026-01-02")


@pytest.mark.parametrize(("word", "sound"), [("fact", True), ("open question", True), ("日本", True), ("x", False)])
def test_a_type_is_what_the_brackets_can_hold(word: str, *, sound: bool) -> None:
    assert is_type(word) is sound
    assert not any(is_type(each) for each in ("", " a", "a]", "a(b", "-", "a\nb", 'a"b', "{a}", "\udcff"))
    assert not any(is_value(each) for each in ("", " ", 'a"b', "a}", "a\n", "\udcff", "\ud800"))


def _pair(more: int) -> tuple[str, str]:
    """A text of 2,300 letters, and one with so many more in another word."""
    return "a" * 2300, "a" * 2300 + f" {'o' * (more - 1)}"


def test_row_34_dedup_boundary() -> None:
    assert is_same(*_pair(400))
    assert similarity(*_pair(400)) == pytest.approx(0.92)
    assert not is_same(*_pair(401))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Keep 3 copies of every nightly build", "Keep 5 copies of every nightly build"),
        ("The release is on 2025-03-14 as planned", "The release is on 2025-03-15 as planned"),
        ("From version 1.10 on the save format is stable", "From version 1.1 on the save format is stable"),
    ],
)
def test_texts_with_other_numbers_are_never_the_same(one: str, other: str) -> None:
    assert not is_same(fold_text(one), fold_text(other))
    assert is_same(fold_text(one), fold_text(one))


def test_case_width_and_blanks_do_not_tell_texts_apart() -> None:
    assert fold_text("Ｆｕｌｌ  WIDTH\n ﬁne Straße") == fold_text("full width fine STRASSE")
