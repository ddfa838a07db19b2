"""Memories of a Claude account: the file `memories.json` of its data export.

No page of the vendor describes it. As importers read it (NousResearch/hermes-agent#28041 and others in 2026): a list of
one object, or the object, with `conversations_memory`, a Markdown text, and `project_memories`, such texts by the id of
the project. There are no ids and no dates. Conversations are another file of the export, and are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextasm.model import ContextasmError, Parse
from contextasm.text.exchange.entry import (
    LeftOutPart,
    SourceEntry,
    SourceFile,
    derived_id,
    fitting_word,
    fitting_words,
    only_file,
    required_object,
    stated,
    unread_keys,
)
from contextasm.text.exchange.paragraphs import text_parts
from contextasm.text.json_reader import load_json

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
        yield from _parts(data.get(_KEYS[0]), f"{where}: {_KEYS[0]}", "")
        projects = data.get(_KEYS[1]) or {}
        for project, text in required_object(projects, f"{where}: {_KEYS[1]}").items():
            yield from _parts(text, f"{where}: {_KEYS[1]}: {project}", project)
        yield from unread_keys(data, _KEYS, where)


def _parts(text: object, where: str, project: str) -> Iterator[SourceEntry | LeftOutPart]:
    if text is None:
        return
    if not isinstance(text, str):
        raise ContextasmError(where, "is not text", "correct it, or choose the format that the file has")
    tags = [f"project {fitting_word(project)}"] if project else []
    for part in text_parts(text):
        place = f"{where}: line {part.line}"
        if part.left_out:
            yield LeftOutPart(place, part.left_out)
        else:
            name = derived_id("claude-export", project, part.heading, part.text)
            fields = {"tags": [*fitting_words([part.heading]), *tags]}
            yield SourceEntry(place, name, part.text, stated(fields))
