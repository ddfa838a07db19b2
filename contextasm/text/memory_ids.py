"""Ids of memories: those that name none get one, and no two have the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from contextasm.model import Memory, Problem

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
