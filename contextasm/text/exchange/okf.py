"""Memories as a bundle of the Open Knowledge Format, OKF 0.2 (Google Cloud, SPEC.md of 2026).

Each concept is a Markdown file with front matter, of which `type` is required; `index.md` and `log.md` are reserved at
every level, and the index at the root names the version. `status` is draft, stable or deprecated, and none means
stable; `stale_after` is the time from which a concept is out of date; times have a zone. Keys that OKF does not know
are kept by its readers: our fields keep their own names, so a bundle below `memories/` is read as memories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from contextasm.model import Memory
from contextasm.text.exchange.pages import page_fields, page_names, page_title, quoted
from contextasm.text.memories.parser import ACTIVE_STATUSES
from contextasm.text.names.dates import parse_date
from contextasm.text.names.templates import one_line

_DRAFTS = {"draft", "review"}


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
