"""The mirror of a store: pages of Markdown under `.ctxasm/store/`, brought up to date by difference.

A pull asks for the pages with a row that changed since the horizon of the last one: the oldest transaction that was
then still running. Numbers and times of rows would miss what is committed later than it was numbered; this can't.
Pages are written before the state that lists them. The pull after a killed one continues from its last saved batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from contextasm.model import ContextasmError, FileStamp
from contextasm.workspace.editing.files import hold_lock_file
from contextasm.workspace.state import STATE_FOLDER, private_folder
from contextasm.workspace.store.connection import Session, open_session
from contextasm.workspace.store.difference import (
    StoreState,
    all_pages,
    changed_pages,
    in_batches,
    page_texts,
    store_state,
)
from contextasm.workspace.store.page_files import (
    loses_text,
    mirrored_homes,
    page_stamp,
    page_stamps,
    remove_indexes,
    remove_pages,
    write_page,
)
from contextasm.workspace.store.pages import page_name
from contextasm.workspace.store.settings import StoreConfig
from contextasm.workspace.store.state import (
    NO_FILE,
    NO_MIRROR,
    REFUSED,
    HomeState,
    MirrorState,
    access_key,
    load_state,
    save_state,
)
from contextasm.workspace.store.version import require_version

MIRROR = f"{STATE_FOLDER}/store"
"""Folder of the mirror, relative to the workspace; below it each home has its folder `memories`."""

_LOCK_SECONDS = 60.0
"""Seconds to wait for another pull of the same workspace."""


class PullResult(NamedTuple):
    """Result of bringing a mirror up to date."""

    state: MirrorState
    changed: Sequence[str]
    """Paths of the pages that were written or removed, as the workspace names them."""


class _HomeDifference(NamedTuple):
    """Work of a pull for one home."""

    horizon: int
    writes: bool
    intact: Mapping[str, FileStamp]
    """The pages whose files are as they were written."""
    stale: Sequence[tuple[str, str]]
    """Role and page of each page to fetch, some of which may be intact."""
    pages: dict[str, FileStamp]
    """The pages that are as they are to be: the intact ones that are not stale, and each that is written."""
    is_known: bool
    """False where a search may have indexed other pages than `intact`; then all indexes are removed."""


def mirror_folder(root: str, home: str = "") -> Path:
    """The folder of the mirror, or of a home's pages in it, on disk."""
    return Path(root, MIRROR, home, "memories") if home else Path(root, MIRROR)


def pull(root: str, config: StoreConfig, now: Callable[[], float], max_age: float = 0.0) -> PullResult:
    """Bring the mirror of the workspace at `root` up to date, unless it is younger than `max_age` seconds.

    Raises `ContextasmError` where the server can't be asked or the mirror can't be written; it can still be read then.
    """
    state = load_state(mirror_folder(root))
    if is_fresh(state, config, now(), max_age):
        return PullResult(state, ())
    try:
        return _pull_locked(root, config, now, max_age)
    except OSError as error:
        where = str(error.filename or mirror_folder(root))
        raise ContextasmError(where, f"can't be brought up to date: {error.strerror}", "make it writable") from error


def _pull_locked(root: str, config: StoreConfig, now: Callable[[], float], max_age: float) -> PullResult:
    with locked_mirror(root) as folder:
        state = load_state(folder)  # another process may have pulled meanwhile
        if is_fresh(state, config, now(), max_age):
            return PullResult(state, ())
        with open_session(config, snapshot=True) as session:
            require_version(session, config)
            return _pull_homes(session, config, root, state, now())


def is_fresh(state: MirrorState, config: StoreConfig, now: float, max_age: float) -> bool:
    """Whether a mirror of this store, for this person, and of these homes is younger than `max_age` seconds."""
    return (
        state.access == access_key(config) and {*config.homes} <= {*state.homes} and 0 <= now - state.checked < max_age
    )


@contextmanager
def locked_mirror(root: str, *, needed: bool = True) -> Iterator[Path]:
    """Hold the lock of the mirror; gives its folder.

    With `needed=False`, a read-only workspace is used without a lock, since nothing can pull there. Raises
    `ContextasmError`.
    """
    folder = private_folder(root, "store") if needed else mirror_folder(root)
    with hold_lock_file(folder.with_name("store.lock"), patience=_LOCK_SECONDS, needed=needed):
        yield folder


def _pull_homes(session: Session, config: StoreConfig, root: str, state: MirrorState, now: float) -> PullResult:
    store = store_state(session)
    if not _is_of_store(state, store):  # pages of this store must not be read as those of another one or person
        state = NO_MIRROR._replace(source=store.source)
        save_state(mirror_folder(root), state)
    begun = dict(state.begun)
    homes: dict[str, HomeState] = {}
    changed: list[str] = []

    def save() -> None:
        save_state(mirror_folder(root), state._replace(begun=begun))

    for home in config.homes:
        if home in store.rights:
            difference = _home_difference(session, root, home, store, state)
            begun[home] = HomeState(difference.horizon, difference.writes, difference.pages)
            changed += _pull_home(session, root, home, difference, save)
            homes[home] = begun[home]
        else:
            homes[home] = REFUSED
    for home in mirrored_homes(mirror_folder(root)) - {home for home in homes if homes[home] is not REFUSED}:
        changed += _remove_pages(root, home, page_stamps(mirror_folder(root, home)))
    new_state = MirrorState(access_key(config), store.source, now, homes, {})
    save_state(mirror_folder(root), new_state)
    return PullResult(new_state, changed)


def _is_of_store(state: MirrorState, store: StoreState) -> bool:
    """Whether a mirror is of this store as it is now: a horizon in its future is of a history that was undone."""
    horizons = [entry.horizon for entry in (*state.homes.values(), *state.begun.values())]
    return state.source == store.source and max(horizons, default=0) <= store.horizon


def _home_difference(session: Session, root: str, home: str, store: StoreState, state: MirrorState) -> _HomeDifference:
    found = page_stamps(mirror_folder(root, home))
    before = state.begun.get(home) or state.homes.get(home) or REFUSED
    intact = {name: stamp for name, stamp in before.pages.items() if found.get(name) == stamp}
    is_whole = home not in state.begun and len(intact) == len(before.pages)
    if before.is_refused:
        stale = all_pages(session, home)
    else:
        stale = changed_pages(session, home, before.horizon, None if is_whole else intact)
    names = {page_name(page, role) for role, page in stale}
    pages = {name: stamp for name, stamp in intact.items() if name not in names}
    is_known = is_whole and not before.is_refused
    return _HomeDifference(store.horizon, store.rights[home], intact, sorted(stale), pages, is_known)


def _pull_home(
    session: Session, root: str, home: str, difference: _HomeDifference, save: Callable[[], None]
) -> list[str]:
    """Fetch and write the stale pages of a home, which then are among its pages; gives the paths of changed files.

    `save` is called between batches, for the pull that goes on if this one breaks.
    """
    folder = private_folder(root, "store", *home.split("/"), "memories")
    if not difference.is_known:
        remove_indexes(root)
    changed: list[str] = []
    for number, batch in enumerate(in_batches(session, home, difference.stale)):
        if number:
            save()
        texts = page_texts(session, home, batch)
        names = {page_name(page, role): text for (role, page), text in texts.items()}
        loses = any(loses_text(folder / name, text) for name, text in names.items() if name in difference.intact)
        changed += [f"{home}/memories/{name}" for name, text in names.items() if write_page(folder / name, text)]
        # What is gone already, or is changed from now on, is fetched by the next pull.
        difference.pages.update((name, page_stamp(folder / name) or NO_FILE) for name in names)
        if loses:
            remove_indexes(root)
    return changed + _remove_pages(root, home, page_stamps(folder).keys() - difference.pages.keys())


def _remove_pages(root: str, home: str, names: Collection[str]) -> list[str]:
    """Remove files of a home's mirror, and the indexes first; gives their paths as the workspace names them."""
    return [f"{home}/memories/{name}" for name in remove_pages(root, mirror_folder(root, home), names)]
