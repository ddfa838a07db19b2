"""Fields that the front matter of a Markdown file states for every memory in it, as it does in our own files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from contextasm.text.cleaning.private_parts import KEY, says_private_in_front
from contextasm.text.exchange.entry import LeftOutPart, SourceEntry, SourceFile, fitting_type, unread_keys
from contextasm.text.markdown.front_matter import Value, front_matter
from contextasm.text.memories.fields import FIELDS, LISTS, YES

FRONT_FIELDS = frozenset(FIELDS) - {"id"}
"""Fields that front matter states for all memories of a file; an id is that of one memory."""

_NUMBERS = ("importance", "confidence")


def with_front_fields(
    file: SourceFile, items: Iterable[SourceEntry | LeftOutPart]
) -> Iterator[SourceEntry | LeftOutPart]:
    """The items of a file, each entry with the fields of the file's front matter that it does not state itself.

    The tags of both count. An entry of a private file is private, whatever else it states.
    """
    front = _front_fields(file.text)
    for item in items:
        if isinstance(item, LeftOutPart):
            yield item
            continue
        fields = {**front, **item.fields}
        own, shared = item.fields.get("tags"), front.get("tags")
        if isinstance(own, list) and isinstance(shared, list):
            fields["tags"] = [*dict.fromkeys([*shared, *own])]
        if front.get(KEY):
            fields[KEY] = True
        yield item._replace(fields=fields)


def unread_front(file: SourceFile) -> Iterator[LeftOutPart]:
    """The keys of a file's front matter that are no field of a memory, and its lines that are not understood."""
    found = front_matter(file.text.split("\n"))
    yield from unread_keys(found.values, FRONT_FIELDS, f"{file.name}:1")
    yield from (LeftOutPart(f"{file.name}:{line}", "front matter") for line in found.unread)


def _front_fields(text: str) -> dict[str, object]:
    """Values by names of `FRONT_FIELDS`."""
    lines = text.split("\n")
    found = front_matter(lines)
    stated = {name: _as_stated(name, found.values) for name in FRONT_FIELDS if found.values.get(name)}
    fields = {name: value for name, value in stated.items() if value not in ("", [])}
    fields.pop(KEY, None)
    return {**fields, KEY: True} if says_private_in_front(lines, found.lines) else fields


def _as_stated(name: str, values: Mapping[str, Value]) -> object:
    """A value of front matter, in the form in which entries state it; as written where it has no such form."""
    value = values[name]
    if name in LISTS:
        parts = value.split(",") if isinstance(value, str) else value
        return [part.strip() for part in parts if part.strip()]
    word = value if isinstance(value, str) else ", ".join(value)
    if name == "type":
        return fitting_type(word)
    if name == "pin":
        return YES.get(word.casefold(), word)
    return _number(word) if name in _NUMBERS else word


def _number(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word
