"""Memories of another program are added to an owner's, by their ids; every entry is decided before the first byte.

An entry whose id no memory has is added. One whose memory has all that it states is left. If the two differ, a
person may have changed the memory since, so it stays as well, unless the entries are to win.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext

from contextasm.model import MAX_FILE, ContextasmError, Memory, grouped
from contextasm.text.exchange.entry import SourceEntry, differing_fields
from contextasm.text.memories.writer import field_text, memory_bullet
from contextasm.text.names.places import archived_path
from contextasm.text.similarity import SAME, find_similar, fold_text, similarity
from contextasm.workspace.editing.files import locked
from contextasm.workspace.editing.memories import MemoryEditor
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import ImportOutcome, MemoryPlace, Outcome

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
            _change(editor, [entry for entry in entries if differing.get(entry.id)], known)
        if new:
            _append(editor, place.path, new)
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


# --- Writing ---------------------------------------------------------------------------------------------------------


def _append(editor: MemoryEditor, path: str, entries: Sequence[SourceEntry]) -> None:
    appended = editor.append(path, [memory_bullet(entry.memory) for entry in entries])
    _check_size(editor, path)
    for number, entry in enumerate(entries):
        if len(appended) < len(entries) or _content(appended[number]) != entry.memory:
            raise _not_read_back(path, entry, appended[number] if len(appended) == len(entries) else None)


def _change(editor: MemoryEditor, entries: Sequence[SourceEntry], known: Mapping[str, Memory]) -> None:
    by_path = grouped((known[entry.id].path, entry) for entry in entries)
    for path, own in by_path.items():
        if editor.is_one_memory(path):
            hint = f"change {path} by hand, or import without --update"
            raise ContextasmError(own[0].where, "its memory is a whole file, which is not changed", hint)
        changed = {entry.id: known[entry.id]._replace(text=entry.text, **entry.fields) for entry in own}
        for memory in changed.values():
            editor.replace(memory, memory_bullet(memory))
        _check_size(editor, path)
        found = {memory.id: _content(memory) for memory in editor.memories(path)}
        for entry in own:
            if found.get(entry.id) != _content(changed[entry.id]):
                raise _not_read_back(path, entry)


def _check_size(editor: MemoryEditor, path: str) -> None:
    size = len(editor.changed[path])
    if size > MAX_FILE:
        hint = f"import it in parts, each with its own --file; {MAX_FILE:,} bytes are the most that is read of a file"
        raise ContextasmError(path, f"would have {size:,} bytes", hint)


def _not_read_back(path: str, entry: SourceEntry, found: Memory | None = None) -> ContextasmError:
    pairs = _content(found)._asdict().items() if found else ()
    given = [f"{name}: {field_text(value)}" for name, value in pairs if value != getattr(entry.memory, name)]
    if found and found.text == entry.memory.text and given:
        what = f"all memories of {path} have {', '.join(given)}, as its front matter says"
        return ContextasmError(entry.where, what, "take that out of it, or name another --file")
    what = f"would not be read back as one memory from {path}"
    return ContextasmError(entry.where, what, "close what it leaves open, such as a comment, or name another --file")


def _content(memory: Memory) -> Memory:
    return memory._replace(path="", line=0)
