"""Entries of another program as memories that a file can hold: cleaned, their secrets masked, their fields checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from contextasm.model import ContextasmError, Memory, Problem
from contextasm.text.cleaning.clean import clean_text, hidden_problem
from contextasm.text.exchange.entry import LeftOutPart, SourceEntry
from contextasm.text.memories.fields import DAYS, DEFAULTS, FIELDS, LISTS
from contextasm.text.memories.writer import (
    parse_confidence,
    parse_importance,
    parse_items,
    parse_type,
    parse_value,
    quoted_value,
    secret_problem,
    storable_text,
)
from contextasm.text.names.dates import parse_leading_date


class CheckedEntry(NamedTuple):
    """An entry that can be stored as a memory."""

    where: str
    """Place in its file, for messages."""
    id: str
    text: str
    fields: Mapping[str, Any]
    """The stated fields, typed as those of `model.Memory`."""

    @property
    def memory(self) -> Memory:
        """The memory that it becomes in a file without front matter; its place is not known."""
        return Memory(self.id, "", 0, self.text, **self.fields)


class CheckedEntries(NamedTuple):
    """The entries of one import."""

    entries: tuple[CheckedEntry, ...]
    """In their order, no two with one id."""
    problems: tuple[Problem, ...]
    """Of hidden characters that were removed, of secrets that were masked."""
    left_out: tuple[LeftOutPart, ...]
    """What stands in the files and in no entry, in its order."""


def checked_entries(items: Iterable[SourceEntry | LeftOutPart]) -> CheckedEntries:
    """The entries among the items, checked. One that is there twice with equal content is taken once.

    Raises `ContextasmError`, with the place, for a text or a value that no memory can have, and for an id that two
    different entries have.
    """
    problems: list[Problem] = []
    by_id: dict[str, CheckedEntry] = {}
    left_out: list[LeftOutPart] = []
    for item in items:
        if isinstance(item, LeftOutPart):
            left_out.append(item)
            continue
        checked = _checked(item, problems)
        first = by_id.setdefault(checked.id, checked)
        if first[1:] != checked[1:]:
            what = f"{checked.id} is the id of another entry, too, at {first.where}"
            raise ContextasmError(f"{item.where}: id", what, "give each its own id")
    return CheckedEntries(tuple(by_id.values()), tuple(problems), tuple(left_out))


def _checked(entry: SourceEntry, problems: list[Problem]) -> CheckedEntry:
    text = storable_text(entry.text, f"{entry.where}: text", masks=True)
    problems += text.problems
    name = _word(_cleaned(entry.id, f"{entry.where}: id", problems), f"{entry.where}: id")
    if not name:
        raise ContextasmError(f"{entry.where}: id", "is empty", "give each entry its own id")
    fields: dict[str, object] = {}
    for key, written in entry.fields.items():
        where = f"{entry.where}: {key}"
        value = _PARSERS[key](_cleaned(written, where, problems), where)
        if value not in ("", ()):
            fields[key] = value
    return CheckedEntry(entry.where, name, text.text, fields)


def _cleaned(value: object, where: str, problems: list[Problem]) -> object:
    """The value with its texts cleaned and masked; problems are added."""
    if isinstance(value, list):
        return [_cleaned(item, where, problems) for item in value]
    if not isinstance(value, str) or (value.isascii() and value.isalnum() and len(value) < _SHORT):
        return value
    clean = clean_text(value)
    problems += (hidden_problem(where, run) for run in clean.hidden if run.kind != "blank")
    problems += (secret_problem(where, secret, masked=True) for secret in clean.secrets)
    return clean.text


_SHORT = 16
"""Characters; a shorter word of letters and digits holds no secret."""


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ContextasmError(where, "is not text", "give it in quotes")
    return value.strip()


def _word(value: object, where: str) -> str:
    word = _text(value, where)
    return parse_value(word, where) if word else ""


def _words(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ContextasmError(where, "is not a list of words", 'write ["one", "two"]')
    return parse_items((_text(item, where) for item in value), where)


def _type(value: object, where: str) -> str:
    word = _text(value, where)
    return parse_type(word, where) if word else ""


def _status(value: object, where: str) -> str:
    return _word(value, where).casefold()


def _day(value: object, where: str) -> str:
    written = _text(value, where)
    day = parse_leading_date(written)
    if written and day is None:
        raise ContextasmError(where, f"{quoted_value(written)} is no date", "write it as YYYY-MM-DD")
    return str(day or "")


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise ContextasmError(where, "is neither true nor false", "write it without quotes")
    return value


_PARSERS: Mapping[str, Callable[[object, str], object]] = {
    **dict.fromkeys(FIELDS, _word),
    **{name: _flag for name, default in DEFAULTS.items() if default is False},
    **dict.fromkeys(LISTS, _words),
    **dict.fromkeys(DAYS, _day),
    "type": _type,
    "importance": parse_importance,
    "status": _status,
    "confidence": parse_confidence,
}
"""For each field of a memory, the function that checks its value."""
