"""Memories of Claude Code: the folder `~/.claude/projects/PROJECT/memory`, or one file of it.

The vendor documents `MEMORY.md`, the index, and topic files next to it. The front matter of a file of one fact is not
documented; as such files are (2026): `name`, `description` and below `metadata` the `type` (user, feedback, project or
reference) and the time `modified`, in older ones `type` at the top. Any other file is a list of notes: each bullet and
paragraph is a memory. Of the index, entries that merely link to files are left out, and the others have the words of
the links.

A page of an export has all fields of its memory at the top, and the key `ctxasm`, a digest of all else in it: whoever
changes the page makes it theirs. Nothing of a memory is lost but its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from contextasm.model import ContextasmError, Memory, Parse, Problem
from contextasm.text.cleaning.private_parts import KEY
from contextasm.text.exchange.entry import (
    LeftOutPart,
    SourceEntry,
    SourceFile,
    checked_entries,
    derived_id,
    differing_fields,
    fitting_type,
    fitting_word,
    fitting_words,
    only_file,
    required_object,
    stated,
    stated_day,
    unread_keys,
)
from contextasm.text.exchange.notes import FRONT_FIELDS, note_items, text_items, with_front_fields
from contextasm.text.exchange.pages import page_fields, page_names, page_title, quoted
from contextasm.text.json_reader import load_json
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.markdown.managed_block import short_digest
from contextasm.text.memories.parser import ACTIVE_STATUSES

_PREFIX = "claude-code"
_INDEX = "memory"
_LINK = re.compile(r"\[([^\[\]]*)\]\(\s*<?(?!\w+:)[^)\s>]{1,300}?\.md(?:#[^)\s>]{0,300})?>?\s*\)")
"""A link to a file of memories."""
_BETWEEN_LINKS = " \t\n,;.:|*+-\N{EN DASH}\N{EM DASH}"
_FRONT_KEYS = ("name", "description", "type", "metadata")
_STAMP = re.compile(r'^ctxasm: "([0-9a-f]{16})"\n', re.MULTILINE)
_TAKEN = ("agents", "claude", _INDEX, "readme")
"""Names of files that are not pages, in any case of letters."""
INDEX_PROFILE = "claude-memory"
"""The profile of the index of a folder."""


def claude_code_pages(
    memories: Sequence[Memory], present: Mapping[str, SourceFile], parse: Parse
) -> tuple[dict[str, str], list[Problem]]:
    """The pages to write into a folder of memories, by file name, and the pages that stay although they differ.

    `present` has the Markdown files of the folder by name. A memory has one page, the file that has its id. One that
    ctxasm did not write, or that was changed since, is not written. Raises `ContextasmError` for a file that
    `read_claude_code` refuses.
    """
    items = ((name, checked_entries(read_claude_code([file], parse)).entries) for name, file in present.items())
    places = {entry.id: (name, entry) for name, entries in items for entry in entries}
    new = [memory for memory in memories if memory.id not in places]
    names = page_names(new, [*_TAKEN, *(name.removesuffix(".md") for name in present)])
    pages = {f"{name}.md": _page(memory, name) for memory, name in zip(new, names, strict=True)}
    problems: list[Problem] = []
    for memory in (memory for memory in memories if memory.id in places):
        name, entry = places.pop(memory.id)
        if memory.status not in ACTIVE_STATUSES:
            entry = entry._replace(fields={"status": "active", **entry.fields})
        if _is_own(present[name].text):
            pages[name] = _page(memory, name.removesuffix(".md"))
        elif differing := differing_fields(memory, entry):
            what = f"was not changed, because it was edited and differs from {memory.id} in {', '.join(differing)}"
            problems.append(Problem("page-left", entry.where, 0, what, "import the page with --update, or remove it"))
    for name, entry in places.values():
        if _is_own(present[name].text):
            what = f"was not changed, because no memory has its id, {entry.id}"
            problems.append(Problem("page-left", present[name].name, 0, what, "remove the page if nobody needs it"))
    return {name: text for name, text in pages.items() if name not in present or present[name].text != text}, problems


def _page(memory: Memory, name: str) -> str:
    lines = [f"name: {quoted(name)}", _described(memory.text, memory.status)]
    lines += [f"type: {quoted(memory.type)}", f"status: {quoted(memory.status)}", *page_fields(memory)]
    head, rest = "\n".join(["---", *lines, ""]), f"---\n\n{memory.text}\n"
    return f'{head}ctxasm: "{short_digest(head + rest)}"\n{rest}'


def _is_own(text: str) -> bool:
    """Whether a page is as `_page` gave it."""
    stamp = _STAMP.search(text)
    return stamp is not None and short_digest(text[: stamp.start()] + text[stamp.end() :]) == stamp[1]


def _described(text: str, status: object) -> str:
    """The line with the words by which the host finds a page; that of a memory that is not to be shown says so."""
    mark = "" if status in ACTIVE_STATUSES else f"({status}) "
    return f"description: {quoted(mark + page_title(text))}"


def read_claude_code(files: Sequence[SourceFile], parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """A memory for each file of one fact, with its `id` or `claude-code-NAME`; for other files, one for each note."""
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
    words = {key: value for key, value in front.items() if isinstance(value, str)}
    name, own_id = words.get("name", file.stem), words.get("id", "")
    found = front.get("metadata")
    metadata: Mapping[str, object] = found if isinstance(found, dict) else {}
    text = body.strip() or words.get("description", "")
    fields = {
        "type": fitting_type(metadata.get("type") or front.get("type")),
        "created": stated_day(metadata, "modified", f"{file.name}: metadata"),
    }
    if text.strip():
        made_id = f"{_PREFIX}-{fitting_word(name) or file.stem}"
        yield SourceEntry(file.name, own_id or made_id, text, stated(fields))
    else:
        yield LeftOutPart(file.name, "file without a text")
    used = dict[str, object](name=name, description=text, type=fields["type"], metadata=metadata, id=own_id)
    if f"\n{_described(text, front.get('status', 'active'))}\n" in file.text:
        used["description"] = front.get("description")
    read = {*FRONT_FIELDS, *used, "ctxasm"} - {key for key in used if front.get(key) != used[key]}
    yield from unread_keys(front, read, file.name)
    yield from unread_keys(metadata, ["type"] * bool(fields["type"]) + ["modified", KEY], f"{file.name}: metadata")


def _notes(file: SourceFile) -> Iterator[SourceEntry | LeftOutPart]:
    is_index = file.stem.casefold() == _INDEX

    def entry(where: str, text: str, titles: Sequence[str]) -> SourceEntry:
        content = _LINK.sub(r"\1", text).strip() if is_index else text
        name = derived_id(_PREFIX, file.stem, titles[-1], content)
        return SourceEntry(where, name, content, stated({"tags": fitting_words(titles[-1:])}))

    return note_items(file, entry, _index_kind if is_index else None)


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
            hint = "name memories.json of the export, because conversations hold no memories"
            raise ContextasmError(where, f"has neither {_KEYS[0]} nor {_KEYS[1]}", hint)
        yield from text_items(data.get(_KEYS[0]), f"{where}: {_KEYS[0]}", ("claude-export", ""), (), {})
        projects = data.get(_KEYS[1]) or {}
        for project, text in required_object(projects, f"{where}: {_KEYS[1]}").items():
            place, names = f"{where}: {_KEYS[1]}: {project}", ("claude-export", project)
            yield from text_items(text, place, names, [f"project {project}"] if project else (), {})
        yield from unread_keys(data, _KEYS, where)
