"""Checks of what is remembered: ids, fields, memories that are over, and text that one document shows twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection, error_finding, warning_finding
from contextasm.model import Context, Document, Memory
from contextasm.text.front_matter import attributes
from contextasm.text.markdown import blocks
from contextasm.text.memory_parser import ACTIVE_STATUSES, distinct_memories, memory_id, superseded_by

LEAST = 40
"""Characters of text that count as something said twice; anything shorter may stand anywhere."""


def check_memories(scene: Inspection) -> Iterator[Finding]:
    """Fields that can't be read or are not known, and files of memories that hold none."""
    for path, (_, problems) in scene.memories.items():
        for problem in problems:
            what, _, hint = problem.message.partition("; ")
            if not what.endswith("a date, YYYY-MM-DD"):
                yield warning_finding(path, problem.line, what, hint or "correct the value, or take the field out")


def check_duplicate_ids(scene: Inspection) -> Iterator[Finding]:
    """Ids that two memories of one owner have."""
    for found in _pools(scene).values():
        for problem in distinct_memories(found)[1]:
            what, _, hint = problem.message.partition("; ")
            yield error_finding(problem.path, problem.line, what, hint)


def _pools(scene: Inspection) -> dict[str, list[Memory]]:
    """The memories of each folder: those that one layer reads together."""
    pools: dict[str, list[Memory]] = {}
    for path, (found, _) in scene.memories.items():
        pools.setdefault(path.rpartition("/")[0], []).extend(found)
    return pools


def check_superseded(scene: Inspection) -> Iterator[Finding]:
    """Memories that another one takes the place of and that are still active, and those that replace nothing."""
    for found in _pools(scene).values():
        by_id = {each.id: each for each in found}
        for old, new in superseded_by(found).items():
            if old not in by_id:
                line, path = by_id[new].line, by_id[new].path
                hint = "correct the id, or take `supersedes` out"
                yield warning_finding(path, line, f"supersedes {old}, and no memory beside it has that id", hint)
            elif old != new and by_id[old].status in ACTIVE_STATUSES:
                message = f"memory {old} is superseded by {_called(by_id[new])} and still active"
                yield warning_finding(
                    by_id[old].path, by_id[old].line, message, "set its `status` to superseded, or delete it"
                )


def _called(memory: Memory) -> str:
    """A memory's id if it was given one; the file it stands in for one made of its text."""
    return f"one in {memory.path}" if memory.id == memory_id(memory.path, memory.text) else memory.id


def check_expired(scene: Inspection) -> Iterator[Finding]:
    """Memories whose last day is over and that are still shown."""
    for path, (found, _) in scene.memories.items():
        for each in found:
            if each.expires and each.status in ACTIVE_STATUSES and date.fromisoformat(each.expires) < scene.day:
                message = f"expired on {each.expires} and still active"
                yield warning_finding(
                    path, each.line, message, "set its `status` to expired, or `expires` to a later day"
                )


# --- Said twice ------------------------------------------------------------------------------------------------------

_Place = tuple[str, int]
"""A file and a line of it."""


def check_duplicates(scene: Inspection) -> Iterator[Finding]:
    """Sentences that stand in two files of one document, whatever the layers."""
    said: dict[str, list[tuple[int, str]]] = {}
    told: dict[tuple[_Place, str], None] = {}
    for context in scene.contexts:
        first: dict[str, _Place] = {}
        for path in _shown(context):
            if path not in said:
                said[path] = [*_said(scene.documents[path])]
            for line, text in said[path]:
                at = first.setdefault(text, (path, line))
                if at[0] != path:
                    told[(path, line), at[0]] = None
    for (path, line), other in told:
        hint = "delete it in one of them: one document shows, and pays for, both"
        yield warning_finding(path, line, f"a sentence stands here and in {other}", hint)


def _shown(context: Context) -> Mapping[str, None]:
    """The files of which anything is shown, in the order of the document."""
    return dict.fromkeys(each.path for each in context.decisions if each.outcome in {"included", "truncated"})


def _said(document: Document) -> Iterator[tuple[int, str]]:
    """Line and bare words of each sentence, long ones only; headings, tables and code are left aside."""
    lines = document.text.split("\n")
    for block in blocks(lines):
        if block.kind != "text":
            continue
        first = max(block.body, block.first)
        text = "\n".join(_MARKS.sub("", attributes(line)[0]) for line in lines[first : block.stop])
        for sentence in _SENTENCE.finditer(text):
            bare = " ".join(_NO_WORD.sub(" ", sentence[0]).casefold().split())
            if len(bare) >= LEAST:
                yield document.line + first + text.count("\n", 0, sentence.start()), bare


_MARKS = re.compile(r"^\s*(?:[-*+>]|\d+[.)])?\s*(?:\[[^\]]*\]\s)?")
_SENTENCE = re.compile(r"\S(?:[^.!?]|[.!?](?!\s))*")
_NO_WORD = re.compile(r"[\W_]+")
