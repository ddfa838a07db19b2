"""Memories as pages: what the formats with a file for each memory share.

YAML readers and ours take each value of the front matter alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from contextasm.model import Memory
from contextasm.text.memories.parser import FIELDS, LISTS
from contextasm.text.names.templates import one_line

_FIRST = ("id", "importance", "confidence", "created", "accessed", "expires")
_PLAIN = (*_FIRST, *(name for name in FIELDS if name not in {*_FIRST, *LISTS, "type", "status", "private", "pin"}))
_RESERVED = {"index", "log"}
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_TITLE = 80
"""Characters."""


def page_names(memories: Sequence[Memory], taken: Iterable[str] = ()) -> list[str]:
    """A file name without its end for each memory, made of its id.

    No two are equal, and none is `taken`, in any case of letters.
    """
    names = dict.fromkeys(map(str.casefold, taken), "")
    counts: dict[str, int] = {}
    for memory in memories:
        base = _UNFIT.sub("-", memory.id).strip("-.")[:100] or "memory"
        base = f"memory-{base}" if base.casefold() in _RESERVED else base
        name, number = base, counts.get(base.casefold(), 1)
        while name.casefold() in names:
            number += 1
            name = f"{base}-{number}"
        counts[base.casefold()] = number
        names[name.casefold()] = name
    return [name for name in names.values() if name]


def page_fields(memory: Memory) -> Iterator[str]:
    """Lines of front matter with all fields but type and status; empty ones are left out."""
    for name in _PLAIN:
        value = getattr(memory, name)
        if value != "":
            yield f"{name}: {value if isinstance(value, float) else quoted(value)}"
    yield from (f"{name}: [{', '.join(map(quoted, values))}]" for name in LISTS if (values := getattr(memory, name)))
    yield from (f"{name}: true" for name in ("private", "pin") if getattr(memory, name))


def page_title(text: str) -> str:
    """The first line of a text, without the marks of a heading, in `_LONGEST_TITLE` characters at most."""
    line = one_line(text.strip().split("\n")[0].lstrip("# "))
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 3].rstrip()}..."


def quoted(value: str) -> str:
    """A YAML text in quotes; double quotes in it become single ones, which all readers of front matter take alike."""
    if "\\" in value:
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value.replace('"', "'"), ensure_ascii=False)
