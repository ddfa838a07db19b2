"""Memories as another program stored them, and as a file of ours can hold them: clean and with checked fields.

The readers of all formats share what is here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

from contextasm.model import ContextasmError, Memory, NamedTuple, Parse, Problem
from contextasm.text.cleaning.clean import clean_text, removal_problems
from contextasm.text.json_reader import load_json
from contextasm.text.memories.parser import DAYS, DEFAULTS, FIELDS, LISTS, unknown_status
from contextasm.text.memories.writer import (
    is_type,
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


class SourceFile(NamedTuple):
    """A file of another program."""

    name: str
    """As messages name it."""
    text: str
    """With LF line ends, without a byte order mark and without a managed block."""
    digest: str = ""
    """SHA-256 of its bytes, in hexadecimal; empty if nobody asks for it."""

    @property
    def stem(self) -> str:
        """The last part of its name without `.md`."""
        return self.name.rpartition("/")[2].removesuffix(".md")


class SourceEntry(NamedTuple):
    """One memory of a file, with the fields that the file states."""

    where: str
    """Place in the file, for messages: `FILE:LINE`, or `FILE: KEY`."""
    id: str
    """Never empty: if the file gives it none, `derived_id` of what the file has of it."""
    text: str
    fields: Mapping[str, Any]
    """Values by names of fields of `model.Memory`: as written, or typed after a check. One not stated is missing."""

    @property
    def memory(self) -> Memory:
        """The memory that a checked entry becomes in a file without front matter; its place is not known."""
        return Memory(self.id, "", 0, self.text, **self.fields)


class LeftOutPart(NamedTuple):
    """A part of a file that is in no memory."""

    where: str
    """Place in the file, for messages: `FILE:LINE`, or `FILE: KEY`."""
    what: str
    """What it is, such as `rule` or `key metadata`: parts of one kind are counted together."""


Read = Callable[[Sequence[SourceFile], Parse], Iterator[SourceEntry | LeftOutPart]]
"""Takes files of one format and the reader of YAML. Raises `ContextasmError` for broken input.

Gives the entries, and all that is in none: each line that is not blank, and each key that has a value.
"""

_UNFIT = re.compile(r"[\x00-\x1f\x7f\"{},]+")


def fitting_word(text: str) -> str:
    """A foreign name as a field of a memory can hold it: blanks in place of quotes, braces and commas."""
    return " ".join(_UNFIT.sub(" ", text).split())


def fitting_words(texts: Iterable[object]) -> list[str]:
    """Foreign names as tags, each once; what is not text, or is empty, is left out."""
    words = (fitting_word(text) for text in texts if isinstance(text, str))
    return [*dict.fromkeys(word for word in words if word)]


def fitting_type(text: object) -> str:
    """A foreign name as the type of a memory; empty if it can't be one."""
    return text.strip() if isinstance(text, str) and is_type(text.strip()) else ""


def derived_id(prefix: str, *parts: str) -> str:
    """The id of an entry that its program gives none: equal parts have equal ids."""
    return f"{prefix}-" + sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:12]


def unread_keys(data: Mapping[str, object], read: Collection[str], where: str) -> Iterator[LeftOutPart]:
    """The keys of an object that have a value and that its format does not read."""
    unread = (key for key, value in data.items() if key not in read and value not in _EMPTY)
    return (LeftOutPart(where, f"key {fitting_word(clean_text(str(key)).text)[:_LONGEST_KEY]}") for key in unread)


_LONGEST_KEY = 80
"""Characters."""
_EMPTY: Sequence[object] = (None, "", [], {})


def only_file(files: Sequence[SourceFile]) -> SourceFile:
    """The file of a format that has one. Raises `ContextasmError` for several."""
    if len(files) > 1:
        raise ContextasmError(files[0].name, f"comes with {len(files) - 1} other files", "name one file")
    return files[0]


def json_lines(file: SourceFile) -> Iterator[tuple[str, dict[str, object]]]:
    """The object in each line that is not blank, with its place. Raises `ContextasmError`, with the line."""
    for number, line in enumerate(file.text.split("\n"), 1):
        if line.strip():
            where = f"{file.name}:{number}"
            try:
                value = load_json(line, where)
            except ContextasmError as error:
                # Within one line, the reader's own line number is always 1.
                raise ContextasmError(where, error.what, error.hint) from error
            yield where, required_object(value, where)


def required_object(value: object, where: str) -> dict[str, object]:
    """A JSON object. Raises `ContextasmError` for any other value."""
    if not isinstance(value, dict):
        raise ContextasmError(where, "is not a JSON object", "correct it, or choose the format of the file")
    return value


def required_list(value: object, where: str) -> list[object]:
    """A JSON array. Raises `ContextasmError` for any other value."""
    if not isinstance(value, list):
        raise ContextasmError(where, "is not a list", "correct it, or choose the format of the file")
    return value


def required_text(data: Mapping[str, object], key: str, where: str) -> str:
    """A text that an object must have. Raises `ContextasmError` if it is missing, empty or not text."""
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        what = "is missing" if value is None else "is empty" if isinstance(value, str) else "is not text"
        raise ContextasmError(f"{where}: {key}", what, "correct it, or choose the format of the file")
    return value


def stated_day(data: Mapping[str, object], key: str, where: str) -> str:
    """The day that a date or time begins with, YYYY-MM-DD, in its own time zone; empty for none.

    Raises `ContextasmError` for anything else.
    """
    value = data.get(key)
    return "" if value in (None, "") else required_day(value, f"{where}: {key}")


def required_day(written: object, where: str) -> str:
    """The day that a date or time begins with, YYYY-MM-DD. Raises `ContextasmError` for anything else."""
    day = parse_leading_date(written) if isinstance(written, str) else None
    if day is None:
        raise ContextasmError(where, f"{quoted_value(written)} is not a date", "write it as YYYY-MM-DD")
    return str(day)


def differing_fields(memory: Memory, entry: SourceEntry) -> tuple[str, ...]:
    """Names of the fields, `text` among them, that an entry states otherwise than a memory has them."""
    text = ("text",) if memory.text.strip() != entry.text else ()
    return (*text, *(name for name, value in entry.fields.items() if getattr(memory, name) != value))


def stated(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that have a value; empty texts and lists state nothing."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], ())}


class CheckedEntries(NamedTuple):
    """The entries of one import."""

    entries: tuple[SourceEntry, ...]
    """In their order, no two with one id."""
    problems: tuple[Problem, ...]
    """Of hidden characters that were removed, of secrets that were masked."""
    left_out: tuple[LeftOutPart, ...]
    """What is in the files and in no entry, in its order."""
    places: Mapping[str, Sequence[str]]
    """By id, the places of an entry; several for one that is there again."""


def checked_entries(items: Iterable[SourceEntry | LeftOutPart]) -> CheckedEntries:
    """The entries among the items, checked. One that is there twice with equal content is taken once.

    Raises `ContextasmError`, with the place, for a text or a value that no memory can have, and for an id that two
    different entries have.
    """
    problems: list[Problem] = []
    by_id: dict[str, SourceEntry] = {}
    left_out: list[LeftOutPart] = []
    places: dict[str, list[str]] = {}
    for item in items:
        if isinstance(item, LeftOutPart):
            left_out.append(item)
            continue
        checked = _checked(item, problems)
        first = by_id.setdefault(checked.id, checked)
        if first[1:] != checked[1:]:
            what = f"the id {checked.id} is also used at {first.where}"
            raise ContextasmError(f"{item.where}: id", what, "give each entry its own id")
        places.setdefault(checked.id, []).append(checked.where)
    return CheckedEntries(tuple(by_id.values()), tuple(problems), tuple(left_out), places)


def _checked(entry: SourceEntry, problems: list[Problem]) -> SourceEntry:
    text, text_problems = storable_text(entry.text, f"{entry.where}: text", masks=True)
    problems += text_problems
    name = _word(_cleaned(entry.id, f"{entry.where}: id", problems), f"{entry.where}: id")
    if not name:
        raise ContextasmError(f"{entry.where}: id", "is empty", "give each entry its own id")
    fields: dict[str, object] = {}
    for key, written in entry.fields.items():
        where = f"{entry.where}: {key}"
        value = _PARSERS[key](_cleaned(written, where, problems), where)
        if value not in ("", ()):
            fields[key] = value
    if "status" in fields and (unknown := unknown_status(str(fields["status"]))):
        problems.append(Problem("bad-memory", entry.where, 0, *unknown))
    return SourceEntry(entry.where, name, text, fields)


def _cleaned(value: object, where: str, problems: list[Problem]) -> object:
    """The value with its texts cleaned and masked; problems are added."""
    if isinstance(value, list):
        return [_cleaned(item, where, problems) for item in value]
    if not isinstance(value, str) or (value.isascii() and value.isalnum() and len(value) < _SHORT):
        return value
    clean = clean_text(value)
    problems += removal_problems(where, clean.hidden)
    problems += (secret_problem(where, secret, masked=True) for secret in clean.secrets)
    return clean.text


_SHORT = 16
"""Characters; a shorter word of letters and digits holds no secret."""


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ContextasmError(where, "is not text", "give it in quotes")
    return value.strip()


def _word(value: object, where: str, parse: Callable[[str, str], str] = parse_value) -> str:
    word = _text(value, where)
    return parse(word, where) if word else ""


def _words(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ContextasmError(where, "is not a list of words", 'write ["one", "two"]')
    return parse_items((_text(item, where) for item in value), where)


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise ContextasmError(where, "is neither true nor false", "write it without quotes")
    return value


_PARSERS: Mapping[str, Callable[[object, str], object]] = {
    **dict.fromkeys(FIELDS, _word),
    **{name: _flag for name, default in DEFAULTS.items() if default is False},
    **dict.fromkeys(LISTS, _words),
    **dict.fromkeys(DAYS, partial(_word, parse=required_day)),
    "type": partial(_word, parse=parse_type),
    "importance": parse_importance,
    "status": lambda value, where: _word(value, where).casefold(),
    "confidence": parse_confidence,
}
"""For each field of a memory, the function that checks its value."""
