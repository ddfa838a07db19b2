"""Fields of a memory: their names, and their values as written become those of a `Memory`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

from contextasm.model import Memory, Problem, T
from contextasm.text.markdown.front_matter import Value
from contextasm.text.names.dates import parse_leading_date

ID_NUMBER = "~[0-9]+"
"""Pattern of what makes the id of a second memory another one; digits of other scripts are part of a name."""

_NUMBERS = re.compile(rf"(?:{ID_NUMBER})+\Z")


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
    """Whether a person chose the id: not that of a memory without one."""
    return memory.id != memory_id(memory.path, memory.text)


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
    written = _WrittenFields(fields, line, report)
    word, words, day = written.word, written.words, written.day
    return Memory(
        id=word("id") or memory_id(path, text),
        path=path,
        line=line,
        text=text,
        type=word("type", "note"),
        importance=written.share("importance", IMPORTANCE),
        created=day("created"),
        accessed=day("accessed"),
        status=word("status", "active").casefold(),
        confidence=written.share("confidence", CONFIDENCE),
        key=word("key"),
        tier=word("tier"),
        dedup=word("dedup"),
        tags=words("tags"),
        files=words("files"),
        private=written.is_set("private"),
        pin=written.is_set("pin"),
        supersedes=words("supersedes"),
        expires=day("expires"),
        superseded_by=word("superseded_by"),
        writer=word("writer"),
    )


class _WrittenFields:
    """Fields as they are written at a line of a file."""

    def __init__(self, fields: Mapping[str, Value], line: int, report: FieldReport) -> None:
        self._fields = fields
        self._line = line
        self._report = report

    # A memory states few of its fields: each method first looks whether there is one at all.

    def word(self, name: str, default: str = "") -> str:
        if name not in self._fields:
            return default
        value = self._fields[name]
        return (value if isinstance(value, str) else ", ".join(value)).strip() or default

    def words(self, name: str) -> tuple[str, ...]:
        if name not in self._fields:
            return ()
        value = self._fields[name]
        parts = value.split(",") if isinstance(value, str) else value
        return tuple(part.strip() for part in parts if part.strip())

    def day(self, name: str) -> str:
        if name not in self._fields:
            return ""
        parsed = self._parsed(name, parse_leading_date, "a date, YYYY-MM-DD", "bad-memory-date")
        return str(parsed) if parsed else ""

    def share(self, name: str, in_words: Mapping[str, float]) -> float:
        """A number from 0 to 1, or the word for one; 0.5 for none."""
        if name not in self._fields:
            return 0.5
        parsed = self._parsed(name, lambda value: _share_or_word(value, in_words), _share_form(in_words))
        return 0.5 if parsed is None else parsed

    def is_set(self, name: str) -> bool:
        if name not in self._fields:
            return False
        return bool(self._parsed(name, lambda value: YES.get(value.casefold()), "true or false"))

    def _parsed(self, name: str, parse: Callable[[str], T | None], form: str, code: str = "bad-memory") -> T | None:
        """The value of a field; None where it has none, or one that can't be read."""
        if not (written := self.word(name)):
            return None
        if (value := parse(written)) is None:
            self._report.add(self._line, f"{name} is {written}, not {form}", code=code)
        return value


def importance_of(front: Mapping[str, Value]) -> float:
    """The importance that front matter states, 0 to 1; 0.5 where it states none that can be read."""
    written = front.get("importance", "")
    stated = _share_or_word(written.strip(), IMPORTANCE) if isinstance(written, str) and written.strip() else None
    return 0.5 if stated is None else stated


def _share_form(words: Iterable[str]) -> str:
    *others, last = words
    return f"a number from 0 to 1, {', '.join(others)} or {last}"


def _share_or_word(written: str, words: Mapping[str, float]) -> float | None:
    if written.casefold() in words:
        return words[written.casefold()]
    try:
        value = float(written)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
