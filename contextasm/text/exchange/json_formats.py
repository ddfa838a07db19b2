"""Memories in files of JSON: our own lines, and the files of mem0, Letta, beads and the reference MCP server `memory`.

Our own format has one JSON object a line for each memory, under the names that its fields have in files. A line also
has `id`, `text` and `source`, the place that the memory was exported from; importing leaves that out. Fields that are
empty are not written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from contextasm.model import ContextasmError, Memory, Parse
from contextasm.text.cleaning.private_parts import is_private_mapping
from contextasm.text.exchange.entry import (
    LeftOutPart,
    SourceEntry,
    SourceFile,
    derived_id,
    fitting_type,
    fitting_words,
    json_lines,
    only_file,
    required_list,
    required_object,
    required_text,
    stated,
    stated_day,
    unread_keys,
)
from contextasm.text.exchange.notes import text_items
from contextasm.text.json_reader import load_json
from contextasm.text.memories.parser import FIELDS
from contextasm.text.memories.writer import quoted_value
from contextasm.text.names.matching import nearest

_LINE_KEYS = ("text", *FIELDS, "source")


def read_json_lines(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry]:
    """The memory of each line. A line without an id gets one that depends on its text."""
    for file in files:
        for where, data in json_lines(file):
            for key in data:
                if key not in _LINE_KEYS:
                    near = nearest(key, _LINE_KEYS)
                    hint = f"did you mean {near}?" if near else "one of " + ", ".join(_LINE_KEYS)
                    raise ContextasmError(where, f"unknown key {key}", hint)
            text = required_text(data, "text", where)
            name = required_text(data, "id", where) if "id" in data else derived_id("jsonl", text.strip())
            fields = {key: data[key] for key in FIELDS if key != "id" and data.get(key) is not None}
            yield SourceEntry(where, name, text, fields)


def write_json_lines(memories: Iterable[Memory]) -> str:
    """A line for each memory, in their order; empty for none."""
    return "".join(f"{json.dumps(_data(memory), ensure_ascii=False)}\n" for memory in memories)


def _data(memory: Memory) -> dict[str, object]:
    fields = {name: getattr(memory, name) for name in FIELDS}
    written = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    stated = {name: value for name, value in written.items() if value is not False and value not in ("", [])}
    return {"id": memory.id, "text": memory.text, **stated, "source": f"{memory.path}:{memory.line}"}


_MEM0_KEYS = ("id", "memory", "created_at", "updated_at", "expiration_date", "categories")


def read_mem0(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """The memories of a file of mem0, with the ids `mem0-ID`: the JSON that its `get_all` gives.

    As of its API reference (docs.mem0.ai, Get Memories): an object with `results`, of older versions the list itself;
    each has `id`, `memory`, `metadata`, `created_at`, `updated_at`, on the platform also `categories` and
    `expiration_date`. A memory that was changed counts as used on that day. `private` makes a private memory, also in
    `metadata`; other keys, such as the rest of `metadata` and `user_id`, are left out.
    """
    file = only_file(files)
    value = load_json(file.text, file.name)
    place = file.name
    if isinstance(value, dict):
        yield from unread_keys(value, ("results",), file.name)
        place = f"{file.name}: results"
        value = value.get("results")
    for number, item in enumerate(required_list(value, place)):
        where = f"{place}[{number}]"
        data = required_object(item, where)
        created, updated = stated_day(data, "created_at", where), stated_day(data, "updated_at", where)
        categories = data.get("categories")
        fields = {
            "private": _private(data),
            "created": created,
            "accessed": updated if updated != created else "",
            "expires": stated_day(data, "expiration_date", where),
            "tags": fitting_words(categories) if isinstance(categories, list) else [],
        }
        name, text = required_text(data, "id", where), required_text(data, "memory", where)
        yield SourceEntry(where, f"mem0-{name.strip()}", text, stated(fields))
        yield from unread_keys(data, _MEM0_KEYS if isinstance(categories, list) else _MEM0_KEYS[:-1], where)


def _private(data: Mapping[str, object]) -> bool | None:
    """Whether an object, or its metadata, says that it is private; None for neither."""
    metadata = data.get("metadata")
    return is_private_mapping(data) or (isinstance(metadata, dict) and is_private_mapping(metadata)) or None


def read_letta(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """The memory blocks of an agent file (`.af`) of Letta, and the passages of its archival memory.

    As of its source (letta-ai/letta, letta/schemas/agent_file.py, and the files of letta-ai/agent-file, 2026): an
    object with `blocks`, in older files `core_memory`, each with `label` and `value`; some files have it all as one
    text. An agent file has no passages: the API lists them, as an array of objects with `id`, `text`, `tags` and
    `created_at`. Each bullet and paragraph of a block is a memory, tagged with the heading above it and the block's
    label, and each passage is one, with the id `letta-ID`. Agents and their messages are left out.
    """
    file = only_file(files)
    value = load_json(file.text, file.name)
    value = load_json(value, file.name) if isinstance(value, str) else value
    data = {"": value} if isinstance(value, list) else required_object(value, file.name)
    if not any(key in data for key in _LETTA_LISTS):
        what = "has neither blocks nor core_memory, and is not a list of passages"
        raise ContextasmError(file.name, what, "name an agent file, or a list from the API")
    for key, read in _LETTA_LISTS.items():
        place = f"{file.name}: {key}" if key else file.name
        for number, item in enumerate(required_list(data.get(key, []), place)):
            where = f"{place}[{number}]"
            yield from read(required_object(item, where), where)
    yield from unread_keys(data, _LETTA_LISTS, file.name)


def _block_items(data: Mapping[str, object], where: str) -> Iterator[SourceEntry | LeftOutPart]:
    label, tags = required_text(data, "label", where), _words(data, where)
    yield from text_items(data.get("value"), f"{where}: value", ("letta", label), (label, *tags), _fields(data, where))
    yield from unread_keys(data, ("label", "value", *_LETTA_KEYS), where)


def _passage_items(data: Mapping[str, object], where: str) -> Iterator[SourceEntry | LeftOutPart]:
    name, text = required_text(data, "id", where), required_text(data, "text", where)
    fields = {**_fields(data, where), "tags": _words(data, where)}
    yield SourceEntry(where, f"letta-{name.strip()}", text, stated(fields))
    yield from unread_keys(data, ("id", "text", *_LETTA_KEYS), where)


_LETTA_KEYS = ("created_at", "tags")


def _fields(data: Mapping[str, object], where: str) -> Mapping[str, object]:
    return {"private": _private(data), "created": stated_day(data, "created_at", where)}


def _words(data: Mapping[str, object], where: str) -> list[str]:
    return fitting_words(required_list(data.get("tags") or [], f"{where}: tags"))


_LETTA_LISTS = {"blocks": _block_items, "core_memory": _block_items, "": _passage_items}
"""By the key of a list of memories, the reader of an object in it; the empty key is that of the file's own list."""


def read_beads(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """The memories of an export of beads, with the ids `beads-KEY`: `bd export --include-memories`.

    As of its source (gastownhall/beads, cmd/bd/export.go, 2026): a line is an issue, or what `bd remember` was given,
    with `_type`, `key` and `value`. All other lines are left out.
    """
    for where, data in json_lines(only_file(files)):
        if data.get("_type") != "memory":
            yield LeftOutPart(where, "issue or other record")
            continue
        name, text = required_text(data, "key", where), required_text(data, "value", where)
        yield SourceEntry(where, f"beads-{name.strip()}", text, {})
        yield from unread_keys(data, ("_type", "key", "value"), where)


_SERVER = "memory-server"
_UNTYPED_KEYS = ("type", "name", "observations")
_ENTITY_KEYS = (*_UNTYPED_KEYS, "entityType")
_RELATION_KEYS = ("type", "from", "to", "relationType")


def read_memory_server(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """A memory for each observation in a `memory.jsonl`, tagged with its entity, and one for each relation.

    As of the server's source (modelcontextprotocol/servers, src/memory): a line is an entity with `name`, `entityType`
    and `observations`, or a relation with `from`, `to` and `relationType`. It knows neither ids nor dates. An
    observation says nothing without its entity, so each memory begins with the name.
    """
    for where, data in json_lines(only_file(files)):
        kind = data.get("type")
        if kind == "entity":
            yield from _observations(data, where)
            yield from unread_keys(data, _ENTITY_KEYS if fitting_type(data.get("entityType")) else _UNTYPED_KEYS, where)
        elif kind == "relation":
            yield _relation(data, where)
            yield from unread_keys(data, _RELATION_KEYS, where)
        else:
            what = f"{quoted_value(kind)} is neither entity nor relation"
            raise ContextasmError(f"{where}: type", what, "correct this line")


def _observations(data: Mapping[str, object], where: str) -> Iterator[SourceEntry]:
    name = required_text(data, "name", where).strip()
    fields = stated({"type": fitting_type(data.get("entityType")), "tags": fitting_words([name])})
    for number, observation in enumerate(required_list(data.get("observations"), f"{where}: observations")):
        place = f"{where}: observations[{number}]"
        if not isinstance(observation, str) or not observation.strip():
            raise ContextasmError(place, "is not text, or is empty", "correct this line")
        text = observation.strip()
        yield SourceEntry(place, derived_id(_SERVER, name, text), f"{name}: {text}", fields)


def _relation(data: Mapping[str, object], where: str) -> SourceEntry:
    one, relation, other = (required_text(data, key, where).strip() for key in ("from", "relationType", "to"))
    fields = {"type": "relation", "tags": fitting_words([one, other])}
    return SourceEntry(where, derived_id(_SERVER, one, relation, other), f"{one} {relation} {other}", stated(fields))
