"""Memories as pages, a file for each, and the bundle of the Open Knowledge Format (OKF 0.2; Google Cloud, 2026).

YAML readers and ours take each value of the front matter alike.

In a bundle, each concept is a Markdown file with front matter, of which `type` is required; `index.md` and `log.md` are
reserved at every level, and the index at the root names the version. `status` is draft, stable or deprecated, and none
means stable; `stale_after` is the time from which a concept is out of date; times have a zone. Keys that OKF does not
know are kept by its readers: our fields keep their own names, so a bundle below `memories/` is read as memories.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta

from contextasm.model import Memory
from contextasm.text.memories.parser import ACTIVE_STATUSES, FIELDS, LISTS
from contextasm.text.names.dates import parse_date
from contextasm.text.names.templates import one_line

_FIRST = ("id", "importance", "confidence", "created", "accessed", "expires")
_PLAIN = (*_FIRST, *(name for name in FIELDS if name not in {*_FIRST, *LISTS, "type", "status", "private", "pin"}))
_RESERVED = {"index", "log"}
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_TITLE = 80
"""Characters."""
_DRAFTS = {"draft", "review"}


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


def write_okf(memories: Sequence[Memory]) -> Iterator[tuple[str, str]]:
    """The files of a bundle, each with its name: a concept for each memory, then the index."""
    names = page_names(memories)
    for memory, name in zip(memories, names, strict=True):
        yield f"{name}.md", _concept(memory)
    yield "index.md", _index(memories, names)


def _concept(memory: Memory) -> str:
    lines = ["---", f"type: {quoted(memory.type)}", f"title: {quoted(page_title(memory.text))}", *page_fields(memory)]
    if status := _status(memory):
        lines.append(f"status: {status}")
    if day := parse_date(memory.expires):
        # `expires` is the last day on which a memory holds.
        lines.append(f"stale_after: {day if day == date.max else day + timedelta(days=1)}T00:00:00Z")
    lines.append(f"sources: [{{resource: {quoted(memory.path)}}}]")
    return "\n".join([*lines, "---", "", memory.text, ""])


def _status(memory: Memory) -> str:
    """The status in OKF's words; empty for stable, which none means."""
    if memory.status in ACTIVE_STATUSES:
        return ""
    return "draft" if memory.status in _DRAFTS else "deprecated"


def _index(memories: Sequence[Memory], names: Sequence[str]) -> str:
    by_type: dict[str, list[str]] = {}
    for memory, name in zip(memories, names, strict=True):
        title = re.sub(r"([\[\]\\<>`*_])", r"\\\1", page_title(memory.text))
        by_type.setdefault(memory.type, []).append(f"* [{title}]({name}.md)")
    parts = [f"# {one_line(kind)}\n\n" + "\n".join(lines) + "\n" for kind, lines in sorted(by_type.items())]
    return '---\nokf_version: "0.2"\n---\n\n' + "\n".join(parts)
