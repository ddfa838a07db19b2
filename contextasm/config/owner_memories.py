"""Memories are stored for an owner: in its files or, where they lie in a shared store, in the store's table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from contextasm.config.editable_owner import Owner
from contextasm.model import Context, ContextasmError, Problem
from contextasm.text.exchange.checked import CheckedEntry
from contextasm.workspace.editing.import_memories import ImportOutcome, store_entries
from contextasm.workspace.editing.memories import PrivateLines, touch_memories
from contextasm.workspace.editing.remember import MemoryPlace, NewMemory, RememberOutcome, store_memories
from contextasm.workspace.folder import Folder

if TYPE_CHECKING:
    from contextasm.workspace.store.overlay import StoreOverlay


def remember_for_owner(
    owner: Owner,
    place: MemoryPlace,
    entries: Sequence[NewMemory],
    *,
    force: bool,
    private_lines: PrivateLines | None = None,
) -> list[RememberOutcome]:
    """Store the entries, or reinforce memories that say the same (`workspace.editing.remember.store_memories`).

    Raises `ContextasmError`; nothing is stored then, neither in files nor in a store.
    """
    if store := _store_of(owner, place):
        from contextasm.workspace.store.writing import remember_in_store

        overlay, home = store
        return remember_in_store(
            owner.workspace,
            overlay,
            home,
            entries,
            owner.day,
            force=force,
            private_lines=private_lines,
            stored=place.stored,
        )
    return store_memories(owner.workspace, place, entries, owner.day, force=force, private_lines=private_lines)


def import_for_owner(
    owner: Owner, place: MemoryPlace, entries: Sequence[CheckedEntry], *, update: bool, dry_run: bool
) -> list[ImportOutcome]:
    """Add entries of another program (`workspace.editing.import_memories.store_entries`). Raises `ContextasmError`."""
    if store := _store_of(owner, place):
        from contextasm.workspace.store.entries import import_entries

        overlay, home = store
        return import_entries(owner.workspace, overlay, home, entries, update=update, dry_run=dry_run)
    return store_entries(owner.workspace, place, entries, update=update, dry_run=dry_run)


def touch_shown(workspace: Folder, context: Context) -> Problem | None:
    """Set `accessed` of the memories that a context shows to its date, in files and in a store.

    A store that can't be written is a problem, and None stands for none: the context is built, and a day of access is
    no loss. Raises `ContextasmError` for files.
    """
    problem = _touch_in_store(workspace, context)
    touch_memories(workspace, context)
    return problem


def _touch_in_store(workspace: Folder, context: Context) -> Problem | None:
    overlay = workspace.overlay
    if not overlay:
        return None
    shown = [(each.path, each.fragment) for each in context.decisions if each.kept and overlay.home(each.path)]
    if not shown:
        return None
    from contextasm.workspace.store.overlay import StoreOverlay
    from contextasm.workspace.store.rows import MemoryAt
    from contextasm.workspace.store.writing import touch_in_store

    assert isinstance(overlay, StoreOverlay)
    where, hint = f"store {overlay.config.address}", "ask the owner of the store for the right (docs/store.md)"
    try:
        refused = touch_in_store(overlay, [MemoryAt(*place) for place in shown], context.request.date)
    except ContextasmError as error:
        where, reason, hint = error.where, error.what, error.hint
    else:
        reason = f"your role may not write in {', '.join(refused)}" if refused else ""
    message = f"the day of access is not set in the store: {reason}"
    return Problem("store-untouched", where, 0, message, hint) if reason else None


def _store_of(owner: Owner, place: MemoryPlace) -> tuple[StoreOverlay, str] | None:
    """The shared store and the home in it that a place belongs to; None for files."""
    overlay = owner.workspace.overlay
    home = overlay.home(place.path) if overlay else None
    if home is None:
        return None
    from contextasm.workspace.store.overlay import StoreOverlay

    assert isinstance(overlay, StoreOverlay)
    return overlay, home
