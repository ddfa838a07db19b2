"""Fields of a memory: their names, and their values as written become those of a `Memory`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any

from contextasm.model import Memory, Problem
from contextasm.text.markdown.front_matter import Value
from contextasm.text.names.dates import parse_leading_date

ID_NUMBER = "~[0-9]+"
"""Pattern of what makes the id of a second memory another one; digits of other scripts are part of a name."""

_NUMBERS = re.compile(rf"(?:{ID_NUMBER})+\Z")

STORE_PAGE = re.compile(r"([0-9]{4}-[0-9]{2}\.(?:private\.)?)([0-9]{6})\.[^/]+\.md")
"""The name of a page of a shared store: month and privacy, number, role. There a private memory may have the id of an
open one of another role."""


def distinct_memories(memories: Iterable[Memory]) -> tuple[tuple[Memory, ...], tuple[Problem, ...]]:
    """The memories, each with an id of its own: the id of a second memory with one id ends in `~2`.

    An id that two memories were given by hand is a problem (`is_given_by_hand`).
    """
    parsed = [*memories]
    distinct: list[Memory] = []
    problems: list[Problem] = []
    for memory, unique_id in zip(parsed, unique_ids([memory.id for memory in parsed]), strict=True):
        if unique_id != memory.id and is_given_by_hand(memory):
            problems.append(duplicate_id_problem(memory.id, memory.path, memory.line))
        distinct.append(memory if unique_id == memory.id else memory._replace(id=unique_id))
    return tuple(distinct), tuple(problems)


def is_given_by_hand(memory: Memory) -> bool:
    """Whether a person chose the id: not that of a memory without one, nor that of a page of a store."""
    is_named = memory.id != memory_id(memory.path, memory.text)
    return is_named and not STORE_PAGE.fullmatch(memory.path.rpartition("/")[2])


def unique_ids(ids: Iterable[str]) -> list[str]:
    """Ids of which no two are equal: a second one ends in `~2`, a third one in `~3`."""
    unique: dict[str, None] = {}
    next_number: dict[str, int] = {}
    for name in ids:
        free, number = name, next_number.get(name, 2)
        while free in unique:
            free, number = f"{name}~{number}", number + 1
        next_number[name] = number
        unique[free] = None
    return [*unique]


def id_root(name: str) -> str:
    """An id without the numbers that make it another than an earlier one. Ids of different roots never meet."""
    return _NUMBERS.sub("", name) if "~" in name else name


def duplicate_id_problem(name: str, path: str, line: int) -> Problem:
    """Problem of a memory that was given an id by hand which an earlier memory has."""
    return Problem("duplicate-id", path, line, f"id {name} is taken by an earlier memory", "give it another")


def memory_id(path: str, text: str) -> str:
    """Id of a memory that names none: the same wherever in its file the text stands."""
    return "m-" + sha256(f"{path}\0{text.strip()}".encode(errors="surrogatepass")).hexdigest()[:12]


FIELDS = [name for name in Memory._fields if name not in {"path", "line", "text"}]
"""Names of the fields that a memory may set (man/ctxasm.yaml.5, MEMORIES)."""

DEFAULTS: Mapping[str, object] = Memory._field_defaults
"""What a field means that is not set; an id has no default."""

LISTS = tuple(name for name, default in DEFAULTS.items() if default == ())
"""Names of the fields that take several words."""

_FLAGS = tuple(name for name, default in DEFAULTS.items() if default is False)

DAYS = ("created", "accessed", "expires")
"""Names of the fields that are days."""

IMPORTANCE = {"low": 0.25, "medium": 0.5, "high": 0.75, "critical": 1.0}
"""Importance in words (digest, X8)."""

CONFIDENCE = {"low": 0.3, "medium": 0.5, "high": 0.8}
"""Confidence in words (digest 1.6)."""

YES = {"true": True, "yes": True, "false": False, "no": False}


class FieldReport:
    """The problems of one file's memories."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.problems: list[Problem] = []

    def add(self, line: int, message: str, hint: str = "", code: str = "bad-memory") -> None:
        """Add a problem of a line."""
        self.problems.append(Problem(code, self._path, line, message, hint))


def memory_of_fields(path: str, line: int, text: str, fields: Mapping[str, Value], report: FieldReport) -> Memory:
    """A memory from its text and its fields as written; a field that can't be read is reported and left out."""
    values: dict[str, Any] = {name: _read(name, fields[name], line, report) for name in FIELDS if name in fields}
    stated = {name: value for name, value in values.items() if value is not None}
    return Memory(stated.pop("id", None) or memory_id(path, text), path, line, text, **stated)


def _read(name: str, written: Value, line: int, report: FieldReport) -> object:
    """The value of a field; None where it has none, or one that can't be read."""
    if name in LISTS:
        parts = written.split(",") if isinstance(written, str) else written
        return tuple(part.strip() for part in parts if part.strip())
    word = (written if isinstance(written, str) else ", ".join(written)).strip()
    if not word or name not in _PARSERS:
        return word or None
    parse, form, code = _PARSERS[name]
    value = parse(word)
    if value is None:
        report.add(line, f"{name} is {word}, not {form}", code=code)
    return value


def importance_of(front: Mapping[str, Value]) -> float:
    """The importance that front matter states, 0 to 1; that of a memory without one where none can be read."""
    stated = {"importance": front["importance"]} if "importance" in front else {}
    return memory_of_fields("", 0, "", stated, FieldReport("")).importance


def _day(written: str) -> str | None:
    day = parse_leading_date(written)
    return str(day) if day else None


def _share(written: str, words: Mapping[str, float]) -> float | None:
    if written.casefold() in words:
        return words[written.casefold()]
    try:
        value = float(written)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _share_form(words: Iterable[str]) -> str:
    *others, last = words
    return f"a number from 0 to 1, {', '.join(others)} or {last}"


_PARSERS: Mapping[str, tuple[Callable[[str], object], str, str]] = {
    **dict.fromkeys(DAYS, (_day, "a date, YYYY-MM-DD", "bad-memory-date")),
    **dict.fromkeys(_FLAGS, (lambda written: YES.get(written.casefold()), "true or false", "bad-memory")),
    "importance": (partial(_share, words=IMPORTANCE), _share_form(IMPORTANCE), "bad-memory"),
    "confidence": (partial(_share, words=CONFIDENCE), _share_form(CONFIDENCE), "bad-memory"),
    "status": (str.casefold, "", ""),
}
"""For each field that is more than a word: its parser, what its value should be, the code of the problem of another."""
