"""Remembering: new memories at the end of a file, and old ones reinforced where a new one says the same.

Everything is settled before the first byte is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from contextasm.model import ContextasmError, Memory
from contextasm.retrieval.memory_pool import COUNTING
from contextasm.text.memory_writer import behind, bullet, ends_under
from contextasm.text.similarity import folded, is_same, nearly, share
from contextasm.workspace.editing.files import locked, save
from contextasm.workspace.editing.memories import Known, refuse_unknown
from contextasm.workspace.folder import Folder

STEP = 0.1
"""What being said once more adds to a memory's importance."""


class Entry(NamedTuple):
    """Something to remember, checked."""

    text: str
    """As `text.bullets.lines_of` gives it."""
    type: str = "note"
    importance: float | None = None
    """0 to 1; None leaves it to the file."""
    tags: tuple[str, ...] = ()
    key: str = ""
    supersedes: tuple[str, ...] = ()
    accessed: str = ""
    """The day on which it was said a second time; empty for none."""


class Place(NamedTuple):
    """Where to remember."""

    folder: str
    """The memories of the owner; a new one is compared with those of all its files."""
    path: str
    """The file that a new one is written to."""


class Outcome(NamedTuple):
    """What became of an entry."""

    what: str
    """`stored` or `reinforced`."""
    memory: Memory
    """As it now stands in its file."""
    alike: float
    """How much the entry is like the memory that it reinforced, 0 to 1; 1 where it was stored."""


class _New(NamedTuple):
    """Where among the entries to be stored one went, and how much it is like the one that was there."""

    what: str
    at: int
    alike: float


def remember(workspace: Folder, place: Place, entries: Sequence[Entry], day: date, *, force: bool) -> list[Outcome]:
    """Store the entries, or reinforce what says the same already; `force` stores without looking.

    Raises `ContextasmError`, and then nothing has been written, for an id that is not there and for a file whose end
    can't hold a list.
    """
    with locked(workspace):
        known = Known(workspace, place.path, place.folder)
        _check_ids(known, entries)
        fresh: list[Entry] = []
        settled = [_settled(known, fresh, entry, day, force=force) for entry in entries]
        stored = _stored(known, place.path, fresh, day) if fresh else ()
        for path, data in known.changed.items():
            save(workspace, path, data)
    return [Outcome(e.what, stored[e.at], e.alike) if isinstance(e, _New) else e for e in settled]


def _check_ids(known: Known, entries: Sequence[Entry]) -> None:
    """Raise for an id to be superseded that no memory has."""
    asked = dict.fromkeys(each for entry in entries for each in entry.supersedes)
    ids = known.ids() if asked else []
    for each in asked:
        refuse_unknown(each, ids, "--supersedes")


def _settled(known: Known, fresh: list[Entry], entry: Entry, day: date, *, force: bool) -> Outcome | _New:
    """What becomes of one entry; one that is to be stored is put behind the others."""
    text = folded(entry.text)
    if not force and (found := known.same(text, entry.supersedes)):
        memory, alike = found
        after = memory._replace(importance=_raised(memory.importance), accessed=max(memory.accessed, str(day)))
        known.set(memory, {"importance": f"{after.importance:g}", "accessed": after.accessed}, after)
        return Outcome("reinforced", after, alike)
    if not force:
        texts = [folded(each.text) for each in fresh]
        for near in nearly(text, texts):
            if is_same(text, texts[near.at]):
                old = fresh[near.at]
                raised = _raised(0.5 if old.importance is None else old.importance)
                fresh[near.at] = old._replace(importance=raised, accessed=str(day))
                return _New("reinforced", near.at, share(text, texts[near.at]))
    fresh.append(entry)
    return _New("stored", len(fresh) - 1, 1.0)


def _raised(importance: float) -> float:
    return round(min(importance + STEP, 1.0), 4)


def _stored(known: Known, path: str, entries: Sequence[Entry], day: date) -> Sequence[Memory]:
    """The entries as the last memories of a file.

    A date is left out where the heading above says it. What comes of that is read back: a heading may stand in a
    fence, a file may end in one, and front matter may say that all of its memories are archived.
    """
    page = known.pages[path]
    text = page.text
    dated = {"created": str(day)}
    forms = (
        ({}, dated, {"status": "active", **dated})
        if ends_under(text, str(day))
        else (dated, {"status": "active", **dated})
    )
    for form in forms:
        bullets = [bullet(each.text, each.type, _fields(each) | form) for each in entries]
        known.change(path, text + page.encoded(behind(text, bullets)).decode(page.encoding))
        found = known.memories(path)[-len(entries) :]
        if [_seen(memory) for memory in found] == [(each.text, each.type, str(day), True) for each in entries]:
            return found
    known.changed.pop(path)
    todo = "close what is open at its end, such as a code fence, or name another file with --file"
    raise ContextasmError(path, "a bullet at its end would not be read as a memory", todo)


def _seen(memory: Memory) -> tuple[str, str, str, bool]:
    return memory.text, memory.type, memory.created, memory.status in COUNTING


def _fields(entry: Entry) -> dict[str, str]:
    """The attributes of an entry, but for its date."""
    fields = {
        "importance": "" if entry.importance is None else f"{entry.importance:g}",
        "tags": ",".join(entry.tags),
        "key": entry.key,
        "supersedes": ",".join(entry.supersedes),
        "accessed": entry.accessed,
    }
    return {name: value for name, value in fields.items() if value}
