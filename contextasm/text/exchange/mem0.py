"""Memories of mem0: the JSON that `get_all` gives.

As of its API reference (docs.mem0.ai, Get Memories): an object with `results`, of older versions the list itself; each
has `id`, `memory`, `metadata`, `created_at`, `updated_at`, on the platform also `categories` and `expiration_date`. A
memory that was changed counts as used on that day. `private` makes a private memory, also in `metadata`; other keys,
such as the rest of `metadata` and `user_id`, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextasm.model import Parse
from contextasm.text.cleaning.private_parts import is_private_mapping
from contextasm.text.exchange.entry import (
    LeftOutPart,
    SourceEntry,
    SourceFile,
    fitting_words,
    only_file,
    required_list,
    required_object,
    required_text,
    stated,
    stated_day,
    unread_keys,
)
from contextasm.text.json_reader import load_json

_KEYS = ("id", "memory", "created_at", "updated_at", "expiration_date", "categories")


def read_mem0(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """The memories of a file, with the ids `mem0-ID`."""
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
        metadata = data.get("metadata")
        is_private = is_private_mapping(data) or (isinstance(metadata, dict) and is_private_mapping(metadata))
        fields = {
            "private": True if is_private else None,
            "created": created,
            "accessed": updated if updated != created else "",
            "expires": stated_day(data, "expiration_date", where),
            "tags": fitting_words(categories) if isinstance(categories, list) else [],
        }
        name, text = required_text(data, "id", where), required_text(data, "memory", where)
        yield SourceEntry(where, f"mem0-{name.strip()}", text, stated(fields))
        yield from unread_keys(data, _KEYS if isinstance(categories, list) else _KEYS[:-1], where)
