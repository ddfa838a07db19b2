"""Blocks of Markdown."""

from hypothesis import given

from contextasm.text.markdown.blocks import blocks
from tests.workspaces import texts


@given(texts)
def test_blocks_hold_every_line_once(text: str) -> None:
    lines = text.split("\n")
    found = [*blocks(lines)]
    assert [line for block in found for line in lines[block.first : block.stop]] == lines
    assert all(block.first <= block.body <= block.stop for block in found)
