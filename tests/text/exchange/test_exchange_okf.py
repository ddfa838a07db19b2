"""The Open Knowledge Format: titles, days and names of the files of a bundle."""

import pytest

from contextasm.model import Memory
from contextasm.text.exchange.pages import write_okf
from contextasm.text.memories.parser import FieldReport, memory_of_fields


def memory(text: str = "Tea is green", **fields: str) -> Memory:
    """A memory with these fields as they are written."""
    return memory_of_fields("agents/a/memories/m.md", 3, text, {"id": "tea", **fields}, FieldReport("m.md"))


def front(memory: Memory) -> dict[str, str]:
    """The front matter of the concept of a memory, its values as written."""
    (_, concept), _index = write_okf([memory])
    lines = concept.split("---\n")[1].splitlines()
    return {line.partition(": ")[0]: line.partition(": ")[2] for line in lines}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Tea is green", "Tea is green"),
        ("# Tea\n\nIt is green", "Tea"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 77 + "..."),
        ("x" * 75 + " yz w", "x" * 75 + " yz w"),
        ("x" * 76 + " yz w", "x" * 76 + "..."),
    ],
)
def test_a_title_is_the_first_line_in_at_most_80_characters(text: str, title: str) -> None:
    assert front(memory(text))["title"] == f'"{title}"'
    (_, concept), (_, index) = write_okf([memory(text)])
    assert concept.endswith(f"---\n\n{text}\n")
    assert f"* [{title}](tea.md)\n" in index


@pytest.mark.parametrize(
    ("expires", "stale_after"),
    [
        ("2025-03-10", "2025-03-11T00:00:00Z"),
        ("2024-02-28", "2024-02-29T00:00:00Z"),
        ("2025-12-31", "2026-01-01T00:00:00Z"),
        ("0001-01-01", "0001-01-02T00:00:00Z"),
        ("9999-12-31", "9999-12-31T00:00:00Z"),
        ("", None),
    ],
)
def test_a_concept_is_stale_from_the_day_behind_its_last_one(expires: str, stale_after: str | None) -> None:
    assert front(memory(expires=expires)).get("stale_after") == stale_after


@pytest.mark.parametrize(
    ("status", "written"),
    [("active", None), ("approved", None), ("stable", None), ("draft", "draft"), ("review", "draft"),
     ("superseded", "deprecated"), ("of its own", "deprecated")],
)  # fmt: skip
def test_a_status_is_one_of_three(status: str, written: str | None) -> None:
    assert front(memory(status=status)).get("status") == written


def test_an_id_that_is_a_path_is_no_path() -> None:
    ids = ["../../etc/passwd", "/root", ".hidden", "index", "LOG", "a/b", "A-B", "..", "con\ud83d\ude00", "x" * 300]
    names = [name for name, _ in write_okf([memory(id=own) for own in ids])]
    assert names == [
        "etc-passwd.md", "root.md", "hidden.md", "memory-index.md", "memory-LOG.md", "a-b.md", "A-B-2.md",
        "memory.md", "con.md", "x" * 100 + ".md", "index.md",
    ]  # fmt: skip
