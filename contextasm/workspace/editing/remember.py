"""Remembering: new memories at the end of a file, and old ones reinforced where a new one says the same.

Everything is settled before the first byte is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from contextasm.model import ContextasmError, Memory
from contextasm.text.memory_parser import ACTIVE_STATUSES
from contextasm.text.memory_writer import append_bullets, ends_under, format_bullet
from contextasm.text.similarity import find_similar, fold_text, is_same, similarity
from contextasm.workspace.editing.files import locked, save_file
from contextasm.workspace.editing.memories import MemoryEditor, refuse_unknown
from contextasm.workspace.folder import Folder

STEP = 0.1
"""What being said once more adds to a memory's importance."""


class NewMemory(NamedTuple):
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


class MemoryPlace(NamedTuple):
    """Where to remember."""

    folder: str
    """The memories of the owner; a new one is compared with those of all its files."""
    path: str
    """The file that a new one is written to."""


class RememberOutcome(NamedTuple):
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


def remember(
    workspace: Folder, place: MemoryPlace, entries: Sequence[NewMemory], day: date, *, force: bool
) -> list[RememberOutcome]:
    """Store the entries, or reinforce what says the same already; `force` stores without looking.

    Raises `ContextasmError`, and then nothing has been written, for an id that is not there and for a file whose end
    can't hold a list.
    """
    with locked(workspace):
        known = MemoryEditor(workspace, place.path, place.folder)
        _check_ids(known, entries)
        fresh: list[NewMemory] = []
        settled = [_settled(known, fresh, entry, day, force=force) for entry in entries]
        stored = _stored(known, place.path, fresh, day) if fresh else ()
        for path, data in known.changed.items():
            save_file(workspace, path, data)
    return [RememberOutcome(e.what, stored[e.at], e.alike) if isinstance(e, _New) else e for e in settled]


def _check_ids(known: MemoryEditor, entries: Sequence[NewMemory]) -> None:
    """Raise for an id to be superseded that no memory has."""
    asked = dict.fromkeys(each for entry in entries for each in entry.supersedes)
    ids = known.ids() if asked else []
    for each in asked:
        refuse_unknown(each, ids, "--supersedes")


def _settled(
    known: MemoryEditor, fresh: list[NewMemory], entry: NewMemory, day: date, *, force: bool
) -> RememberOutcome | _New:
    """What becomes of one entry; one that is to be stored is put behind the others."""
    text = fold_text(entry.text)
    if not force and (found := known.same(text, entry.supersedes)):
        memory, alike = found
        after = memory._replace(importance=_raised(memory.importance), accessed=max(memory.accessed, str(day)))
        known.set(memory, {"importance": f"{after.importance:g}", "accessed": after.accessed}, after)
        return RememberOutcome("reinforced", after, alike)
    if not force:
        texts = [fold_text(each.text) for each in fresh]
        for near in find_similar(text, texts):
            if is_same(text, texts[near.at]):
                old = fresh[near.at]
                raised = _raised(0.5 if old.importance is None else old.importance)
                fresh[near.at] = old._replace(importance=raised, accessed=str(day))
                return _New("reinforced", near.at, similarity(text, texts[near.at]))
    fresh.append(entry)
    return _New("stored", len(fresh) - 1, 1.0)


def _raised(importance: float) -> float:
    return round(min(importance + STEP, 1.0), 4)


def _stored(known: MemoryEditor, path: str, entries: Sequence[NewMemory], day: date) -> Sequence[Memory]:
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
        bullets = [format_bullet(each.text, each.type, _fields(each) | form) for each in entries]
        known.change(path, text + page.encoded(append_bullets(text, bullets)).decode(page.encoding))
        found = known.memories(path)[-len(entries) :]
        if [_seen(memory) for memory in found] == [(each.text, each.type, str(day), True) for each in entries]:
            return found
    known.changed.pop(path)
    hint = "close what is open at its end, such as a code fence, or name another file with --file"
    raise ContextasmError(path, "a bullet at its end would not be read as a memory", hint)


def _seen(memory: Memory) -> tuple[str, str, str, bool]:
    return memory.text, memory.type, memory.created, memory.status in ACTIVE_STATUSES


def _fields(entry: NewMemory) -> dict[str, str]:
    """The attributes of an entry, but for its date."""
    fields = {
        "importance": "" if entry.importance is None else f"{entry.importance:g}",
        "tags": ",".join(entry.tags),
        "key": entry.key,
        "supersedes": ",".join(entry.supersedes),
        "accessed": entry.accessed,
    }
    return {name: value for name, value in fields.items() if value}
