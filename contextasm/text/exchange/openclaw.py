"""Memories of OpenClaw: `MEMORY.md`, or `USER.md`, of its workspace.

As of its documentation and templates (2026): plain Markdown, in which the comment
`<!-- observed: YYYY-MM-DD | status: active -->` (or `superseded`) stands before an entry. Comments behind an entry, of
triggers and importance, are its own bookkeeping. Daily notes are logs: the profile `openclaw` reads them as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from contextasm.model import ContextasmError, Parse
from contextasm.text.dates import parse_leading_date
from contextasm.text.exchange.entry import SourceEntry, SourceFile, derived_id, fitting_words, stated
from contextasm.text.exchange.front_fields import with_front_fields
from contextasm.text.exchange.paragraphs import text_parts
from contextasm.text.front_matter import front_matter

_OBSERVED = re.compile(r"\s*<!--\s*observed:\s*([^|>]*?)\s*(?:\|\s*status:\s*([\w-]+)\s*)?(?:\|[^>]*)?-->\s*")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def read_openclaw(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry]:
    """A memory for each bullet and paragraph, tagged with the heading above it."""
    for file in files:
        lines = file.text.split("\n")
        above = front_matter(lines).lines
        yield from with_front_fields(file, _entries(file, "\n".join(lines[above:]), above))


def _entries(file: SourceFile, text: str, above: int) -> Iterator[SourceEntry]:
    fields: dict[str, object] = {}
    seen: set[str] = set()
    for part in text_parts(_separated(text)):
        where = f"{file.name}:{above + part.line}"
        if observed := _OBSERVED.match(part.text):
            fields = _observation(observed, where)
        content = _COMMENT.sub("", part.text[observed.end() if observed else 0 :]).strip()
        name = derived_id("openclaw", part.heading, content)
        if content and name not in seen:
            seen.add(name)
            yield SourceEntry(where, name, content, stated({**fields, "tags": fitting_words([part.heading])}))
        if content:
            fields = {}


def _separated(text: str) -> str:
    """The text with the comments of observation as paragraphs of their own; lines keep their numbers.

    A bullet that directly follows a comment, or that a comment directly follows, would else take it for its own text.
    """
    lines = text.split("\n")
    return "\n".join(f"- {line.strip()}" if _OBSERVED.fullmatch(line) else line for line in lines)


def _observation(observed: re.Match[str], where: str) -> dict[str, object]:
    day = parse_leading_date(observed[1])
    if day is None:
        raise ContextasmError(f"{where}: observed", f"{observed[1]!r} is no date", "write it as YYYY-MM-DD")
    return {"created": str(day), "status": observed[2] or ""}
