"""Into a store and out of it: memories that come in by their ids, and an export of the replica's pages as files.

In the store an id begins with the number of the role that stored the memory; in files it does not. An import puts the
number before it, an export takes it off, and what another role stored keeps its number in both. Exported, read as files
and imported again, texts and fields are the same: they are moved as they are written, and what is masked is masked
where it is shown.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import md5
from pathlib import Path

from contextasm.model import AS_WRITTEN, CLEAN, ContextasmError, Document, Memory, grouped, system_errors
from contextasm.model.named_tuple import NamedTuple
from contextasm.rendering.json_codec import Count
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.exchange.entry import SourceEntry
from contextasm.text.memories.parser import parse_memories
from contextasm.workspace.atomic import write
from contextasm.workspace.editing.memories import MemoryEditor
from contextasm.workspace.folder import Folder
from contextasm.workspace.reading import MISSING, ReadFailure, file_bytes, file_stamp, required_bytes
from contextasm.workspace.storage import MemoryPlace, PrivateLines
from contextasm.workspace.store.connection import Session, StatementError
from contextasm.workspace.store.overlay import StoreOverlay
from contextasm.workspace.store.pages import (
    FIELDS,
    ids_of_name,
    is_private_id,
    name_of_id,
    page_of_name,
    page_text,
    row_of_memory,
    storable_memory,
    with_references,
)
from contextasm.workspace.store.replica import ReplicaState, locked_replica, replica_folder
from contextasm.workspace.store.rows import OF_OWNER, Row, locked_rows, update_row, writable_owners
from contextasm.workspace.store.schema import in_transaction

_ANOTHER_ID = "give the memory in the file another id"
_EMPTY_FOLDER = "name an empty folder with --to, or remove the file"


class ImportCounts(NamedTuple):
    """Memories of one owner."""

    stored: Count
    """Memories that the store did not have."""
    changed: Count
    """Memories that took over the fields of the files."""
    unchanged: Count
    """Memories that were the same already."""


def import_files(overlay: StoreOverlay, owner: str, private_lines: PrivateLines) -> ImportCounts:
    """Store the memories of an owner's files, all or none.

    Memories that are there already get the files' fields, and the files stay. Memories that begin in `private_lines`
    are private in the store. Raises `ContextasmError`, with the place of a memory that can't be stored.
    """
    entries, pages = _file_memories(overlay.root, owner, private_lines)
    pairs = store_by_id(overlay, owner, entries, pages, update=True)
    new = sum(before is None for before, _ in pairs)
    unchanged = sum(before == after for before, after in pairs)
    return ImportCounts(new, len(pairs) - new - unchanged, unchanged)


def _file_memories(
    root: str, owner: str, private_lines: PrivateLines
) -> tuple[Sequence[SourceEntry], Mapping[str, str]]:
    """The memories of an owner's own files, in the order of their paths, and the pages of those that had one, by id.

    Raises `ContextasmError` for a second id.
    """
    workspace, folder = Folder(Path(root)), f"{owner}/memories"
    editor = MemoryEditor(workspace, MemoryPlace(folder, f"{folder}/new.md"))
    page_of_file = _pages_of_files(editor.files)
    entries: dict[str, SourceEntry] = {}
    pages: dict[str, str] = {}
    for path in sorted(editor.files):
        document = decode_document(path, editor.files[path].data, CLEAN)
        private = private_lines(document) if isinstance(document, Document) else frozenset()
        for memory in editor.memories(path):
            fields = {**memory._asdict(), "private": memory.private or memory.line in private}
            stated = {name: fields[name] for name in FIELDS if name not in {"id", "text"}}
            new = SourceEntry(f"{path}:{memory.line}", memory.id, memory.text, stated)
            if first := entries.get(memory.id):
                what = f"the memory at {first.where} has the same id"
                raise ContextasmError(_place(new), what, "give this memory another id")
            entries[memory.id] = new
            if path in page_of_file:
                pages[memory.id] = page_of_file[path]
    return [*entries.values()], pages


def _place(entry: SourceEntry) -> str:
    """The place and the id of a memory to be stored, as messages name it."""
    return f"{entry.where}: {entry.id}"


def _pages_of_files(paths: Iterable[str]) -> Mapping[str, str]:
    """The page in the store that each file becomes whose name is that of a page.

    Pages of several roles, which all become this role's, get new numbers in the order of their names, so that each is a
    page again.
    """
    pages = {path: page for path in sorted(paths) if (page := page_of_name(os.path.basename(path)))}
    numbered = grouped((stem, path) for path, (stem, _) in pages.items())
    for stem, of_stem in numbered.items():
        if len({pages[path] for path in of_stem}) < len(of_stem):
            pages |= {path: (stem, f"{number:06}") for number, path in enumerate(of_stem)}
    return {path: "".join(page) for path, page in pages.items()}


def store_by_id(
    overlay: StoreOverlay, owner: str, incoming: Sequence[SourceEntry], pages: Mapping[str, str], *, update: bool
) -> list[tuple[Memory | None, Memory]]:
    """Store the memories, all or none; gives what the store had of each, None for nothing, and what it states.

    They have the ids that they have outside of the store; fields that they do not state stay as the store has them.
    `pages` has, by these ids, the page that a new one is to be on; else the store decides. Memories that are there
    already stay as they are without `update`. Raises `ContextasmError`.
    """
    overlay.require_server()

    def work(session: Session) -> list[tuple[Memory | None, Memory]]:
        number = writable_owners(session).get(owner, 0)
        ids = [id_ for each in incoming for id_ in ids_of_name(each.id, number)]
        sums = [md5(each.text.encode(), usedforsecurity=False).hexdigest() for each in incoming]
        rows = locked_rows(session, owner, "id = ANY(%s) OR md5(text) = ANY(%s) AND NOT private", ids, sums)
        stated = stated_memories(incoming, number, rows, _known_ids(session, owner, incoming, number))
        new = [(each, memory) for each, (row, memory) in zip(incoming, stated, strict=True) if row is None]
        _insert(session, owner, new, pages)
        for each, (row, memory) in zip(incoming, stated, strict=True):
            if row and (row.deleted or (row.memory != memory and update)):
                _change(session, _place(each), row, memory)
        return [(None if row is None or row.deleted else row.memory, memory) for row, memory in stated]

    return in_transaction(overlay.config, work)


def _known_ids(session: Session, owner: str, incoming: Sequence[SourceEntry], number: int) -> frozenset[str]:
    """The ids in the store that incoming memories may name as superseded."""
    ids = [id_ for each in incoming for name in _references(each) for id_ in ids_of_name(name, number)]
    if not ids:
        return frozenset()
    rows = session.rows(f"SELECT id FROM ctxasm.memory WHERE {OF_OWNER} AND id = ANY(%s)", owner, ids)
    return frozenset(id_ for (id_,) in rows)


def _references(entry: SourceEntry) -> Sequence[str]:
    named = entry.memory
    return [*named.supersedes, *filter(None, [named.superseded_by])]


def stated_memories(
    incoming: Sequence[SourceEntry], number: int, rows: Mapping[str, Row], known: Container[str]
) -> list[tuple[Row | None, Memory]]:
    """The row of each incoming memory, None for a new one, and the memory as it is to be, under its id in the store.

    `number` is that of the role, and `known` has ids, besides the ids of `rows`, that may be superseded. Raises
    `ContextasmError` for a memory that can't be stored.
    """
    same = {(name_of_id(id_), row.memory.text): row for id_, row in rows.items() if not row.deleted}
    found: list[tuple[Row | None, Memory]] = []
    for entry in incoming:
        candidates = [rows[id_] for id_ in ids_of_name(entry.id, number) if id_ in rows]
        row = next((row for row in candidates if not row.deleted), None) or same.get((entry.id, entry.text))
        base = row.memory if row else entry.memory
        memory = storable_memory(base._replace(text=entry.text, **entry.fields, id=entry.id), _place(entry))
        if row and row.memory.private != memory.private:
            what = f"is {'' if row.memory.private else 'not '}private in the store, and that can't be changed"
            raise ContextasmError(_place(entry), what, _ANOTHER_ID)
        own_id = f"{number}{'p' * memory.private}-{entry.id}"
        row = row or next((rows[id_] for id_ in (own_id, entry.id) if id_ in rows), None)
        id_, path = (row.memory.id, row.memory.path) if row else (own_id, "")
        found.append((row, memory._replace(id=id_, path=path)))
    ids = {each.id: memory.id for each, (_, memory) in zip(incoming, found, strict=True)}

    def renamed(row: Row | None, name: str) -> str:
        if row and name in (*row.memory.supersedes, row.memory.superseded_by):
            return name  # of another role, and perhaps no longer there
        known_id = next((id_ for id_ in ids_of_name(name, number) if id_ in known or id_ in rows), f"{number}-{name}")
        return ids.get(name, known_id)

    stated: list[tuple[Row | None, Memory]] = []
    for each, (row, memory) in zip(incoming, found, strict=True):
        new = with_references(memory, partial(renamed, row))._asdict()
        names = {"supersedes", "superseded_by"} & each.fields.keys()
        stated.append((row, memory._replace(**{name: new[name] for name in names})))
        _refuse_private_references(each, stated[-1][1])
    return stated


def _refuse_private_references(entry: SourceEntry, memory: Memory) -> None:
    """Raise `ContextasmError` for an open memory that names a private one, whose id others would read."""
    named = [*memory.supersedes, memory.superseded_by]
    if not memory.private and any(map(is_private_id, named)):
        hint = "remove the id from `supersedes`, and give the private memory {status=superseded}"
        raise ContextasmError(_place(entry), "is not private, but names a private memory", hint)


def _insert(session: Session, owner: str, new: Sequence[tuple[SourceEntry, Memory]], pages: Mapping[str, str]) -> None:
    """Add rows, with few statements. Raises `ContextasmError`, which names the first memory that is refused."""
    rows = []
    for entry, memory in new:
        page = pages.get(entry.id, "")
        fits = ("private" in page) == memory.private  # else the store finds another page for it
        rows.append([owner, page if page and fits else None, *row_of_memory(memory._replace(id=entry.id))])
    names = ("owner", "page", *FIELDS)
    session.rows("SAVEPOINT before_new")
    try:
        session.insert_rows("ctxasm.memory", names, rows)
    except StatementError:
        session.rows("ROLLBACK TO before_new")
        for (entry, _), row in zip(new, rows, strict=True):  # one by one, to find it
            try:
                session.insert_rows("ctxasm.memory", names, [row])
            except StatementError as error:
                raise ContextasmError(_place(entry), f"can't be stored: {error.what}", error.hint) from error
        raise


def _change(session: Session, where: str, row: Row, memory: Memory) -> None:
    """Make a row hold a memory. Raises `ContextasmError` at `where` for what the role may not change."""
    before = row.memory
    if row.deleted and not row.is_own:
        what = f"was deleted by the role {row.role}, and only that role can store it again"
        raise ContextasmError(where, what, _ANOTHER_ID)
    if memory.writer != before.writer:
        what = f"has the writer {before.writer or 'none'} in the store, and that can't be changed"
        raise ContextasmError(where, what, "set this writer in the file, or give the memory another id")
    if memory.text != before.text and not row.is_own:
        what = f"was stored by the role {row.role}, and only that role can change its text"
        raise ContextasmError(where, what, _ANOTHER_ID)
    try:
        is_changed = update_row(session, row.seq, memory)
    except StatementError as error:
        raise ContextasmError(where, f"can't be changed: {error.what}", _ANOTHER_ID) from error
    if not is_changed:
        raise ContextasmError(where, "can't be changed", "ask for the right to write for this owner")


def export_pages(overlay: StoreOverlay, owners: Sequence[str], target: Path) -> int:
    """Write the pages of owners, as the replica has them, to the same paths below a folder; gives the number of files.

    No file is overwritten, and all are checked first. Raises `ContextasmError` if an owner's folder there has other
    files of memories, or one with other bytes, or is a link, for a page that was changed in the replica, and if the
    replica lacks one of the owners.
    """
    with locked_replica(overlay.root, needed=False):  # all pages are of one pull
        state = overlay.state()
        _refuse_missing(state, owners)
        files: dict[Path, bytes] = {}
        for owner in owners:
            pages, number = replica_folder(overlay.root, owner), state.owners[owner].number
            for name, stamp in state.owners[owner].pages.items():
                files[target / owner / "memories" / name] = _exported_page(pages / name, stamp, number)
        for owner in owners:
            _refuse_others(target / owner / "memories", files)
        for path, data in files.items():
            _refuse_link(target, path)
            _refuse_edited(path, data)
        for path, data in files.items():
            with system_errors(str(path.parent), "can't be made", "name another folder"):
                path.parent.mkdir(parents=True, exist_ok=True)
            write(path, data, new_mode=0o600)
    return len(files)


def _exported_page(page: Path, stamp: tuple[int, ...], number: int) -> bytes:
    """The bytes of a page with the ids that its memories have outside of the store. Raises as `_page_bytes`."""
    document = decode_document(str(page), _page_bytes(page, stamp), AS_WRITTEN)
    assert isinstance(document, Document)
    rename = partial(name_of_id, number=number)
    memories = (memory._replace(id=rename(memory.id)) for memory in parse_memories(document)[0])
    return page_text([with_references(memory, rename) for memory in memories]).encode()


def _refuse_missing(state: ReplicaState, owners: Sequence[str]) -> None:
    """Raise `ContextasmError` if an owner has no replica, or the role may not read it."""
    where = "ctxasm store export"
    if missing := next((owner for owner in owners if owner not in state.owners), None):
        raise ContextasmError(where, f"the store has no replica for {missing}", "run the command without --offline")
    if refused := next((owner for owner in owners if state.owners[owner].is_refused), None):
        hint = "ask the administrator to add a row to ctxasm.member (docs/store.md), or name another owner"
        raise ContextasmError(where, f"this role may not read {refused}", hint)


def _page_bytes(page: Path, stamp: tuple[int, ...]) -> bytes:
    """The bytes of a page of the replica. Raises `ContextasmError` if it is not as it was pulled."""
    data = required_bytes(str(page), "run `ctxasm store pull`")
    with system_errors(str(page), "can't be read", "run `ctxasm store pull`"):
        is_as_pulled = file_stamp(page) == stamp
    if not is_as_pulled:
        raise ContextasmError(str(page), "was changed since it was pulled", "run `ctxasm store pull`")
    return data


def _refuse_link(target: Path, path: Path) -> None:
    """Raise `ContextasmError` if a link is on the way from the target, which may be one itself, to a file below it."""
    if os.path.realpath(path) != os.path.join(os.path.realpath(target), path.relative_to(target)):
        raise ContextasmError(
            str(path), "leads through a link to another place", "name another folder, or remove the link"
        )


def _refuse_edited(path: Path, data: bytes) -> None:
    there = file_bytes(str(path))
    if there != data and not (isinstance(there, ReadFailure) and there.code == MISSING):
        raise ContextasmError(str(path), "differs from the page of the store", _EMPTY_FOLDER)


def _refuse_others(folder: Path, pages: Mapping[Path, object]) -> None:
    """Raise `ContextasmError` if a folder has files of memories that are not pages of the export."""
    names: list[str] = []
    with system_errors(str(folder), "can't be listed", "name another folder"), suppress(FileNotFoundError):
        names = sorted(os.listdir(folder))
    if other := next((name for name in names if name.endswith(".md") and folder / name not in pages), None):
        raise ContextasmError(str(folder / other), "would be read with the export", _EMPTY_FOLDER)
