"""Files of memories: edits of one memory read back as they were given, and nothing else moves."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import Document
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.memories.writer import append_bullets, format_bullet
from contextasm.workspace.editing.memory_file import MemoryFile, edited
from tests.text.memories.test_memory_writer import read, texts
from tests.workspaces import memory_lists


def with_fields(text: str, line: int, fields: Mapping[str, str]) -> str:
    """A file's text with fields set in the memory at a line."""
    document = decode_document("f.md", text.encode())
    assert isinstance(document, Document)
    return edited(document.data, [MemoryFile(document).set_fields(line, fields)]).decode()


@given(memory_lists, st.lists(texts, max_size=3), st.sampled_from(("\n", "\r\n")), st.data())
def test_other_fields_change_one_memory_and_nothing_else(
    old: str, new: list[str], end: str, data: st.DataObject
) -> None:
    text = (old + append_bullets(old, [format_bullet(each, "fact", {}) for each in new])).replace("\n", end)
    before = read(text)
    if not before:
        return
    memory = data.draw(st.sampled_from(before))
    changed = with_fields(text, memory.line, {"accessed": "2025-03-14", "importance": "0.7"})
    after = read(changed)
    expected = memory._replace(accessed="2025-03-14", importance=0.7)
    without = [each._replace(line=0) for each in after]
    assert without == [(expected if each == memory else each)._replace(line=0) for each in before]
    lines = changed.split(end)
    assert [line for line in text.split(end) if line not in lines][1:] == []
    assert with_fields(changed, after[before.index(memory)].line, {"accessed": "2025-03-14"}) == changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('- a {importance=0.5 x="importance=1"}  \n', '- a {importance=0.9 x="importance=1"}  \n'),
        ("- a {key=b}\r\n- c\r\n", "- a {key=b importance=0.9}\r\n- c\r\n"),
        ("- a\n  b\n\n  c\n- d", "- a\n  b\n\n  c {importance=0.9}\n- d"),
        ("- a\n  ```\n  b\n  ```\n", "- a\n  ```\n  b\n  ```\n  {importance=0.9}\n"),
        ("---\ntype: fact\nimportance: 'low' # why\n---\na\n", "---\ntype: fact\nimportance: 0.9 # why\n---\na\n"),
        ("---\r\ntype: fact\r\n---\r\na", "---\r\ntype: fact\r\nimportance: 0.9\r\n---\r\na"),
    ],
)
def test_a_field_is_written_where_the_others_stand(old: str, new: str) -> None:
    assert with_fields(old, read(old)[0].line, {"importance": "0.9"}) == new


def test_a_field_is_not_written_into_a_comment_below_its_memory() -> None:
    assert with_fields("- a\n<!--\n- b\n-->\n", 1, {"accessed": "2026-01-02"}) == (
        "- a {accessed=2026-01-02}\n<!--\n- b\n-->\n"
    )
