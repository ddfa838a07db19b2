"""Pages: a memory as a list item that is read back as it was, whatever its text and fields are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import AS_WRITTEN, CLEAN, ContextasmError, Document, Memory
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.memories.parser import parse_memories
from contextasm.text.memories.writer import memory_bullet
from contextasm.workspace.store.pages import (
    memory_of_row,
    page_name,
    page_of_name,
    page_text,
    row_of_memory,
    storable_memory,
)
from tests.workspaces import any_memories

WORDS = st.text("abcxyzäß-_./: 0123", min_size=1, max_size=12).filter(lambda word: word.strip() == word)
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=30), st.sampled_from(["```", "- [fact] other", "# Title", "{id=x}", "<!--", "-->", "---"])
    ),
    min_size=1,
    max_size=5,
).map("\n".join)
MEMORIES = any_memories(
    WORDS,
    path=st.just(""),
    line=st.just(0),
    text=TEXTS,
    type=st.sampled_from(["note", "fact", "two words"]),
    status=st.sampled_from(["active", "archived", "superseded"]),
)


def storable(memory: Memory) -> Memory | None:
    """The memory as it is stored; None for one that is refused."""
    try:
        return storable_memory(memory, "here")
    except ContextasmError:
        return None


def read_page(text: str) -> list[Memory]:
    """The memories of a page, at no line."""
    document = decode_document("", text.encode(errors="surrogatepass"), AS_WRITTEN)
    assert isinstance(document, Document)
    return [memory._replace(line=0) for memory in parse_memories(document)[0]]


@given(st.lists(MEMORIES, min_size=1, max_size=6))
def test_what_is_stored_is_read_back(memories: list[Memory]) -> None:
    stored = [memory for each in memories if (memory := storable(each))]
    assert read_page(page_text(stored)) == stored


@given(MEMORIES)
def test_a_row_holds_all_of_a_memory(memory: Memory) -> None:
    row = [
        str(value) if hasattr(value, "isoformat") else "" if value is None else value for value in row_of_memory(memory)
    ]
    assert memory_of_row(row) == memory


@pytest.mark.parametrize(
    "text", ["One.", "One.\n\nTwo, indented:\n    code", "Ends in {id=other}", "(a) [link](x)", "[x] done"]
)
def test_usual_texts_can_be_stored(text: str) -> None:
    memory = MEMORY._replace(text=text)
    assert storable(memory) == memory


MEMORY = Memory("m-1", "", 0, "Text", "fact", created="2025-03-14")


def test_a_field_at_its_default_is_not_written() -> None:
    assert memory_bullet(MEMORY) == "- [fact] Text {id=m-1 created=2025-03-14}"
    full = MEMORY._replace(importance=0.123456789, tags=("a", "b"), private=True)
    written = "- [fact] Text {id=m-1 importance=0.123456789 created=2025-03-14 tags=a,b private=true}"
    assert memory_bullet(full) == written


@pytest.mark.parametrize("id_", ['a"b', "a}b", "a\nb", " ", "a\u200bb", "a\x80"])
def test_an_id_that_braces_can_not_hold_is_refused(id_: str) -> None:
    with pytest.raises(ContextasmError, match="here: can't be stored"):
        storable_memory(MEMORY._replace(id=id_), "here")


_ROLE = st.one_of(
    st.text("aA.-_~ é/", min_size=1, max_size=3), st.text(st.characters(exclude_characters="\0"), min_size=1)
)


@pytest.mark.parametrize(
    "memory",
    [MEMORY._replace(text="\x93\x9c\x15"), MEMORY._replace(text="\u200b"), MEMORY._replace(status="größer")],
)
def test_what_would_be_read_as_nothing_is_refused(memory: Memory) -> None:
    with pytest.raises(ContextasmError, match=r"here: the (text|status) has"):
        storable_memory(memory, "here")


@given(_ROLE, _ROLE)
def test_no_two_roles_share_a_page(one: str, other: str) -> None:
    names = [page_name("2025-03.000001", role) for role in (one, other)]
    assert (names[0].lower() == names[1].lower()) == (one == other)
    assert all("/" not in name and page_of_name(name) == ("2025-03.", "000001") for name in names)


@pytest.mark.parametrize("name", ["2025-03.md", "notes.md", "2025-03.x.luna.md", "2025-03.1.md", "2025-03.1.luna.txt"])
def test_other_files_are_no_pages(name: str) -> None:
    assert page_of_name(name) is None


HIDDEN = ("\u200b", "a\ufeff", "\u200d", "\U000e0041")


@given(
    st.sampled_from(HIDDEN),
    st.sampled_from(["key", "tier", "dedup", "superseded_by", "writer", "type", "tags", "files", "supersedes"]),
)
def test_a_value_that_is_hidden_leaves_the_page_and_the_rest_as_it_is(hidden: str, name: str) -> None:
    value: Any = ("a", hidden, "b") if name in {"tags", "files", "supersedes"} else hidden
    bad = MEMORY._replace(status="deprecated")._replace(**{name: value})
    without: Any = ("a", "b") if isinstance(value, tuple) else "note" if name == "type" else ""
    neighbours = [MEMORY._replace(id="m-0", tags=("café",)), MEMORY._replace(id="m-2")]
    document = decode_document("", page_text([neighbours[0], bad, neighbours[1]]).encode(), CLEAN)
    assert isinstance(document, Document)
    memories, problems = parse_memories(document)
    expected = [neighbours[0], bad._replace(**{name: without}), neighbours[1]]
    assert ([memory._replace(line=0) for memory in memories], problems) == (expected, ())


def test_an_emoji_that_is_joined_can_be_a_value() -> None:
    memory = MEMORY._replace(tags=("❤️", "👩‍💻"))
    assert storable_memory(memory, "here") == memory
    assert read_page(page_text([memory])) == [memory]


@pytest.mark.parametrize("name", ["tags", "files", "key"])
def test_a_value_that_is_refused_is_named(name: str) -> None:
    value: Any = "\u200b" if name == "key" else ("fine", "\u200b")
    with pytest.raises(ContextasmError, match=rf"'\\u200b' of its {name} would be read differently"):
        storable_memory(MEMORY._replace(**{name: value}), "here")


def test_a_memory_that_512_times_over_is_no_file_is_refused() -> None:
    for text in ("\N{GRINNING FACE}" * 30_001, "\n".join("a" * 30_100)):
        with pytest.raises(ContextasmError, match=r"the memory has 1[0-9,]+ bytes, and at most 120,000 fit"):
            storable_memory(MEMORY._replace(text=text), "here")
