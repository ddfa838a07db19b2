"""Check of managed blocks: private lines of the workspace in the text that a personal build left there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection, warning_finding
from contextasm.config.yaml_loader import load_yaml
from contextasm.model import Document
from contextasm.retrieval.audience import SharedWorkspace
from contextasm.text.front_matter import attributes
from contextasm.text.managed_block import ManagedBlock, find_block
from contextasm.text.similarity import fold_text
from contextasm.text.templates import fill_template

MIN_PRIVATE_LENGTH = 16
"""Least number of characters of a line that counts; shorter ones may stand anywhere."""

_LINE_MARKS = re.compile(r"^\s*(?:[-*+>]|\d+[.)])?\s*(?:\[[^\]]*\]\s)?")


def check_private_blocks(inspection: Inspection) -> Iterator[Finding]:
    """Report lines of managed blocks that are private where they come from."""
    blocks = {path: block for path, document in inspection.documents.items() if (block := _block(document))}
    private = _private_lines(inspection) if blocks else {}
    for path, block in blocks.items():
        for number, line in enumerate(block.content.split("\n"), block.line + 1):
            if origin := private.get(_comparable(line)):
                hint = "build the block again, without `--audience personal`"
                yield warning_finding(path, number, f"the managed block shows a line that is private in {origin}", hint)
                break


def _block(document: Document) -> ManagedBlock | None:
    block = find_block(document.data.decode("utf-8", "surrogateescape"))
    return block if isinstance(block, ManagedBlock) and block.ours else None


def _private_lines(inspection: Inspection) -> Mapping[str, str]:
    """Paths of private lines, by the line without its marks."""
    owners = {"agent": "*", "team": "*", "open": "", "changed": ""}
    templates = [path for layer in inspection.layers if layer.private for path in layer.query.paths]
    shared = SharedWorkspace(inspection.workspace, [fill_template(path, owners) for path in templates], load_yaml)
    lines: dict[str, str] = {}
    for path, document in inspection.documents.items():
        visible = shared.read(path)
        if isinstance(visible, Document) and visible.lacks_private:
            raw = document.whole.split("\n")
            numbers = (n for gap in visible.gaps if gap.reason == "private" for n in range(gap.first, gap.last + 1))
            for words in (_comparable(raw[number - 1]) for number in numbers if number <= len(raw)):
                if len(words) >= MIN_PRIVATE_LENGTH:
                    lines.setdefault(words, path)
    return lines


def _comparable(line: str) -> str:
    return fold_text(_LINE_MARKS.sub("", attributes(line)[0]))
