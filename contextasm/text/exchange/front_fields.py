"""Fields that the front matter of a Markdown file states for every memory in it, as it does in our own files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from contextasm.text.exchange.entry import SourceEntry, SourceFile, fitting_type
from contextasm.text.front_matter import Value, front_matter
from contextasm.text.memory_fields import FIELDS, YES
from contextasm.text.private_parts import KEY, says_private_in_front

_NUMBERS = ("importance", "confidence")
_LISTS = ("tags", "files", "supersedes")


def with_front_fields(file: SourceFile, entries: Iterable[SourceEntry]) -> Iterator[SourceEntry]:
    """The entries of a file, each with the fields of the file's front matter that it does not state itself.

    The tags of both count. An entry of a private file is private, whatever else it states.
    """
    front = _front_fields(file.text)
    for entry in entries:
        fields = {**front, **entry.fields}
        own, shared = entry.fields.get("tags"), front.get("tags")
        if isinstance(own, list) and isinstance(shared, list):
            fields["tags"] = [*dict.fromkeys([*shared, *own])]
        if front.get(KEY):
            fields[KEY] = True
        yield entry._replace(fields=fields)


def _front_fields(text: str) -> dict[str, object]:
    """Values by names of fields of a memory; an id is that of one memory, so it is none of them."""
    lines = text.split("\n")
    found = front_matter(lines)
    stated = {name: _as_stated(name, found.values) for name in FIELDS if name != "id" and found.values.get(name)}
    fields = {name: value for name, value in stated.items() if value not in ("", [])}
    fields.pop(KEY, None)
    return {**fields, KEY: True} if says_private_in_front(lines, found.lines) else fields


def _as_stated(name: str, values: Mapping[str, Value]) -> object:
    """A value of front matter, in the form in which entries state it; as written where it has no such form."""
    value = values[name]
    if name in _LISTS:
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
