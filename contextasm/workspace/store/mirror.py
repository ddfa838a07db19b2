"""The mirror of a store: pages of Markdown under `.ctxasm/store/`, brought up to date by difference.

A pull asks for the pages with a row that changed since the horizon of the last one: the oldest transaction that was
then still running. Numbers and times of rows would miss what is committed later than it was numbered; this can't.
Pages are written before the state that counts on them, so a pull that is killed is made up for by the next one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from contextasm.model import ContextasmError, FileStamp
from contextasm.workspace.atomic import write
from contextasm.workspace.editing.files import hold_lock_file
from contextasm.workspace.state import STATE_FOLDER, private_folder, state_folder
from contextasm.workspace.store.connection import Session, open_session
from contextasm.workspace.store.difference import (
    StoreState,
    all_pages,
    changed_pages,
    page_texts,
    store_state,
)
from contextasm.workspace.store.migrations import require_version
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
    page_stamps,
    save_state,
)

MIRROR = f"{STATE_FOLDER}/store"
"""Folder of the mirror, relative to the workspace; below it each home has its folder `memories`."""

_PAGES_AT_ONCE = 64
"""Pages whose rows are fetched and written together, so that no store has to fit into memory."""

_LOCK_SECONDS = 60.0
"""Seconds to wait for another pull of the same workspace."""


class PullResult(NamedTuple):
    """Result of bringing a mirror up to date."""

    state: MirrorState
    changed: Sequence[str]
    """Paths of the pages that were written or removed, as the workspace names them."""


class _HomeDifference(NamedTuple):
    """What a pull has to do for one home."""

    horizon: int
    writes: bool
    intact: Mapping[str, FileStamp]
    """The pages whose files are as they were written."""
    stale: Sequence[tuple[str, str]]
    """Role and page of each page to fetch, some of which may be intact."""


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
    with _locked_mirror(root) as folder:
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
def _locked_mirror(root: str) -> Iterator[Path]:
    folder = state_folder(root, "store")
    with hold_lock_file(folder.with_name("store.lock"), patience=_LOCK_SECONDS):
        yield folder


def _pull_homes(session: Session, config: StoreConfig, root: str, state: MirrorState, now: float) -> PullResult:
    store = store_state(session)
    known = state.homes if state.source == store.source else {}
    known = {home: entry for home, entry in known.items() if entry.horizon <= store.horizon}
    if state.access and not known:  # pages of this store must not be read as those of another one
        save_state(mirror_folder(root), NO_MIRROR)
    homes: dict[str, HomeState] = {}
    changed: list[str] = []
    for home in config.homes:
        if home in store.rights:
            difference = _home_difference(session, root, home, store, known.get(home) or REFUSED)
            homes[home], paths = _pull_home(session, root, home, difference)
            changed += paths
        else:
            homes[home] = REFUSED
    for home in _mirrored_homes(root) - {home for home in homes if homes[home] is not REFUSED}:
        changed += _remove_pages(root, home, page_stamps(mirror_folder(root, home)))
    new_state = MirrorState(access_key(config), store.source, now, homes)
    save_state(mirror_folder(root), new_state)
    return PullResult(new_state, changed)


def _home_difference(session: Session, root: str, home: str, store: StoreState, before: HomeState) -> _HomeDifference:
    found = page_stamps(mirror_folder(root, home))
    intact = {name: stamp for name, stamp in before.pages.items() if found.get(name) == stamp}
    if before.is_refused:
        stale = all_pages(session, home)
    else:
        stale = changed_pages(session, home, before.horizon, before.pages.keys() - intact.keys())
    return _HomeDifference(store.horizon, store.rights[home], intact, sorted(stale))


def _pull_home(session: Session, root: str, home: str, difference: _HomeDifference) -> tuple[HomeState, list[str]]:
    """Fetch and write the stale pages of a home; its new state, and the paths of the files that changed."""
    folder = private_folder(root, "store", *home.split("/"), "memories")
    pages = dict(difference.intact)
    written: list[str] = []
    changed: list[str] = []
    for start in range(0, len(difference.stale), _PAGES_AT_ONCE):
        batch = difference.stale[start : start + _PAGES_AT_ONCE]
        texts = page_texts(session, home, batch)
        for role, page in batch:
            name = page_name(page, role)
            pages.pop(name, None)
            if text := texts.get((role, page)):
                changed += [f"{home}/memories/{name}"] * _write_page(folder / name, text)
                written.append(name)
    found = page_stamps(folder)
    # What is gone already, or was changed since it was looked at, is fetched by the next pull.
    pages |= {name: found.get(name, NO_FILE) for name in written}
    changed += _remove_pages(root, home, found.keys() - pages.keys())
    return HomeState(difference.horizon, difference.writes, pages), changed


def _write_page(path: Path, text: str) -> bool:
    if path.is_symlink():  # it came from elsewhere, and nothing is written through it
        path.unlink()
    return write(path, text.encode(), new_mode=0o600)


def _mirrored_homes(root: str) -> set[str]:
    """The homes that have a folder in the mirror."""
    homes = set()
    for kind in ("agents", "teams"):
        with suppress(OSError):
            homes |= {f"{kind}/{name}" for name in os.listdir(mirror_folder(root) / kind)}
    return homes


def _remove_pages(root: str, home: str, names: Iterable[str]) -> list[str]:
    """Remove files of a home's mirror; gives their paths as the workspace names them."""
    folder = mirror_folder(root, home)
    if os.path.realpath(folder) != str(folder):
        return []
    try:
        for name in names:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise ContextasmError(str(folder), f"can't be changed: {error.strerror}", "make it writable") from error
    return [f"{home}/memories/{name}" for name in names]
