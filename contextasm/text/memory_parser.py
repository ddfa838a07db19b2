"""Memories as they stand in a file: the bullets of a list, or a whole file that is one memory.

Reading only. Which memories count, and in which order, is for the steps above to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from hashlib import sha256
from itertools import count
from typing import NamedTuple

from contextasm.model import Document, Memory, Problem
from contextasm.text.front_matter import Value, attributes
from contextasm.text.markdown import closes_fence, fence_opening, heading, trimmed
from contextasm.text.matching import nearest

FIELDS = [name for name in Memory._fields if name not in {"path", "line", "text"}]
"""What a memory may say about itself (docs/DESIGN.md section 2)."""

IMPORTANCE = {"low": 0.25, "medium": 0.5, "high": 0.75, "critical": 1.0}
"""Importance in words (digest, X8)."""

CONFIDENCE = {"low": 0.3, "medium": 0.5, "high": 0.8}
"""Confidence in words (digest 1.6)."""

YES = {"true": True, "yes": True, "false": False, "no": False}

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
TYPE = re.compile(r"\[([^\[\]()\s][^\[\]()]*)\](?:[ \t]+|$)(?!\()")
TASK_MARKS = {"x", "X", "-"}

Report = Callable[[int, str], None]
"""Takes a line of the file and what is wrong with it."""


class _Bullet(NamedTuple):
    """A top-level list item."""

    first: int
    """Its line in the document, counted from 0."""
    lines: tuple[str, ...]
    """Its text without the mark; blank lines at the end left off."""
    day: str
    """The date of the heading above it; empty for none."""


def parse_memories(document: Document) -> tuple[tuple[Memory, ...], tuple[Problem, ...]]:
    """The memories of one file, in file order, and what is wrong with them.

    A file whose front matter has a `type` is one memory. In any other each top-level bullet is one, and the front
    matter holds their defaults.
    """
    problems: list[Problem] = []

    def report(line: int, message: str) -> None:
        problems.append(Problem("bad-memory", document.path, line, message))

    front = _known(document.front, report)
    if front.get("type"):
        found = [_one_a_file(document, front, report)]
    else:
        found = [_from_bullet(document, bullet, front, report) for bullet in _bullets(document.text.split("\n"))]
    found = [memory for memory in found if memory.text.strip()]
    if document.text.strip() and not found:
        message = "holds no memory; write each as a bullet, `- [type] text`"
        problems.append(Problem("no-memory", document.path, document.line, message))
    return tuple(found), tuple(problems)


def distinct_memories(found: Iterable[Memory]) -> tuple[tuple[Memory, ...], tuple[Problem, ...]]:
    """The memories with one id each: a second one of the same id gets `~2` behind it.

    Two equal bullets of a file do so in silence; two that were given the same id by hand are a problem.
    """
    every = [*found]
    own: list[Memory] = []
    problems: list[Problem] = []
    for memory, free in zip(every, unique_ids([memory.id for memory in every]), strict=True):
        if free != memory.id and memory.id != memory_id(memory.path, memory.text):
            problems.append(duplicate_id_problem(memory.id, memory.path, memory.line))
        own.append(memory if free == memory.id else memory._replace(id=free))
    return tuple(own), tuple(problems)


def unique_ids(ids: Iterable[str]) -> list[str]:
    """Ids of which no two are the same: behind a second one stands `~2`."""
    own: dict[str, None] = {}
    for each in ids:
        free = each if each not in own else next(new for n in count(2) if (new := f"{each}~{n}") not in own)
        own[free] = None
    return [*own]


def duplicate_id_problem(name: str, path: str, line: int) -> Problem:
    """The problem of a memory that was given an id by hand which an earlier one has."""
    return Problem("duplicate-id", path, line, f"id {name} is taken by an earlier memory; give it another")


def memory_id(path: str, text: str) -> str:
    """The id of a memory that gives none: the same wherever in its file the text stands."""
    return "m-" + sha256(f"{path}\0{text.strip()}".encode(errors="surrogatepass")).hexdigest()[:12]


def _known(front: Mapping[str, Value], report: Report) -> dict[str, Value]:
    """The fields among the front matter's keys; a key that is nearly one of them is reported."""
    for key in front:
        if key not in FIELDS and (meant := nearest(key, FIELDS, 0.8)):
            report(1, f"unknown field {key} in the front matter; did you mean {meant}?")
    return {key: value for key, value in front.items() if key in FIELDS}


def _one_a_file(document: Document, front: Mapping[str, Value], report: Report) -> Memory:
    """The memory that a whole file is."""
    blank, text = trimmed(document.text)
    return _memory(document.path, document.line + blank, text, front, report)


def _from_bullet(document: Document, bullet: _Bullet, front: Mapping[str, Value], report: Report) -> Memory:
    """The memory that a list item is."""
    line = document.line + bullet.first
    last, stated = attributes(bullet.lines[-1])
    for name in stated:
        if name not in FIELDS:
            hint = nearest(name, FIELDS) or "one of " + ", ".join(FIELDS)
            report(line, f"unknown field {name}; did you mean {hint}?")
    lines = [*bullet.lines[:-1], last]
    found = TYPE.match(lines[0])
    given: dict[str, Value] = dict(front)
    if bullet.day:
        given["created"] = bullet.day
    if found and found[1] not in TASK_MARKS:
        given["type"] = found[1].strip()
        lines[0] = lines[0][found.end() :]
    given |= {name: value for name, value in stated.items() if name in FIELDS}
    return _memory(document.path, line, "\n".join(lines).rstrip(), given, report)


def _memory(path: str, line: int, text: str, given: Mapping[str, Value], report: Report) -> Memory:
    """A memory from its text and the fields given as words; a field that can't be read is reported and left out."""

    def word(name: str, default: str = "") -> str:
        value = given.get(name, default)
        return (value if isinstance(value, str) else ", ".join(value)).strip() or default

    def words(name: str) -> tuple[str, ...]:
        value = given.get(name, ())
        parts = value.split(",") if isinstance(value, str) else value
        return tuple(part.strip() for part in parts if part.strip())

    def of(name: str, read: Callable[[str], Value | float | bool | None], default: object, form: str) -> object:
        if not (written := word(name)):
            return default
        if (value := read(written)) is None:
            report(line, f"{name} is {written}, not {form}")
            return default
        return value

    return Memory(
        id=word("id") or memory_id(path, text),
        path=path,
        line=line,
        text=text,
        type=word("type", "note"),
        importance=_float(of("importance", lambda value: _share(value, IMPORTANCE), 0.5, _SHARE)),
        created=str(of("created", _day, "", "a date, YYYY-MM-DD")),
        accessed=str(of("accessed", _day, "", "a date, YYYY-MM-DD")),
        status=word("status", "active").casefold(),
        confidence=_float(of("confidence", lambda value: _share(value, CONFIDENCE), 0.5, _SHARE)),
        key=word("key"),
        tier=word("tier"),
        dedup=word("dedup"),
        tags=words("tags"),
        files=words("files"),
        private=bool(of("private", lambda value: YES.get(value.casefold()), False, "true or false")),
        pin=bool(of("pin", lambda value: YES.get(value.casefold()), False, "true or false")),
        supersedes=words("supersedes"),
        expires=str(of("expires", _day, "", "a date, YYYY-MM-DD")),
    )


_SHARE = "a number from 0 to 1, low, medium or high"


def _float(value: object) -> float:
    """A value that `of` read as a share of one."""
    assert isinstance(value, float)
    return value


def _share(written: str, words: Mapping[str, float]) -> float | None:
    """A number from 0 to 1, or the word for one."""
    if written.casefold() in words:
        return words[written.casefold()]
    try:
        value = float(written)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _day(written: str) -> str | None:
    """The day of a date or of a time, as YYYY-MM-DD."""
    found = _DAY.match(written)
    try:
        return date.fromisoformat(found[0]).isoformat() if found else None
    except ValueError:
        return None


def _bullets(lines: Sequence[str]) -> Iterator[_Bullet]:
    """The top-level bullets of a text given as lines, each with the date of the heading above it."""
    at, level, day = 0, 0, ""
    while at < len(lines):
        line = lines[at]
        if fence := fence_opening(line):
            at = _behind_fence(lines, at, fence[1])
        elif title := heading(line):
            if stated := _day(title[1]):
                level, day = title[0], stated
            elif title[0] <= level:
                level, day = 0, ""
            at += 1
        elif _is_bullet(line):
            stop = bullet_end(lines, at)
            yield _Bullet(at, (line[1:].strip(), *_dedented(lines[at + 1 : stop])), day)
            at = stop
        else:
            at += 1


def _is_bullet(line: str) -> bool:
    """Whether a line begins a list item at the left margin."""
    return line[:1] in {"-", "*", "+"} and line[1:2] in {" ", "\t"} and bool(line[1:].strip(" \t-*"))


def bullet_end(lines: Sequence[str], at: int) -> int:
    """The line behind an item: it holds what is indented, and what follows its text without a blank line."""
    stop = at + 1
    blank = False
    while stop < len(lines):
        line = lines[stop]
        indented = line[:1] in {" ", "\t"} and bool(line.strip())
        if indented and (fence := fence_opening(line)):
            # A fence that is never closed ends at the next item (CommonMark), or it would swallow the memories below.
            beyond = next((n for n in range(stop, len(lines)) if _is_bullet(lines[n])), len(lines))
            stop, blank = min(_behind_fence(lines, stop, fence[1]), beyond), False
            continue
        if not indented and line.strip() and (blank or _is_bullet(line) or heading(line) or fence_opening(line)):
            break
        blank = not line.strip()
        stop += 1
    while not lines[stop - 1].strip():
        stop -= 1
    return stop


def _behind_fence(lines: Sequence[str], at: int, ticks: str) -> int:
    """The line behind the fence that line `at` opens."""
    return next((n + 1 for n in range(at + 1, len(lines)) if closes_fence(lines[n], ticks)), len(lines))


def _dedented(lines: Sequence[str]) -> Iterator[str]:
    """Continuation lines without the indent that the list mark asks for."""
    for line in lines:
        indent = len(line) - len(line.lstrip(" \t"))
        yield line[min(indent, 2) :].rstrip()


ACTIVE_STATUSES = {"active", "approved"}
"""The states in which a memory may be shown."""


def superseded_by(found: Iterable[Memory]) -> dict[str, str]:
    """The ids that a memory which counts takes the place of, each with that memory's id."""
    return {old: memory.id for memory in found if memory.status in ACTIVE_STATUSES for old in memory.supersedes}
