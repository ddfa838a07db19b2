"""Results are kept by content: the same document is parsed once, and any other anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contextasm.model import Cleaning, Document, Gap
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.content_cache import MOST_CACHED, cached_by_content

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENT = Document("a.md", "one\ntwo\n", 3, {"type": "fact", "tags": ("x", "y")}, b"---\n...")


@pytest.fixture
def parsed() -> list[Document]:
    """The documents that were parsed."""
    return []


@pytest.fixture
def parse(parsed: list[Document]) -> Callable[[Document], tuple[str, ...]]:
    """A cached function that notes what it parses."""

    @cached_by_content
    def words(document: Document) -> tuple[str, ...]:
        parsed.append(document)
        return (document.path, *document.front, *document.text.split())

    return words


def test_equal_document_is_parsed_once(parse: Callable[[Document], object], parsed: list[Document]) -> None:
    copy = DOCUMENT._replace(text="".join(list(DOCUMENT.text)), front={**DOCUMENT.front}, data=bytes(DOCUMENT.data))
    assert parse(DOCUMENT) == parse(copy) == ("a.md", "type", "tags", "one", "two")
    assert parsed == [DOCUMENT]


@pytest.mark.parametrize(
    "change",
    [
        {"path": "b.md"},
        {"text": "one\ntwi\n"},
        {"line": 4},
        {"front": {"type": "fact", "tags": ("x",)}},
        {"front": {"tags": ("x", "y"), "type": "fact"}},
        {"front": {}},
        {"data": b"other"},
        {"head": "---\n"},
        {"gaps": (Gap(4, 4, "private"),)},
        {"cleaning": Cleaning("keep")},
        {"withheld": "rows"},
    ],
)
def test_any_difference_is_parsed_anew(
    parse: Callable[[Document], object], parsed: list[Document], change: dict[str, object]
) -> None:
    other = DOCUMENT._replace(**change)  # type: ignore[arg-type]
    parse(DOCUMENT)
    parse(other)
    assert [*map(repr, parsed)] == [repr(DOCUMENT), repr(other)]


def test_result_of_a_long_text_is_not_kept(parse: Callable[[Document], object], parsed: list[Document]) -> None:
    longest = DOCUMENT._replace(text="a" * MOST_CACHED)
    longer = DOCUMENT._replace(text="a" * (MOST_CACHED + 1))
    for document in (longest, longest, longer, longer):
        parse(document)
    assert [len(document.text) - MOST_CACHED for document in parsed] == [0, 1, 1]


def test_result_of_a_large_file_with_a_short_text_is_not_kept(
    parse: Callable[[Document], object], parsed: list[Document]
) -> None:
    largest = DOCUMENT._replace(data=b"a" * (4 * MOST_CACHED))
    larger = DOCUMENT._replace(data=b"a" * (4 * MOST_CACHED + 1))
    for document in (largest, largest, larger, larger):
        parse(document)
    assert [len(document.data) - 4 * MOST_CACHED for document in parsed] == [0, 1, 1]


def test_error_is_raised_each_time() -> None:
    calls = []

    @cached_by_content
    def fail(document: Document) -> None:
        calls.append(document.path)
        raise ValueError(document.path)

    for _ in range(2):
        with pytest.raises(ValueError, match=r"a\.md"):
            fail(DOCUMENT)
    assert calls == ["a.md", "a.md"]


def test_change_of_a_document_that_was_given_out_is_no_change_of_the_next() -> None:
    data = b"---\ntype: fact\n---\nOne\n"
    first = decode_document("a.md", data)
    assert isinstance(first, Document)
    assert isinstance(first.front, dict)
    first.front["type"] = "changed"
    second = decode_document("a.md", data)
    assert isinstance(second, Document)
    assert second.front == {"type": "fact"}
