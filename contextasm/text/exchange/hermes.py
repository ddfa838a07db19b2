"""Memories of Hermes: `MEMORY.md` and `USER.md` of the folder `~/.hermes/memories`.

As of its source (NousResearch/hermes-agent, tools/memory_tool.py, 2026): entries of one or several lines with a line
`§` between them, without ids and dates. `MEMORY.md` has the agent's notes; `USER.md` has what the agent knows about its
user, which is private.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextasm.model import Parse
from contextasm.text.cleaning.private_parts import KEY
from contextasm.text.exchange.entry import LeftOutPart, SourceEntry, SourceFile, derived_id
from contextasm.text.exchange.notes import unread_front, with_front_fields
from contextasm.text.markdown.front_matter import front_matter

_BETWEEN = "§"
_USER = "user"


def read_hermes(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """A memory for each entry; entries of `USER.md` are private and have the type `user`."""
    for file in files:
        yield from with_front_fields(file, _entries(file))


def _entries(file: SourceFile) -> Iterator[SourceEntry | LeftOutPart]:
    store = file.stem.casefold()
    fields = {"type": _USER, KEY: True} if store == _USER else {}
    lines = file.text.split("\n")
    start = front_matter(lines).lines
    yield from unread_front(file)
    for stop in [*(at for at, line in enumerate(lines) if at >= start and line == _BETWEEN), len(lines)]:
        if text := "\n".join(lines[start:stop]).strip():
            yield SourceEntry(f"{file.name}:{start + 1}", derived_id("hermes", store, text), text, fields)
        start = stop + 1
