"""Memories of Claude Code: the folder `~/.claude/projects/PROJECT/memory`, or one file of it.

The vendor documents `MEMORY.md`, the index, and topic files beside it. The front matter of a file of one fact is not
documented; as such files are (2026): `name`, `description` and below `metadata` the `type` (user, feedback, project or
reference) and the time `modified`, in older ones `type` at the top. Of the index, what merely links to a file is left
out. A file without front matter is a list of notes: each bullet and paragraph is a memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from contextasm.model import ContextasmError, Parse
from contextasm.text.exchange.entry import (
    SourceEntry,
    SourceFile,
    derived_id,
    fitting_type,
    fitting_word,
    fitting_words,
    stated,
    stated_day,
)
from contextasm.text.exchange.front_fields import with_front_fields
from contextasm.text.exchange.paragraphs import text_parts

_PREFIX = "claude-code"
_LINK = re.compile(r"\s*\[[^\]]*\]\(\s*<?[^)\s]+\.md>?\s*\)")
_RULE = re.compile(r"(?:-{3,}|\*{3,}|_{3,})")


def read_claude_code(files: Sequence[SourceFile], parse: Parse) -> Iterator[SourceEntry]:
    """A memory for each file of one fact, with the id `claude-code-NAME`; for other files, one for each note."""
    for file in files:
        front, body, first = _parts(file, parse)
        entries = [_fact(file, front, body)] if front else _notes(file, body, first)
        yield from with_front_fields(file, entries)


def _parts(file: SourceFile, parse: Parse) -> tuple[Mapping[str, object], str, int]:
    """The front matter, the text below it, and the number of lines above the text."""
    lines = file.text.split("\n")
    if lines[0].rstrip() != "---":
        return {}, file.text, 0
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == "---"), 0)
    if not end:
        raise ContextasmError(f"{file.name}:1", "front matter that is never closed", "end it with a line of ---")
    value = parse("\n" + "\n".join(lines[1:end]), file.name)
    if not isinstance(value, dict):
        return {}, file.text, 0
    return value, "\n".join(lines[end + 1 :]), end + 1


def _fact(file: SourceFile, front: Mapping[str, object], body: str) -> SourceEntry:
    name = front.get("name") if isinstance(front.get("name"), str) else file.stem
    metadata = front.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    description = front.get("description")
    text = body.strip() or (description if isinstance(description, str) else "")
    fields = {
        "type": fitting_type(metadata.get("type") or front.get("type")),
        "created": stated_day(metadata, "modified", f"{file.name}: metadata"),
    }
    return SourceEntry(file.name, f"{_PREFIX}-{fitting_word(str(name)) or file.stem}", text, stated(fields))


def _notes(file: SourceFile, body: str, first: int) -> Iterator[SourceEntry]:
    seen: set[str] = set()
    for part in text_parts(body):
        name = derived_id(_PREFIX, file.stem, part.heading, part.text)
        is_link = _LINK.match(part.text) and file.stem.casefold() == "memory"
        if not is_link and not _RULE.fullmatch(part.text) and name not in seen:
            seen.add(name)
            fields = {"tags": fitting_words([part.heading])}
            yield SourceEntry(f"{file.name}:{first + part.line}", name, part.text, stated(fields))
