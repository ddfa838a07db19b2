"""Bringing a kept pool up to date: files that went are taken out, files that came are taken in.

A file whose memories stand otherwise because of another file, being superseded or sharing an id, is taken in anew.
Works inside the caller's transaction, and opens no file that did not change.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from contextasm.model import Memory, Problem, Reason
from contextasm.retrieval.memory_index.schema import (
    KINDS,
    Numbers,
    as_blob,
    create_tables,
    halves,
    load_columns,
    load_value,
    save_value,
    seal,
)
from contextasm.retrieval.memory_pool import count_reasons, exclusion_reasons, index_entry, score_inputs
from contextasm.retrieval.search.dates import day_number
from contextasm.retrieval.search.inverted_index import count_terms
from contextasm.text.memory_parser import duplicate_id_problem, memory_id, unique_ids

_HOLES = 1000
"""Rows of files that went stay empty; with more of them than rows in use, and than this, everything is made again."""


class IndexedFile(NamedTuple):
    """A file as it is now."""

    digest: str
    """Of its bytes, or of what keeps it from being read."""
    memories: tuple[Memory, ...]
    problems: tuple[Problem, ...]


class _Known(NamedTuple):
    """What of a memory decides on others, and what was decided on it."""

    path: str
    place: int
    id: str
    given: bool
    """Whether its id was written by hand."""
    line: int
    status: str
    supersedes: tuple[str, ...]
    final: str
    out: str


class _Settled(NamedTuple):
    """The whole pool, with ids and states settled."""

    ids: Mapping[str, Sequence[str]]
    """By path."""
    outs: Mapping[str, Sequence[Reason | None]]
    known: Sequence[_Known]
    duplicates: Sequence[Problem]
    affected: frozenset[str]
    """Paths that were taken in already, of which something is no longer as stored."""


class _State(NamedTuple):
    """What an update works on: the columns as stored, and the postings still to be written."""

    held: dict[str, Numbers]
    dates: dict[str, int]
    numbers: dict[str, int]
    added: dict[int, tuple[Numbers, Numbers]]


def update_index(
    store: sqlite3.Connection, stamps: Mapping[str, str], page: Callable[[str], IndexedFile], *, new: bool
) -> None:
    """Hold exactly the files of `stamps`, in that order."""
    if new:
        create_tables(store)
    known = {path: (stamp, digest) for path, stamp, digest in store.execute("SELECT path, stamp, digest FROM files")}
    gone = known.keys() - stamps.keys()
    come = {path for path, stamp in stamps.items() if path not in known or not stamp or known[path][0] != stamp}
    renew = {path for path in come & known.keys() if page(path).digest == known[path][1]}
    come -= renew
    if not new and _mostly_holes(store, {*gone, *come}):
        update_index(store, stamps, page, new=True)
        return
    settled = _settled(store, stamps, come, page)
    while settled.affected:
        come |= settled.affected
        settled = _settled(store, stamps, come, page)
    dates: Any = load_value(store, "dates", [""])
    state = _State(load_columns(store), {date: place for place, date in enumerate(dates)}, {}, {})
    touched, dead = _take_out(store, sorted({*gone, *(come & known.keys())}), state.held)
    for path in (path for path in stamps if path in come):
        _take_in(store, path, stamps[path], page(path), settled, state)
    store.executemany("UPDATE files SET stamp = ? WHERE path = ?", [(stamps[path], path) for path in renew])
    _write_postings(store, touched, dead, state.added)
    _write_rest(store, state, settled)


def _mostly_holes(store: sqlite3.Connection, gone: Iterable[str]) -> bool:
    """Whether more rows would be empty than in use."""
    rows = dict(store.execute("SELECT path, rows FROM files"))
    end = store.execute("SELECT max(first + rows) FROM files").fetchone()[0] or 0
    living = sum(rows.values()) - sum(rows.get(path, 0) for path in gone)
    return bool(end - living > max(_HOLES, living))


def _settled(
    store: sqlite3.Connection, paths: Iterable[str], come: Iterable[str], page: Callable[[str], IndexedFile]
) -> _Settled:
    """Ids and states of the whole pool once the files in `come` are as they are now."""
    stored: dict[str, list[_Known]] = {}
    query = (
        "SELECT path, place, memories.id, given, line, status, supersedes, final, out FROM memories"
        " JOIN files ON files.id = file ORDER BY file, place"
    )
    for path, place, own, given, line, status, supersedes, final, out in store.execute(query):
        taken = tuple(json.loads(supersedes)) if supersedes else ()
        stored.setdefault(path, []).append(_Known(path, place, own, bool(given), line, status, taken, final, out))
    new = {path: _as_known(page(path).memories) for path in come}
    every = [each for path in paths for each in (new[path] if path in new else stored.get(path, ()))]
    ids = unique_ids([each.id for each in every])
    outs = exclusion_reasons((own, each.status, each.supersedes) for own, each in zip(ids, every, strict=True))
    by_path: dict[str, tuple[list[str], list[Reason | None]]] = {}
    affected: set[str] = set()
    duplicates: list[Problem] = []
    for own, out, each in zip(ids, outs, every, strict=True):
        final_ids, final_outs = by_path.setdefault(each.path, ([], []))
        final_ids.append(own)
        final_outs.append(out)
        if own != each.id and each.given:
            duplicates.append(duplicate_id_problem(each.id, each.path, each.line))
        if each.path not in new and (own, _as_text(out)) != (each.final, each.out):
            affected.add(each.path)
    split = {path: pair[0] for path, pair in by_path.items()}, {path: pair[1] for path, pair in by_path.items()}
    return _Settled(*split, every, duplicates, frozenset(affected))


def _as_known(found: Sequence[Memory]) -> list[_Known]:
    return [
        _Known(
            memory.path,
            place,
            memory.id,
            memory.id != memory_id(memory.path, memory.text),
            memory.line,
            memory.status,
            memory.supersedes,
            "",
            "",
        )
        for place, memory in enumerate(found)
    ]


def _as_text(out: Reason | None) -> str:
    return json.dumps(out) if out else ""


def _take_out(
    store: sqlite3.Connection, gone: Sequence[str], held: Mapping[str, Numbers]
) -> tuple[set[int], bytearray]:
    """Blank the rows of files; the terms they held, and a mark on each row that is no more."""
    touched: set[int] = set()
    dead = bytearray(len(held["sections"]))
    for path in gone:
        query = "DELETE FROM files WHERE path = ? RETURNING id, first, rows, terms"
        ((file, first, rows, terms),) = store.execute(query, (path,)).fetchall()
        store.execute("DELETE FROM memories WHERE file = ?", (file,))
        store.execute("DELETE FROM rows WHERE row >= ? AND row < ?", (first, first + rows))
        touched.update(array("I", terms))
        dead[first : first + rows] = b"\1" * rows
        for column in held.values():
            column[first : first + rows] = array(column.typecode, bytes(rows * column.itemsize))
    return touched, dead


def _take_in(
    store: sqlite3.Connection, path: str, stamp: str, page: IndexedFile, settled: _Settled, state: _State
) -> None:
    """Add the memories of a file, those that count in the rows after all others."""
    first = row = len(state.held["sections"])
    terms: set[int] = set()
    sections: dict[str, int] = {}
    query = "INSERT INTO files (path, stamp, digest, first, problems) VALUES (?, ?, ?, ?, ?)"
    problems = json.dumps(page.problems) if page.problems else ""
    file = store.execute(query, (path, stamp, page.digest, first, problems)).lastrowid
    ids, outs = settled.ids.get(path, ()), settled.outs.get(path, ())
    for known, memory, final, out in zip(_as_known(page.memories), page.memories, ids, outs, strict=True):
        supersedes = json.dumps(known.supersedes) if known.supersedes else ""
        facts = (known.id, known.given, known.line, known.status, supersedes, final, _as_text(out))
        store.execute("INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (file, known.place, *facts))
        if out is None:
            blob = as_blob(memory._replace(id=final))
            store.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", (row, memory.created, path, memory.line, blob))
            terms |= _add_row(store, memory, row, sections, state)
            row += 1
    held = array("I", sorted(terms)).tobytes()
    store.execute("UPDATE files SET rows = ?, terms = ? WHERE id = ?", (row - first, held, file))


def _add_row(store: sqlite3.Connection, memory: Memory, row: int, sections: dict[str, int], state: _State) -> set[int]:
    """Put a memory's words and figures in a row; the numbers of its terms."""
    own, known = index_entry(memory), score_inputs(memory)
    length, flag, counts = count_terms(own.text)
    last, created = (state.dates.setdefault(day, len(state.dates)) for day in (known.last, known.created))
    section = sections.setdefault(own.section, row + 1)
    figures = (length, section, day_number(own.day), 0, flag, round(100 * own.kernel), known.importance, last, created)
    for name, figure in zip(KINDS, figures, strict=True):
        state.held[name].append(figure)
    numbers = set()
    for term, times in counts.items():
        number = state.numbers.get(term) or _number(store, term, state.numbers)
        numbers.add(number)
        rows, repeats = state.added.setdefault(number, (array("I"), array("I")))
        rows.append(row)
        repeats.append(times)
    return numbers


def _number(store: sqlite3.Connection, term: str, numbers: dict[str, int]) -> int:
    """The number of a term, a new one where it has none."""
    row = store.execute("SELECT id FROM terms WHERE term = ?", (term,)).fetchone()
    if row is None:
        row = store.execute("INSERT INTO terms (term) VALUES (?) RETURNING id", (term,)).fetchone()
    number: int = row[0]
    numbers[term] = number
    return number


def _write_postings(
    store: sqlite3.Connection, touched: set[int], dead: bytearray, added: Mapping[int, tuple[Numbers, Numbers]]
) -> None:
    """Rewrite the postings of every term that lost or gained a row, each once; a term without any goes."""
    for number in sorted(touched | added.keys()):
        row = store.execute("SELECT held FROM postings WHERE id = ?", (number,)).fetchone()
        rows, counts = halves(row[0] if row else None)
        if number in touched:
            kept = [at for at, holder in enumerate(rows) if not dead[holder]]
            rows, counts = array("I", [rows[at] for at in kept]), array("I", [counts[at] for at in kept])
        more_rows, more_counts = added.get(number, ((), ()))
        rows.extend(more_rows)
        counts.extend(more_counts)
        if rows:
            blob = seal(rows.tobytes() + counts.tobytes())
            store.execute("REPLACE INTO postings VALUES (?, ?)", (number, blob))
        else:
            store.execute("DELETE FROM postings WHERE id = ?", (number,))
            store.execute("DELETE FROM terms WHERE id = ?", (number,))


def _write_rest(store: sqlite3.Connection, state: _State, settled: _Settled) -> None:
    """Write every column, and what holds for the whole pool."""
    outs = [out for own in settled.outs.values() for out in own]
    for name, column in state.held.items():
        save_value(store, name, column)
    save_value(store, "dates", [*state.dates])
    save_value(store, "counts", [len(outs), sum(out is None for out in outs)])
    save_value(store, "left_out", count_reasons(outs))
    save_value(store, "duplicates", settled.duplicates)
