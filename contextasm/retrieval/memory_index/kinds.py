"""Kinds of entries that an index can hold: how a file is parsed to entries, and what the index stores of each.

An entry is a named tuple of values that JSON can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from contextasm.model import Document, Label, Location, Memory, Problem, ScoreInputs
from contextasm.retrieval.pools.log_pool import line_entry, line_inputs, log_day, parse_lines
from contextasm.retrieval.pools.memory_pool import index_entry, memory_labels, score_inputs
from contextasm.retrieval.search.inverted_index import IndexEntry
from contextasm.text.markdown.logs import LogLine
from contextasm.text.memories.fields import is_given_by_hand
from contextasm.text.memories.parser import parse_memories


class EntryState(NamedTuple):
    """The facts of an entry that decide on other entries."""

    id: str
    line: int
    status: str
    supersedes: tuple[str, ...]


class EntryKind(NamedTuple):
    """How the entries of one kind are parsed, indexed and stored."""

    parse: Callable[[Document], tuple[Sequence[Any], Sequence[Problem]]]
    """The entries of a file in their order, and its problems."""
    state: Callable[[Any], EntryState]
    is_given: Callable[[Any], bool]
    """Whether the id of an entry was written by hand."""
    finish: Callable[[Any, str], tuple[Any, ...]]
    """An entry with its final id: two entries of a pool have no id in common."""
    restore: Callable[[Sequence[Any]], Any]
    """The entry of its values, tuples as lists."""
    index_entry: Callable[[Any], IndexEntry]
    score_inputs: Callable[[Any], ScoreInputs]
    is_marked: Callable[[Any], bool]
    labels: Callable[[Any], Sequence[Label]]


def _memory_state(memory: Memory) -> EntryState:
    return EntryState(memory.id, memory.line, memory.status, memory.supersedes)


def _restored_memory(values: Sequence[Any]) -> Memory:
    return Memory._make(tuple(value) if isinstance(value, list) else value for value in values)


def _line_state(line: LogLine) -> EntryState:
    # Nothing decides on a line: no two stand at one place, and none takes another's.
    return EntryState(f"{line.path}:{line.line}", line=line.line, status="active", supersedes=())


def _restored_line(values: Sequence[Any]) -> LogLine:
    (path, line, rows, gaps), text, is_heading = values
    return LogLine(Location(path, line, rows, tuple((first, last) for first, last in gaps)), text, is_heading)


KINDS: Mapping[str, EntryKind] = {
    "memories": EntryKind(
        parse=parse_memories,
        state=_memory_state,
        is_given=is_given_by_hand,
        finish=lambda memory, final_id: memory if memory.id == final_id else memory._replace(id=final_id),
        restore=_restored_memory,
        index_entry=index_entry,
        score_inputs=score_inputs,
        is_marked=lambda memory: memory.pin,
        labels=memory_labels,
    ),
    "log-lines": EntryKind(
        parse=parse_lines,
        state=_line_state,
        is_given=lambda _line: False,
        finish=lambda line, _id: line,
        restore=_restored_line,
        index_entry=lambda line: line_entry(line, log_day(line.path)),
        score_inputs=lambda line: line_inputs(log_day(line.path)),
        is_marked=lambda line: line.is_heading,
        labels=lambda _line: (),
    ),
}
"""Kinds by name."""
