"""Memories as written in a file: the bullets of a list, or a whole file that is one memory, with their fields.

Parsing only. The steps decide which memories are shown, and in which order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from hashlib import sha256
from typing import Any

from contextasm.model import Document, Memory, MemoryDay, Problem
from contextasm.text.caching import cached_by_content
from contextasm.text.markdown.blocks import parts, trimmed, without_block_comments
from contextasm.text.markdown.front_matter import Value, attributes, broken_attributes
from contextasm.text.names.dates import parse_leading_date
from contextasm.text.names.matching import nearest

ID_NUMBER = "~[0-9]+"
"""Pattern of what makes the id of a second memory another one; digits of other scripts are part of a name."""

_NUMBERS = re.compile(rf"(?:{ID_NUMBER})+\Z")
_MADE_ID = re.compile("m-[0-9a-f]{12}")


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


def id_words(name: str) -> str:
    """The id of a memory if it may have words that a person chose, without the numbers that make it unique."""
    root = id_root(name)
    return "" if _MADE_ID.fullmatch(root) else root


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
    return Problem("duplicate-id", path, line, f"an earlier memory has the id `{name}`, too", "give it another id")


def memory_id(path: str, text: str) -> str:
    """Id of a memory that names none: the same at any place of the text in its file."""
    return "m-" + sha256(f"{path}\0{text.strip()}".encode(errors="surrogatepass")).hexdigest()[:12]


FIELDS = [name for name in Memory._fields if name not in {"path", "line", "text"}]
"""Names of the fields that a memory may set (man/ctxasm.yaml.5, MEMORIES)."""

DEFAULTS: Mapping[str, object] = Memory._field_defaults
"""What a field means that is not set; an id has no default."""

LISTS = tuple(name for name, default in DEFAULTS.items() if default == ())
"""Names of the fields that take several words."""

_FLAGS = tuple(name for name, default in DEFAULTS.items() if default is False)

DAYS = tuple(name for name, form in Memory.__annotations__.items() if form is MemoryDay)
"""Names of the fields that are days."""

VALIDITY = ("valid_from", "expires", "repositories")
"""Names of the fields that say when and where a memory holds: its first day, its last one, and repositories."""

WORDS = tuple(name for name in FIELDS if DEFAULTS.get(name, "") == "" and name not in DAYS)
"""Names of the fields that are a word, the id first, except those with a default, which are `type` and `status`."""

NUMBERS = tuple(name for name, default in DEFAULTS.items() if isinstance(default, float))

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
    """The value of a field; None if it has none, or one that can't be read."""
    if name in LISTS:
        parts = written.split(",") if isinstance(written, str) else written
        return tuple(part.strip() for part in parts if part.strip())
    word = (written if isinstance(written, str) else ", ".join(written)).strip()
    if not word or name not in _PARSERS:
        return word or None
    parse, form, code = _PARSERS[name]
    value = parse(word)
    if value is None:
        report.add(line, f"`{name}` is `{word}`, but must be {form}", code=code)
    return value


def memory_of_numbers(front: Mapping[str, Value]) -> Memory:
    """A memory with the numbers that front matter states, such as `confidence`; defaults for what can't be read."""
    stated = {name: front[name] for name in NUMBERS if name in front}
    return memory_of_fields("", 0, "", stated, FieldReport(""))


def _day(written: str) -> str | None:
    day = parse_leading_date(written)
    return str(day) if day else None


def parse_share(written: str, words: Mapping[str, float]) -> float | None:
    """The number from 0 to 1 that a text spells, or that a word means; None for any other text."""
    if written.casefold() in words:
        return words[written.casefold()]
    try:
        value = float(written)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _share_form(words: Iterable[str]) -> str:
    *others, last = words
    return f"a number from 0 to 1, or {', '.join(others)} or {last}"


_PARSERS: Mapping[str, tuple[Callable[[str], object], str, str]] = {
    **dict.fromkeys(DAYS, (_day, "a date (YYYY-MM-DD)", "bad-memory-date")),
    **dict.fromkeys(_FLAGS, (lambda written: YES.get(written.casefold()), "true or false", "bad-memory")),
    "importance": (partial(parse_share, words=IMPORTANCE), _share_form(IMPORTANCE), "bad-memory"),
    "confidence": (partial(parse_share, words=CONFIDENCE), _share_form(CONFIDENCE), "bad-memory"),
    "status": (str.casefold, "", ""),
}
"""For each field that is more than a word: its parser, what its value should be, the code of the problem of another."""


RESERVED_NAMES = {"index.md", "log.md"}
"""Names of files that the Open Knowledge Format reserves for lists of files and of changes."""


TYPE = re.compile(r"\[(?!masked:)([^\[\]()\s][^\[\]()]*)\](?:[ \t]+|$)(?!\()")
"""What states the type of a bullet at its start; the mask of a secret is part of the text."""

TASK_MARKS = {"x", "X", "-"}


@cached_by_content
def parse_memories(document: Document) -> tuple[tuple[Memory, ...], tuple[Problem, ...]]:
    """The memories of one file, in file order, and the problems in them.

    A file whose front matter has a `type` is one memory, unless it holds only observations. In any other each
    top-level bullet is one, and the front matter holds their defaults. Bullets in a comment of several lines are not
    memories, and neither are the bullets of `index.md` and `log.md`, which list the files of a folder and its changes.
    """
    report = FieldReport(document.path)
    if document.path.rpartition("/")[2] in RESERVED_NAMES:
        _report_unread(document, report)
        return (), tuple(report.problems)
    front = _memory_fields(document.front, report)
    if is_one_memory(document):
        blank, text = trimmed(document.text)
        memories = [memory_of_fields(document.path, document.line + blank, text, front, report)]
    else:
        bullets = _dated_bullets(without_block_comments(document.text).split("\n"))
        memories = [_memory_of_bullet(document, *bullet, front, report) for bullet in bullets]
    memories = [memory for memory in memories if memory.text.strip()]
    if document.text.strip() and not memories and not document.lacks_private:
        report.add(document.line, "holds no memory", "write each memory as a bullet, `- [type] text`", "no-memory")
    return tuple(memories), tuple(report.problems)


def _report_unread(document: Document, report: FieldReport) -> None:
    """Add a problem for a file of a reserved name in which a bullet states a type, as only a memory does."""
    bullets = _dated_bullets(without_block_comments(document.text).split("\n"))
    for first, lines, _ in bullets:
        if states_type(lines[0]):
            message = "is a memory, but memories are not read from files of this name"
            report.add(document.line + first, message, "give the file another name", "no-memory")
            return


def is_one_memory(document: Document) -> bool:
    """Whether a file is one memory as a whole, and its bullets are not: it has a `type`, and a text of its own."""
    return bool(document.front.get("type")) and not _holds_only_observations(document.text.split("\n"))


def _holds_only_observations(lines: Sequence[str]) -> bool:
    """Whether headings and bullets are all there is, and a bullet states its type or fields: `- [fact] text {id=x}`."""
    has_observation = False
    for part in parts(lines):
        if part.kind == "bullet":
            is_stated = (
                states_type(lines[part.first][1:].strip()) or attributes(lines[part.stop - 1])[1].keys() & FIELDS
            )
            has_observation = has_observation or bool(is_stated)
        elif part.kind != "heading" and lines[part.first].strip():
            return False
    return has_observation


def states_type(text: str) -> bool:
    """Whether the text of a bullet begins with its type, as in `[fact] text`; the mark of a task is not one."""
    kind = TYPE.match(text)
    return bool(kind and kind[1] not in TASK_MARKS)


def _memory_fields(front: Mapping[str, Value], report: FieldReport) -> dict[str, Value]:
    # Other keys belong to other tools; only one that is nearly a field is a slip.
    for key in front:
        if key not in FIELDS and (meant := nearest(key, FIELDS, 0.8)):
            report.add(1, f"unknown field `{key}` in the front matter", f"did you mean {meant}?")
    fields = {key: value for key, value in front.items() if key in FIELDS}
    stale = parse_leading_date(str(front.get("stale_after", "")))
    if stale and stale > date.min:  # as the Open Knowledge Format says it: the first day on which it no longer holds
        fields.setdefault("expires", str(stale - timedelta(days=1)))
    return fields


def _memory_of_bullet(
    document: Document, first: int, lines: list[str], day: str, front: Mapping[str, Value], report: FieldReport
) -> Memory:
    line = document.line + first
    lines[-1], stated = attributes(lines[-1])
    for name in stated:
        if name not in FIELDS:
            hint = nearest(name, FIELDS) or "one of " + ", ".join(FIELDS)
            report.add(line, f"unknown field `{name}`", f"did you mean {hint}?")
    if not stated and (broken := broken_attributes(lines[-1], FIELDS)):
        report.add(line, f"`{broken}` is shown as text", "write name=value, and quotes around blanks")
    kind = TYPE.match(lines[0])
    fields: dict[str, Value] = dict(front)
    if day:
        fields["created"] = day
    if kind and kind[1] not in TASK_MARKS:
        fields["type"] = kind[1].strip()
        lines[0] = lines[0][kind.end() :]
    fields |= {name: value for name, value in stated.items() if name in FIELDS}
    return memory_of_fields(document.path, line, "\n".join(lines).rstrip(), fields, report)


def _dated_bullets(lines: Sequence[str]) -> Iterator[tuple[int, list[str], str]]:
    """Line, counted from 0, text in lines without the list mark, and date of the heading above, of each bullet."""
    # A date holds for the bullets below its heading, up to the next heading of the same or a higher level.
    level, day = 0, ""
    for part in parts(lines):
        if part.kind == "heading":
            if stated := parse_leading_date(part.title):
                level, day = part.level, str(stated)
            elif part.level <= level:
                level, day = 0, ""
        elif part.kind == "bullet":
            first, *rest = lines[part.first : part.stop]
            yield part.first, [first[1:].strip(), *_without_list_indent(rest)], day


def _without_list_indent(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        indent = len(line) - len(line.lstrip(" \t"))
        yield line[min(indent, 2) :].rstrip()


ACTIVE_STATUSES = {"active", "approved", "stable"}
"""Statuses in which a memory may be shown; `stable` is what the Open Knowledge Format calls it."""

INACTIVE_STATUSES = {
    *("archived", "completed", "consolidated", "deprecated", "draft", "expired", "rejected", "review", "superseded"),
}
"""Statuses in which a memory is never shown; no other status is either, but any other is probably a slip."""

STATUSES = sorted(ACTIVE_STATUSES | INACTIVE_STATUSES)


def unknown_status(status: str) -> tuple[str, str] | None:
    """The fault of a status that is in neither list, and advice; None for a status that is in one."""
    if status in STATUSES:
        return None
    near = nearest(status, STATUSES, 0.7)
    hint = f"did you mean {near}?" if near else f"choose one of {', '.join(STATUSES)}"
    return f"its status `{status}` is unknown, so it is never shown", hint


def superseded_by(memories: Iterable[Memory]) -> dict[str, str]:
    """Ids that active memories supersede, each with the id of the memory that supersedes it."""
    return {old: memory.id for memory in memories if memory.status in ACTIVE_STATUSES for old in memory.supersedes}
