"""Memories of OpenClaw: `MEMORY.md`, or `USER.md`, of its workspace.

As of its documentation and templates (2026): plain Markdown, in which the comment
`<!-- observed: YYYY-MM-DD | status: active -->` (or `superseded`) is before an entry. Comments after an entry, of
triggers and importance, are its own bookkeeping. Daily notes are logs: the profile `openclaw` reads them as they are.

An entry that is there again has the same id. The one that holds is taken: an active one rather than another, then the
one that was observed later, then the lower one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from contextasm.model import Parse
from contextasm.text.exchange.entry import (
    LeftOutPart,
    SourceEntry,
    SourceFile,
    derived_id,
    fitting_type,
    fitting_words,
    required_day,
    stated,
)
from contextasm.text.exchange.notes import text_parts, unread_front, with_front_fields
from contextasm.text.markdown.blocks import comments, without_comments
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.memories.parser import ACTIVE_STATUSES, TASK_MARKS, TYPE

_OBSERVED = re.compile(r"\s*<!--\s*observed:([^|>]*?)(?:\|\s*status:\s*([\w-]+)\s*)?(?:\|[^>]*)?-->\s*")
_BOOKKEEPING = "comment"


def read_openclaw(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """A memory for each bullet and paragraph, tagged with the heading above it."""
    items = (item for file in files for item in with_front_fields(file, _file_items(file)))
    return _those_that_hold([*items])


def _those_that_hold(items: Sequence[SourceEntry | LeftOutPart]) -> Iterator[SourceEntry | LeftOutPart]:
    """The items, with one entry of each id; the others are left out if they differ."""
    holding: dict[str, SourceEntry] = {}
    for item in items:
        if isinstance(item, SourceEntry) and _validity(item) >= _validity(holding.get(item.id, item)):
            holding[item.id] = item
    for item in items:
        if isinstance(item, LeftOutPart) or item is holding[item.id]:
            yield item
        elif item.fields != holding[item.id].fields:
            yield LeftOutPart(item.where, f"other state of the entry at {holding[item.id].where}")


def _validity(entry: SourceEntry) -> tuple[bool, str]:
    return str(entry.fields.get("status", "active")).casefold() in ACTIVE_STATUSES, str(entry.fields.get("created", ""))


def _file_items(file: SourceFile) -> Iterator[SourceEntry | LeftOutPart]:
    lines = file.text.split("\n")
    above = front_matter(lines).lines
    yield from unread_front(file)
    observed: tuple[str, dict[str, object]] | None = None
    for line_of_text, text, (*_, title), left_out in text_parts(_separated(lines[above:]), _kind):
        line = above + line_of_text
        where = f"{file.name}:{line}"
        if left_out not in ("", _BOOKKEEPING):
            yield LeftOutPart(where, left_out)
            continue
        found = [*comments(text)]
        if stated_before := _OBSERVED.match(text):
            yield from _unused(observed)
            observed = where, _observation(stated_before, where)
            del found[0]
        number = at = 0
        for start, _ in found:
            number, at = number + text.count("\n", at, start), start
            yield LeftOutPart(f"{file.name}:{line + number}", _BOOKKEEPING)
        if content := _without_bookkeeping(text):
            kind = TYPE.match(content)
            type_ = fitting_type(kind[1]) if kind and kind[1] not in TASK_MARKS else ""
            statement = content[kind.end() :] if kind and type_ else content
            fields = {**(observed[1] if observed else {}), "type": type_, "tags": fitting_words([title])}
            yield SourceEntry(where, derived_id("openclaw", title, content), statement or content, stated(fields))
            observed = None
    yield from _unused(observed)


def _kind(text: str, _titles: Sequence[str]) -> str:
    return "" if _without_bookkeeping(text) else _BOOKKEEPING


def _without_bookkeeping(text: str) -> str:
    return without_comments(text)[0].strip()


def _unused(observed: tuple[str, object] | None) -> Iterable[LeftOutPart]:
    return () if observed is None else (LeftOutPart(observed[0], "comment without an entry after it"),)


def _separated(lines: Sequence[str]) -> str:
    """The text of the lines, with the comments of observation as paragraphs of their own; lines keep their numbers.

    A bullet that directly follows a comment, or that a comment directly follows, would else take it for its own text.
    """
    return "\n".join(f"- {line.strip()}" if _OBSERVED.fullmatch(line) else line for line in lines)


def _observation(observed: re.Match[str], where: str) -> dict[str, object]:
    return {"created": required_day(observed[1].strip(), f"{where}: observed"), "status": observed[2] or ""}
