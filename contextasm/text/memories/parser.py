"""Memories as they stand in a file: the bullets of a list, or a whole file that is one memory.

Parsing only. The steps decide which memories are shown, and in which order.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import Document, Memory, Problem
from contextasm.text.content_cache import cached_by_content
from contextasm.text.markdown.blocks import parts, trimmed, without_block_comments
from contextasm.text.markdown.front_matter import Value, attributes, broken_attributes
from contextasm.text.memories.fields import FIELDS, FieldReport, memory_of_fields
from contextasm.text.names.dates import parse_leading_date
from contextasm.text.names.matching import nearest

RESERVED_NAMES = {"index.md", "log.md"}
"""Names of files that the Open Knowledge Format reserves for lists of files and of changes."""


TYPE = re.compile(r"\[([^\[\]()\s][^\[\]()]*)\](?:[ \t]+|$)(?!\()")
TASK_MARKS = {"x", "X", "-"}


class _Bullet(NamedTuple):
    """A top-level list item."""

    first: int
    """Its line in the document, counted from 0."""
    lines: tuple[str, ...]
    """Its text without the mark; blank lines at the end left off."""
    day: str
    """The date of the heading above it; empty for none."""


@cached_by_content
def parse_memories(document: Document) -> tuple[tuple[Memory, ...], tuple[Problem, ...]]:
    """The memories of one file, in file order, and the problems in them.

    A file whose front matter has a `type` is one memory, unless it holds observations alone. In any other each
    top-level bullet is one, and the front matter holds their defaults. Bullets in a comment of several lines are none,
    nor are those of `index.md` and `log.md`, which list the files of a folder and its changes.
    """
    report = FieldReport(document.path)
    if document.path.rpartition("/")[2] in RESERVED_NAMES:
        _report_unread(document, report)
        return (), tuple(report.problems)
    front = _memory_fields(document.front, report)
    if is_one_memory(document):
        memories = [_memory_of_file(document, front, report)]
    else:
        bullets = _dated_bullets(without_block_comments(document.text).split("\n"))
        memories = [_memory_of_bullet(document, bullet, front, report) for bullet in bullets]
    memories = [memory for memory in memories if memory.text.strip()]
    if document.text.strip() and not memories and not document.lacks_private:
        report.add(document.line, "holds no memory", "write each as a bullet, `- [type] text`", "no-memory")
    return tuple(memories), tuple(report.problems)


def _report_unread(document: Document, report: FieldReport) -> None:
    """Add a problem for a file of a reserved name in which a bullet states a type, as only a memory does."""
    bullets = _dated_bullets(without_block_comments(document.text).split("\n"))
    for bullet in bullets:
        if (kind := TYPE.match(bullet.lines[0])) and kind[1] not in TASK_MARKS:
            message = "is a memory in a file whose name is for lists, so it is not read"
            report.add(document.line + bullet.first, message, "give the file another name", "no-memory")
            return


def is_one_memory(document: Document) -> bool:
    """Whether a file is one memory as a whole, so that its bullets are none: it has a `type`, and a text of its own."""
    return bool(document.front.get("type")) and not _holds_observations_alone(document.text.split("\n"))


def _holds_observations_alone(lines: Sequence[str]) -> bool:
    """Whether headings and bullets are all there is, and a bullet states its type: `- [fact] text`."""
    has_observation = False
    for part in parts(lines):
        line = lines[part.first]
        if part.kind == "bullet":
            kind = TYPE.match(line[1:].strip())
            has_observation = has_observation or bool(kind and kind[1] not in TASK_MARKS)
        elif line.strip() and part.kind != "heading":
            return False
    return has_observation


def _memory_fields(front: Mapping[str, Value], report: FieldReport) -> dict[str, Value]:
    # Other keys belong to other tools; only one that is nearly a field is a slip.
    for key in front:
        if key not in FIELDS and (meant := nearest(key, FIELDS, 0.8)):
            report.add(1, f"unknown field {key} in the front matter", f"did you mean {meant}?")
    return {key: value for key, value in front.items() if key in FIELDS}


def _memory_of_file(document: Document, front: Mapping[str, Value], report: FieldReport) -> Memory:
    blank, text = trimmed(document.text)
    return memory_of_fields(document.path, document.line + blank, text, front, report)


def _memory_of_bullet(document: Document, bullet: _Bullet, front: Mapping[str, Value], report: FieldReport) -> Memory:
    line = document.line + bullet.first
    last, stated = attributes(bullet.lines[-1])
    for name in stated:
        if name not in FIELDS:
            hint = nearest(name, FIELDS) or "one of " + ", ".join(FIELDS)
            report.add(line, f"unknown field {name}", f"did you mean {hint}?")
    if not stated and (broken := broken_attributes(last, FIELDS)):
        report.add(line, f"{broken} is shown as text", "write each field as name=value, and quotes around blanks")
    lines = [*bullet.lines[:-1], last]
    kind = TYPE.match(lines[0])
    fields: dict[str, Value] = dict(front)
    if bullet.day:
        fields["created"] = bullet.day
    if kind and kind[1] not in TASK_MARKS:
        fields["type"] = kind[1].strip()
        lines[0] = lines[0][kind.end() :]
    fields |= {name: value for name, value in stated.items() if name in FIELDS}
    return memory_of_fields(document.path, line, "\n".join(lines).rstrip(), fields, report)


def _dated_bullets(lines: Sequence[str]) -> Iterator[_Bullet]:
    # A date holds for the bullets below its heading, up to the next heading of the same or a higher level.
    level, day = 0, ""
    for part in parts(lines):
        if part.kind == "heading":
            if stated := parse_leading_date(part.title):
                level, day = part.level, str(stated)
            elif part.level <= level:
                level, day = 0, ""
        elif part.kind == "bullet":
            first, *rest = lines[part.first : part.stop]
            yield _Bullet(part.first, (first[1:].strip(), *_without_list_indent(rest)), day)


def _without_list_indent(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        indent = len(line) - len(line.lstrip(" \t"))
        yield line[min(indent, 2) :].rstrip()


ACTIVE_STATUSES = {"active", "approved", "stable"}
"""Statuses in which a memory may be shown; `stable` is what the Open Knowledge Format calls it."""

INACTIVE_STATUSES = {
    *("archived", "completed", "consolidated", "deprecated", "draft", "expired", "rejected", "review", "superseded"),
}
"""Statuses in which a memory is never shown; no other status is either, but any other is probably a slip."""


def superseded_by(memories: Iterable[Memory]) -> dict[str, str]:
    """Ids that active memories supersede, each with the id of the memory that supersedes it."""
    return {old: memory.id for memory in memories if memory.status in ACTIVE_STATUSES for old in memory.supersedes}
