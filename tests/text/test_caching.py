"""Results are kept by content: the same document is parsed once, any other anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contextasm.model import Cleaning, Document, Gap
from contextasm.text.caching import MOST_CACHED, cached_by_content
from tests.workspaces import document

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


@pytest.mark.parametrize(("field", "unit", "most"), [("text", "a", MOST_CACHED), ("data", b"a", 4 * MOST_CACHED)])
def test_result_of_a_large_document_is_not_kept(
    parse: Callable[[Document], object], parsed: list[Document], field: str, unit: str | bytes, most: int
) -> None:
    largest, larger = (DOCUMENT._replace(**{field: unit * size}) for size in (most, most + 1))  # type: ignore[arg-type]
    for each in (largest, largest, larger, larger):
        parse(each)
    assert [len(getattr(each, field)) - most for each in parsed] == [0, 1, 1]


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
    first = document(data)
    assert isinstance(first.front, dict)
    first.front["type"] = "changed"
    assert document(data).front == {"type": "fact"}
