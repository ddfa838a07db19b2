"""Memories as another program stored them, before they are checked; and what the readers of the formats share."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from contextasm.model import ContextasmError, Parse
from contextasm.text.cleaning.clean import clean_text
from contextasm.text.json_reader import load_json
from contextasm.text.memories.writer import is_type, quoted_value
from contextasm.text.names.dates import parse_leading_date


class SourceFile(NamedTuple):
    """A file of another program."""

    name: str
    """As messages name it."""
    text: str
    """With LF line ends, without a byte order mark."""

    @property
    def stem(self) -> str:
        """The last part of its name without `.md`."""
        return self.name.rpartition("/")[2].removesuffix(".md")


class SourceEntry(NamedTuple):
    """One memory of a file, with the fields that the file states."""

    where: str
    """Place in the file, for messages: `FILE:LINE`, or `FILE: KEY`."""
    id: str
    """Never empty: where the file gives it none, `derived_id` of what the file has of it."""
    text: str
    fields: Mapping[str, object]
    """Values by names of fields of `model.Memory`, as written; a field that is not stated is missing."""


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
    """Foreign names as tags, each once; what is no text, or empty, is left out."""
    words = (fitting_word(text) for text in texts if isinstance(text, str))
    return [*dict.fromkeys(word for word in words if word)]


def fitting_type(text: object) -> str:
    """A foreign name as the type of a memory; empty where it can be none."""
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
        raise ContextasmError(files[0].name, f"stands beside {len(files) - 1} other files", "name one file")
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
        raise ContextasmError(where, "is no JSON object", "correct it, or choose the format that the file has")
    return value


def required_list(value: object, where: str) -> list[object]:
    """A JSON array. Raises `ContextasmError` for any other value."""
    if not isinstance(value, list):
        raise ContextasmError(where, "is no list", "correct it, or choose the format that the file has")
    return value


def required_text(data: Mapping[str, object], key: str, where: str) -> str:
    """A text that an object must have. Raises `ContextasmError` where it is missing, empty or no text."""
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        what = "is missing" if value is None else "is empty" if isinstance(value, str) else "is not text"
        raise ContextasmError(f"{where}: {key}", what, "correct it, or choose the format that the file has")
    return value


def stated_day(data: Mapping[str, object], key: str, where: str) -> str:
    """The day that a date or time begins with, YYYY-MM-DD, in its own time zone; empty for none.

    Raises `ContextasmError` for anything else.
    """
    value = data.get(key)
    if value in (None, ""):
        return ""
    day = parse_leading_date(value) if isinstance(value, str) else None
    if day is None:
        raise ContextasmError(f"{where}: {key}", f"{quoted_value(value)} is no date", "write it as YYYY-MM-DD")
    return str(day)


def stated(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that have a value; empty texts and lists state nothing."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], ())}
