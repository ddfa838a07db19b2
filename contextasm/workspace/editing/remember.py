"""Entries become memories of a file: what a person remembers, and the memories of another program.

Every entry is decided before the first byte is written. What a person remembers reinforces a memory that says the same.
An imported entry is identified by its id: one whose id no memory has is added. If the memory has all fields of the
entry, it stays. If they differ, a person may have changed the memory, so it also stays, unless the entries are to win.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import date
from typing import TypeVar

from contextasm.model import MAX_FILE, ContextasmError, Memory, NamedTuple, grouped
from contextasm.text.exchange.entry import SourceEntry, differing_fields
from contextasm.text.markdown.literals import open_literal
from contextasm.text.memories.cites import cited_paths
from contextasm.text.memories.parser import ACTIVE_STATUSES, DEFAULTS, LISTS, VALIDITY, WORDS
from contextasm.text.memories.writer import ends_under, field_text, format_bullet, memory_bullet
from contextasm.text.names.places import archived_path
from contextasm.text.similarity import SAME, find_similar, fold_text, similarity
from contextasm.workspace.editing.files import locked
from contextasm.workspace.editing.memories import MemoryEditor
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import ImportOutcome, MemoryPlace, NewMemory, Outcome, RememberOutcome

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
            editor.change(memory, memory._replace(status="superseded"))


def reinforce_or_add(
    editor: MemoryEditor, new: list[NewMemory], entry: NewMemory, day: date, *, force: bool
) -> RememberOutcome | AmongNew:
    """Reinforce a memory, or one of the `new` entries, that says the same; else, or with `force`, add it to `new`."""
    if not force and (same := editor.find_same(entry, day)):
        memory, alike = same
        changed, unmerged = reinforced(memory, entry, day)
        editor.change(memory, changed)
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
        raise ContextasmError(path, "the whole file is one memory, because its front matter has a type", hint)
    if editor.hides_new(path):
        allow = "allow private memories with --audience personal"
        hint = f"remove {{private=true}} from the text, {allow}, or name another file with --file"
        raise ContextasmError(path, "the memory would be private there, but the audience is shared", hint)
    hint = "close the open code fence or comment at its end, or name another file with --file"
    raise ContextasmError(path, "ctxasm would not read a bullet at its end as a memory", hint)


def _read_back(memory: Memory) -> tuple[str, str, str, bool]:
    return memory.text, memory.type, memory.created, memory.status in ACTIVE_STATUSES


def entry_fields(entry: NewMemory) -> dict[str, str]:
    """The fields of an entry as they are written, but for its type and `created`; empty ones are left out."""
    stated = {name: value for name, value in entry._asdict().items() if value not in (None, "", ())}
    return {name: field_text(value) for name, value in stated.items() if name not in {"text", "type"}}


# --- Memories of another program -------------------------------------------------------------------------------------


MAX_COMPARISONS = 4_000_000
"""Pairs of texts that are compared by similarity; if there are more, only texts that are equal count as alike."""


def store_entries(
    workspace: Folder, place: MemoryPlace, entries: Sequence[SourceEntry], *, update: bool, dry_run: bool
) -> list[ImportOutcome]:
    """Add the entries to the file `place.path`, and tell what became of each, in their order.

    With `update`, memories in any file of the owner take over what their entries state otherwise. With `dry_run`,
    nothing is written. Raises `ContextasmError` if a memory would not be read back as its entry; nothing is written.
    """
    with nullcontext() if dry_run else locked(workspace):
        editor = MemoryEditor(workspace, place)
        known = {memory.id: memory for path in editor.files for memory in editor.memories(path)}
        differing = {entry.id: differing_fields(known[entry.id], entry) for entry in entries if entry.id in known}
        new = [entry for entry in entries if entry.id not in known and entry.id not in place.archived_ids]
        alike = alike_memories(new, known.values())
        if update:
            _change_entries(editor, [entry for entry in entries if differing.get(entry.id)], known)
        if new:
            _append_entries(editor, place.path, new)
        if not dry_run:
            editor.save()
        lines = {path: {memory.id: memory.line for memory in editor.memories(path)} for path in editor.files}
    outcomes: list[ImportOutcome] = []
    for entry in entries:
        if entry.id not in known and entry.id in place.archived_ids:
            outcomes.append(ImportOutcome("archived", entry.id, archived_path(f"{place.folder}/"), 0))
            continue
        path = known[entry.id].path if entry.id in known else place.path
        fields = differing.get(entry.id, ())
        outcome = outcome_word(fields, is_known=entry.id in known, update=update)
        outcomes.append(ImportOutcome(outcome, entry.id, path, lines[path][entry.id], fields, alike.get(entry.id, "")))
    return outcomes


def outcome_word(differing: Sequence[str], *, is_known: bool, update: bool) -> Outcome:
    """The outcome of an entry."""
    if not is_known:
        return "added"
    return "left" if not differing else "changed" if update else "differs"


def alike_memories(new: Sequence[SourceEntry], known: Iterable[Memory]) -> dict[str, str]:
    """For each new entry that says the same as a memory or as an entry before it, the id of that."""
    names = {fold_text(memory.text): (memory.id, memory.text) for memory in known}
    folded, alike = [*names], dict[str, str]()
    written = [text for _, text in names.values()]
    compares_similar = (len(names) + len(new)) * len(new) <= MAX_COMPARISONS
    for entry in new:
        text = fold_text(entry.text)
        if text in names and similarity(entry.text, names[text][1]) >= SAME:
            alike[entry.id] = names[text][0]
            continue
        for at, _ in find_similar(entry.text, written, folded)[:1] if compares_similar else ():
            alike[entry.id] = names[folded[at]][0]
        names[text] = entry.id, entry.text
        folded.append(text)
        written.append(entry.text)
    return alike


def _append_entries(editor: MemoryEditor, path: str, entries: Sequence[SourceEntry]) -> None:
    appended = editor.append(path, [memory_bullet(entry.memory) for entry in entries])
    _refuse_too_large(editor, path)
    for number, entry in enumerate(entries):
        if len(appended) < len(entries) or _content(appended[number]) != entry.memory:
            raise _not_read_back(path, entry, appended[number] if len(appended) == len(entries) else None)


def _change_entries(editor: MemoryEditor, entries: Sequence[SourceEntry], known: Mapping[str, Memory]) -> None:
    by_path = grouped((known[entry.id].path, entry) for entry in entries)
    for path, own in by_path.items():
        if editor.is_one_memory(path):
            hint = f"change {path} by hand, or import without --update"
            raise ContextasmError(own[0].where, "its memory is a whole file, which an import does not change", hint)
        changed = {entry.id: known[entry.id]._replace(text=entry.text, **entry.fields) for entry in own}
        for memory in changed.values():
            editor.replace(memory, memory_bullet(memory))
        _refuse_too_large(editor, path)
        found = {memory.id: _content(memory) for memory in editor.memories(path)}
        for entry in own:
            if found.get(entry.id) != _content(changed[entry.id]):
                raise _not_read_back(path, entry)


def _refuse_too_large(editor: MemoryEditor, path: str) -> None:
    size = len(editor.changed[path])
    if size > MAX_FILE:
        hint = f"import it in parts, each with its own --file, of at most {MAX_FILE:,} bytes"
        raise ContextasmError(path, f"would have {size:,} bytes", hint)


def _not_read_back(path: str, entry: SourceEntry, found: Memory | None = None) -> ContextasmError:
    pairs = _content(found)._asdict().items() if found else ()
    given = [f"{name}: {field_text(value)}" for name, value in pairs if value != getattr(entry.memory, name)]
    if found and found.text == entry.memory.text and given:
        what = f"all memories of {path} have {', '.join(given)}, as its front matter says"
        return ContextasmError(entry.where, what, "remove that from the front matter, or name another --file")
    what = f"ctxasm would not read it as one memory from {path}"
    return ContextasmError(entry.where, what, "close its open comment or code fence, or name another --file")


def _content(memory: Memory) -> Memory:
    return memory._replace(path="", line=0)
