"""Remember entries: add them to the end of a file, or reinforce memories that say the same.

Every entry is decided before the first byte is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TypeVar

from contextasm.model import ContextasmError, Memory, NamedTuple
from contextasm.text.markdown.literals import open_literal
from contextasm.text.memories.cites import cited_paths
from contextasm.text.memories.parser import ACTIVE_STATUSES, DEFAULTS, LISTS, VALIDITY, WORDS
from contextasm.text.memories.writer import ends_under, field_text, format_bullet
from contextasm.text.similarity import find_similar, fold_text
from contextasm.workspace.editing.files import locked
from contextasm.workspace.editing.memories import MemoryEditor
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import MemoryPlace, NewMemory, RememberOutcome

STEP = 0.1
"""Gain of importance for each repetition of a memory."""


class AmongNew(NamedTuple):
    """Result of an entry whose memory is not written yet: `at` is its number among the new ones."""

    what: str
    at: int
    alike: float
    unmerged: tuple[str, ...] = ()


def store_memories(
    workspace: Folder, place: MemoryPlace, entries: Sequence[NewMemory], day: date, *, force: bool
) -> list[RememberOutcome]:
    """Store the entries, or reinforce memories that say the same; with `force`, store all.

    A superseded memory gets the status `superseded`.

    Raises `ContextasmError` for an id in `supersedes` that no memory has, and for a file with an end that can't hold a
    list; nothing is written then.
    """
    with locked(workspace):
        editor = MemoryEditor(workspace, place)
        replaced = editor.superseded_by(entries)
        new: list[NewMemory] = []
        outcomes = [reinforce_or_add(editor, new, entry, day, force=force) for entry in entries]
        _mark_superseded(editor, [*replaced.values()])
        stored = _append_memories(editor, place.path, new, day) if new else ()
        editor.save()
    return [
        RememberOutcome(outcome.what, stored[outcome.at], *outcome[2:]) if isinstance(outcome, AmongNew) else outcome
        for outcome in outcomes
    ]


def _mark_superseded(editor: MemoryEditor, replaced: Sequence[Memory]) -> None:
    for before in replaced:
        # It may have been reinforced since.
        memory = next(memory for memory in editor.memories(before.path) if memory.id == before.id)
        if memory.status in ACTIVE_STATUSES:
            editor.set_fields(memory, status="superseded")


def reinforce_or_add(
    editor: MemoryEditor, new: list[NewMemory], entry: NewMemory, day: date, *, force: bool
) -> RememberOutcome | AmongNew:
    """Reinforce a memory, or one of the `new` entries, that says the same; else, or with `force`, add it to `new`."""
    if not force and (same := editor.find_same(entry, day)):
        memory, alike = same
        changed, unmerged = reinforced(memory, entry, day)
        editor.set_fields(memory, **_changed_fields(memory, changed))
        return RememberOutcome("reinforced", changed, alike, unmerged)
    texts = [other.text for other in new]
    similar = [] if force else find_similar(entry.text, texts, [*map(fold_text, texts)])
    for at, share in similar[:1]:
        new[at], unmerged = reinforced(new[at], entry, day)
        return AmongNew("reinforced", at, share, unmerged)
    new.append(entry)
    return AmongNew("stored", len(new) - 1, 1.0)


_Fields = TypeVar("_Fields", Memory, NewMemory)

_OF_ONE = {"id", "superseded_by", "writer"}
"""Words that belong to one memory and never to two."""

_WORDS = {name: DEFAULTS[name] for name in sorted({*WORDS, "type"} - _OF_ONE)}
"""Fields of which two memories that become one have one word, with the word that states nothing."""


def differing_words(one: Memory | NewMemory, other: Memory | NewMemory) -> list[str]:
    """Names of the fields of which each states another word: one memory can't have both."""
    return [
        name
        for name, nothing in _WORDS.items()
        if getattr(other, name, nothing) not in {nothing, getattr(one, name, nothing)}
        and getattr(one, name, nothing) != nothing
    ]


def merge_fields(kept: _Fields, other: Memory | NewMemory) -> _Fields:
    """`kept` with the words that it lacks, and with the lists of both."""
    words = {
        name: getattr(other, name, nothing) for name, nothing in _WORDS.items() if getattr(kept, name, None) == nothing
    }
    lists = {
        name: _union(getattr(kept, name), getattr(other, name))
        for name in LISTS
        if name not in VALIDITY
        if hasattr(kept, name) and hasattr(other, name)
    }
    return kept._replace(**words, **lists)  # type: ignore[arg-type]


def _union(words: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return (*words, *(word for word in more if word not in words))


def reinforced(old: _Fields, entry: NewMemory, day: date) -> tuple[_Fields, tuple[str, ...]]:
    """The memory with more importance and the entry's fields, and the fields that it has another value for.

    `old` may be an entry itself, and `day` is that of the repetition.
    """
    raised = raised_importance(0.5 if old.importance is None else old.importance)
    stated = entry.importance or 0.0
    unmerged = [f"{name}={getattr(entry, name)}" for name in differing_words(old, entry)]
    unmerged += [
        f"{name}={field_text(bound)}"
        for name in VALIDITY
        if (bound := getattr(entry, name)) not in {"", (), getattr(old, name)}
    ]
    if entry.importance is not None and stated < raised:
        unmerged.insert(0, f"importance={stated:g}")
    cited = cited_paths(entry.cites)  # what an older cite says of these files has had its day
    kept = tuple(cite for cite in old.cites if not cited & cited_paths([cite]))
    merged = merge_fields(old._replace(cites=kept), entry)
    return merged._replace(importance=max(raised, stated), accessed=max(old.accessed, str(day))), tuple(unmerged)


def raised_importance(importance: float) -> float:
    """The importance of a memory that is said once more, or of several memories in one; 1 at most (digest 1.6)."""
    return round(min(importance + STEP, 1.0), 4)


def _changed_fields(old: Memory, changed: Memory) -> Mapping[str, object]:
    """The importance and the day of a reinforced memory, always, and its other fields that changed."""
    pairs = changed._asdict().items()
    return {name: value for name, value in pairs if name in {"importance", "accessed"} or value != getattr(old, name)}


def _append_memories(editor: MemoryEditor, path: str, entries: Sequence[NewMemory], day: date) -> Sequence[Memory]:
    """Append the entries to a file as its last memories, and read them back.

    A date is left out if the heading above names it. Reading back shows whether that worked.
    """
    dated = {"created": str(day)}
    attribute_choices = [dated, {"status": "active", **dated}]
    above = file.text.replace("\r\n", "\n") if (file := editor.file(path)) else ""
    if ends_under(above, str(day)):
        attribute_choices.insert(0, {})
    expected = [(entry.text, entry.type, str(day), not entry.status) for entry in entries]
    for attributes in attribute_choices:
        fields = [*map(entry_fields, entries)]
        bullets = [
            format_bullet(each.text, each.type, stated | attributes | stated)
            for each, stated in zip(entries, fields, strict=True)
        ]
        appended = editor.append(path, bullets)
        if [_read_back(memory) for memory in appended] == expected and not open_literal(above):
            return appended
    if editor.is_one_memory(path):
        hint = "name another file with --file, or leave it out"
        raise ContextasmError(path, "the whole file is one memory, since its front matter has a type", hint)
    if editor.hides_new(path):
        allow = "allow what is private with --audience personal"
        hint = f"take {{private=true}} out of the text, {allow}, or name another file with --file"
        raise ContextasmError(path, "the memory would be private there, and a shared audience may not read it", hint)
    hint = "close what is open at its end, such as a code fence or a comment, or name another file with --file"
    raise ContextasmError(path, "a bullet at its end would not be read as a memory", hint)


def _read_back(memory: Memory) -> tuple[str, str, str, bool]:
    return memory.text, memory.type, memory.created, memory.status in ACTIVE_STATUSES


def entry_fields(entry: NewMemory) -> dict[str, str]:
    """The fields of an entry as they are written, but for its type and `created`; empty ones are left out."""
    stated = {name: value for name, value in entry._asdict().items() if value not in (None, "", ())}
    return {name: field_text(value) for name, value in stated.items() if name not in {"text", "type"}}
