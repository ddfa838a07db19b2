"""Memories of Codex: `MEMORY.md` and `memory_summary.md` of the folder `~/.codex/memories`.

As of its source (openai/codex, codex-rs/memories/write/templates/memories/consolidation.md, 2026): `MEMORY.md` has a
`# Task Group: NAME` with lines `scope:` and `applies_to:`, then a `## Task N` for each task with its rollouts and
keywords, then sections of bullets. `memory_summary.md` begins with the line `v1` and ends with an index,
`## What's in Memory`. What only leads to other files is left out: scopes, rollouts, keywords and the index. Those files
are recaps of conversations, and what these two were made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from contextasm.model import Parse
from contextasm.text.exchange.entry import LeftOutPart, SourceEntry, SourceFile, derived_id, fitting_words, stated
from contextasm.text.exchange.notes import note_items, with_front_fields

_GROUP = "Task Group:"
_SCOPE = re.compile(r"(?:scope|applies_to):")
_KINDS = {"rollout_summary_files": "list of rollouts", "keywords": "keywords", "What's in Memory": "index"}
"""By its heading, what a section is that holds no memory."""


def read_codex(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """A memory for each bullet and paragraph, tagged with its section and its task group."""
    for file in files:
        yield from with_front_fields(file, note_items(file, _entry, _kind))


def _entry(where: str, text: str, titles: Sequence[str]) -> SourceEntry:
    names = [title.removeprefix(_GROUP).strip() for title in titles]
    return SourceEntry(where, derived_id("codex", *names, text), text, stated({"tags": fitting_words(names)}))


def _kind(text: str, titles: Sequence[str]) -> str:
    if titles[-1].startswith(_GROUP) and _SCOPE.match(text):
        return "scope of a task group"
    if len(titles) == 1 and text == "v1":
        return "version"
    return next((_KINDS[title] for title in titles if title in _KINDS), "")
