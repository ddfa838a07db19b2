"""Memories of Claude Code: the folder `~/.claude/projects/PROJECT/memory`, or one file of it.

The vendor documents `MEMORY.md`, the index, and topic files next to it. The front matter of a file of one fact is not
documented; as such files are (2026): `name`, `description` and below `metadata` the `type` (user, feedback, project or
reference) and the time `modified`, in older ones `type` at the top. Any other file is a list of notes: each bullet and
paragraph is a memory. Of the index, entries that merely link to files are left out, and the others have the words of
the links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from contextasm.model import ContextasmError, Parse
from contextasm.text.cleaning.private_parts import KEY
from contextasm.text.exchange.entry import (
    LeftOutPart,
    SourceEntry,
    SourceFile,
    derived_id,
    fitting_type,
    fitting_word,
    fitting_words,
    only_file,
    required_object,
    stated,
    stated_day,
    unread_keys,
)
from contextasm.text.exchange.notes import FRONT_FIELDS, no_kind, note_items, text_items, with_front_fields
from contextasm.text.json_reader import load_json
from contextasm.text.markdown.front_matter import front_matter

_PREFIX = "claude-code"
_INDEX = "memory"
_LINK = re.compile(r"\[([^\[\]]*)\]\(\s*<?(?!\w+:)[^)\s>]{1,300}?\.md(?:#[^)\s>]{0,300})?>?\s*\)")
"""A link to a file of memories."""
_BETWEEN_LINKS = " \t\n,;.:|*+-\N{EN DASH}\N{EM DASH}"
_FRONT_KEYS = ("name", "description", "type", "metadata")


def read_claude_code(files: Sequence[SourceFile], parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """A memory for each file of one fact, with the id `claude-code-NAME`; for other files, one for each note."""
    for file in files:
        front, body = _parts(file, parse)
        yield from with_front_fields(file, _fact(file, front, body) if front else _notes(file))


def _parts(file: SourceFile, parse: Parse) -> tuple[Mapping[str, object], str]:
    """The front matter of a file of one fact, and the text below it; for any other file both are empty."""
    lines = file.text.split("\n")
    found = front_matter(lines)
    if not any(key in found.values for key in _FRONT_KEYS):
        return {}, ""
    value = parse("\n" + "\n".join(lines[1 : found.lines - 1]), file.name)
    return (value, "\n".join(lines[found.lines :])) if isinstance(value, dict) else ({}, "")


def _fact(file: SourceFile, front: Mapping[str, object], body: str) -> Iterator[SourceEntry | LeftOutPart]:
    name = front.get("name") if isinstance(front.get("name"), str) else file.stem
    metadata = front.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else dict[str, object]()
    description = front.get("description")
    text = body.strip() or (description if isinstance(description, str) else "")
    fields = {
        "type": fitting_type(metadata.get("type") or front.get("type")),
        "created": stated_day(metadata, "modified", f"{file.name}: metadata"),
    }
    if text.strip():
        yield SourceEntry(file.name, f"{_PREFIX}-{fitting_word(str(name)) or file.stem}", text, stated(fields))
    else:
        yield LeftOutPart(file.name, "file without a text")
    used = {"name": name, "description": text, "type": fields["type"], "metadata": metadata}
    read = {*FRONT_FIELDS, *used} - {key for key in used if front.get(key) != used[key]}
    yield from unread_keys(front, read, file.name)
    yield from unread_keys(metadata, ["type"] * bool(fields["type"]) + ["modified", KEY], f"{file.name}: metadata")


def _notes(file: SourceFile) -> Iterator[SourceEntry | LeftOutPart]:
    is_index = file.stem.casefold() == _INDEX

    def entry(where: str, text: str, titles: Sequence[str]) -> SourceEntry:
        content = _LINK.sub(r"\1", text).strip() if is_index else text
        name = derived_id(_PREFIX, file.stem, titles[-1], content)
        return SourceEntry(where, name, content, stated({"tags": fitting_words(titles[-1:])}))

    return note_items(file, entry, _index_kind if is_index else no_kind)


def _index_kind(text: str, _titles: Sequence[str]) -> str:
    return "" if _LINK.sub("", text).strip(_BETWEEN_LINKS) else "link to a file"


_KEYS = ("conversations_memory", "project_memories")


def read_claude_export(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """A memory for each paragraph and bullet, tagged with the heading above it and with its project."""
    file = only_file(files)
    value = load_json(file.text, file.name)
    for number, item in enumerate(value if isinstance(value, list) else [value]):
        where = f"{file.name}: [{number}]" if isinstance(value, list) else file.name
        data = required_object(item, where)
        if not any(key in data for key in _KEYS):
            hint = "name memories.json of the export; conversations hold no memories"
            raise ContextasmError(where, f"has neither {_KEYS[0]} nor {_KEYS[1]}", hint)
        yield from text_items(data.get(_KEYS[0]), f"{where}: {_KEYS[0]}", ("claude-export", ""), (), {})
        projects = data.get(_KEYS[1]) or {}
        for project, text in required_object(projects, f"{where}: {_KEYS[1]}").items():
            place, names = f"{where}: {_KEYS[1]}: {project}", ("claude-export", project)
            yield from text_items(text, place, names, [f"project {project}"] if project else (), {})
        yield from unread_keys(data, _KEYS, where)
