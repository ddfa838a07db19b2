"""The replica of a store: pages of Markdown under `.ctxasm/store/`, brought up to date by difference.

A pull asks for the pages with a row that changed since the snapshot of the last one: the oldest transaction that was
then still running (`xmin`). Numbers and times of rows would miss what is committed later than it was numbered; this
can't. All questions of a pull are one transaction that sees one state of the database. Pages are written before the
state that lists them. The pull after a killed one continues from its last saved batch.

Only their owner may read the files of a replica, and nothing is written or removed through a link, which came from
elsewhere. The state has the database of the replica, the last change in it, and its pages as they were written. A state
that is damaged, foreign or of another version is ignored, and the replica is then pulled whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from contextasm.model import ContextasmError, FileStamp, NamedTuple, grouped, system_errors
from contextasm.rendering.json_codec import from_json, to_json
from contextasm.text.json_reader import load_json
from contextasm.workspace.atomic import STATE_FOLDER, private_folder, write_private
from contextasm.workspace.cache import index_database
from contextasm.workspace.editing.files import hold_lock_file
from contextasm.workspace.reading import file_bytes, file_stamp
from contextasm.workspace.store.connection import Session, StoreConfig, open_session
from contextasm.workspace.store.pages import COLUMNS, memory_of_row, page_name, page_text
from contextasm.workspace.store.rows import OF_OWNER
from contextasm.workspace.store.schema import require_version

REPLICA = f"{STATE_FOLDER}/store"
"""Folder of the replica, relative to the workspace; below it each owner has its folder `memories`."""

_LOCK_SECONDS = 60.0
"""Seconds to wait for another pull of the same workspace."""

_BATCH_BYTES = 2_000_000
"""Bytes of text that one statement asks for, unless a page has more: over a slow line, too, it ends in time
(`connection._LIMITS`), and no store has to fit into memory."""

_BATCH_PAGES = 256
"""Pages that one statement asks for, at most."""

_FIELDS = re.compile(rb"^- \[[^\]\n]*\]|^-(?= )| \{(?:type=(?:\"[^\"]*\"|[^ ]+) )?id=[^{}]*\}$")
"""Type and fields at the ends of a memory's lines (`text.memories.writer.memory_bullet`)."""

_Page = tuple[str, str]
"""Role and name of a page."""


def replica_folder(root: str, owner: str = "") -> Path:
    """The folder of the replica, or of an owner's pages in it, on disk."""
    return Path(root, REPLICA, owner, "memories") if owner else Path(root, REPLICA)


def pull(root: str, config: StoreConfig, now: Callable[[], float], max_age: float = 0.0) -> Sequence[str]:
    """Bring the replica of the workspace at `root` up to date, unless it is younger than `max_age` seconds.

    Gives the paths of the pages that were written or removed, as the workspace names them. Raises `ContextasmError`
    if the server can't be asked or the replica can't be written; it can still be read then.
    """
    if _is_fresh(load_state(replica_folder(root)), config, now(), max_age):
        return ()
    try:
        with locked_replica(root) as folder:
            state = load_state(folder)  # another process may have pulled meanwhile
            if _is_fresh(state, config, now(), max_age):
                return ()
            with open_session(config, snapshot=True) as session:
                require_version(session, config)
                return _pull_owners(session, config, root, state, now())
    except OSError as error:
        where = str(error.filename or replica_folder(root))
        raise ContextasmError(where, f"can't be brought up to date: {error.strerror}", "make it writable") from error


def _is_fresh(state: ReplicaState, config: StoreConfig, now: float, max_age: float) -> bool:
    """Whether a replica of this store, for this person, and of these owners is younger than `max_age` seconds."""
    return (
        state.access == access_key(config)
        and {*config.owners} <= {*state.owners}
        and 0 <= now - state.checked < max_age
    )


@contextmanager
def locked_replica(root: str, *, needed: bool = True) -> Iterator[Path]:
    """Hold the lock of the replica; gives its folder.

    With `needed=False`, a read-only workspace is used without a lock, since nothing can pull there. Raises
    `ContextasmError`.
    """
    folder = private_folder(root, "store") if needed else replica_folder(root)
    with hold_lock_file(folder.with_name("store.lock"), patience=_LOCK_SECONDS, needed=needed):
        yield folder


def _pull_owners(session: Session, config: StoreConfig, root: str, state: ReplicaState, now: float) -> Sequence[str]:
    source, snapshot = _source_and_snapshot(session)
    rights = session.rows("SELECT owner, writes, number FROM ctxasm.member WHERE role = current_user")
    seen = {owner: OwnerState(snapshot, writes, number, {}) for owner, writes, number in rights}
    snapshots = [entry.snapshot for entry in (*state.owners.values(), *state.begun.values())]
    if state.source != source or max(snapshots, default=0) > snapshot:
        # Pages of this store must not be read as pages of another store or person, or of a history that was undone.
        state = NO_REPLICA._replace(source=source)
        save_state(replica_folder(root), state)
    begun = dict(state.begun)
    changed: list[str] = []

    def save(owner: str, entry: OwnerState) -> None:
        begun[owner] = entry
        save_state(replica_folder(root), state._replace(begun=begun))

    for owner in config.owners:
        if owner in seen:
            before = state.begun.get(owner) or state.owners.get(owner) or REFUSED
            is_whole = owner not in state.begun and not before.is_refused
            seen[owner], paths = _pull_owner(session, root, owner, seen[owner], before, save, is_whole=is_whole)
            begun[owner] = seen[owner]
            changed += paths
    for owner in replicated_owners(replica_folder(root)) - {owner for owner in config.owners if owner in seen}:
        changed += remove_pages(root, owner, page_stamps(replica_folder(root, owner)))
    owners = {owner: seen.get(owner, REFUSED) for owner in config.owners}
    save_state(replica_folder(root), ReplicaState(access_key(config), source, now, owners, {}))
    return changed


def _source_and_snapshot(session: Session) -> tuple[str, int]:
    """Database, history of its server and role, which give transactions their numbers; and `xmin`."""
    ((system, timeline, database, role, snapshot),) = session.rows(
        "SELECT system_identifier, timeline_id, oid, current_user, pg_snapshot_xmin(pg_current_snapshot())::text"
        " FROM pg_control_system(), pg_control_checkpoint(), pg_database WHERE datname = current_database()"
    )
    return f"{system}/{timeline}/{database} {role}", int(snapshot)


def _pull_owner(
    session: Session,
    root: str,
    owner: str,
    seen: OwnerState,
    before: OwnerState,
    save: Callable[[str, OwnerState], None],
    *,
    is_whole: bool,
) -> tuple[OwnerState, list[str]]:
    """Fetch and write the pages of an owner that changed since `before`; gives the state, and paths of changed files.

    `seen` is the owner as this pull sees it, without its pages. `save` is called between batches, for the pull that
    goes on if this one breaks. `is_whole` is whether the pull before was complete.
    """
    found = page_stamps(replica_folder(root, owner))
    intact = {name: stamp for name, stamp in before.pages.items() if found.get(name) == stamp}
    is_whole = is_whole and len(intact) == len(before.pages)
    stale = _stale_pages(session, owner, before.snapshot, None if is_whole or before.is_refused else intact)
    names = {page_name(page, role) for role, page in stale}
    pages = {name: stamp for name, stamp in intact.items() if name not in names}
    folder = private_folder(root, "store", *owner.split("/"), "memories")
    if not is_whole:  # a search may have indexed other pages than the intact ones
        remove_index(root)
    changed: list[str] = []
    for number, batch in enumerate(_batches(session, owner, stale)):
        if number:
            save(owner, seen._replace(pages=pages))
        texts = page_texts(session, owner, batch)
        new = {page_name(page, role): text for (role, page), text in texts.items()}
        loses = any(loses_text(folder / name, text) for name, text in new.items() if name in intact)
        changed += [f"{owner}/memories/{name}" for name, text in new.items() if write_page(folder / name, text)]
        # What is gone already, or is changed from now on, is fetched by the next pull.
        pages.update((name, file_stamp(folder / name) or NO_FILE) for name in new)
        if loses:
            remove_index(root)
    changed += remove_pages(root, owner, page_stamps(folder).keys() - pages.keys())
    return seen._replace(pages=pages), changed


def _stale_pages(session: Session, owner: str, snapshot: int, intact: Container[str] | None) -> Sequence[_Page]:
    """The pages that may have changed since a snapshot; with `intact`, also each whose file is not in it."""
    every = f"SELECT DISTINCT role::text, page FROM ctxasm.memory WHERE {OF_OWNER}"
    changed = session.rows(f"{every} AND changed >= %s::text::xid8", owner, str(snapshot))
    pages = {(role, page) for role, page in changed}
    if intact is not None:
        pages |= {(role, page) for role, page in session.rows(every, owner) if page_name(page, role) not in intact}
    return sorted(pages)


def _batches(session: Session, owner: str, pages: Sequence[_Page]) -> Iterator[Sequence[_Page]]:
    """The pages in their order, in batches of up to `_BATCH_BYTES` of text and `_BATCH_PAGES`, of one page at least."""
    sizes = _page_sizes(session, owner, pages) if len(pages) > 1 else {}
    batch: list[_Page] = []
    size = 0
    for page in pages:
        size += sizes.get(page, 0)
        if batch and (size > _BATCH_BYTES or len(batch) == _BATCH_PAGES):
            yield batch
            batch, size = [], sizes.get(page, 0)
        batch.append(page)
    if batch:
        yield batch


def _page_sizes(session: Session, owner: str, pages: Sequence[_Page]) -> Mapping[_Page, int]:
    """Bytes of the texts of pages; a page without any is missing."""
    statement = (
        f"SELECT role::text, page, sum(octet_length(text)) FROM ctxasm.memory WHERE {OF_OWNER} AND NOT deleted"
        " AND (role, page) IN (SELECT * FROM unnest(%s::name[], %s::text[])) GROUP BY role, page"
    )
    rows = session.rows(statement, owner, [role for role, _ in pages], [page for _, page in pages])
    return {(role, page): int(size) for role, page, size in rows}


def page_texts(session: Session, owner: str, pages: Sequence[_Page]) -> Mapping[_Page, str]:
    """The texts of pages; one without a memory is missing."""
    statement = (
        f"SELECT role::text, page, {COLUMNS} FROM ctxasm.memory"
        f" WHERE {OF_OWNER} AND (role, page) IN %s AND NOT deleted ORDER BY seq"
    )
    rows = session.rows(statement, owner, tuple(pages))
    memories = grouped(((role, page), memory_of_row(row)) for role, page, *row in rows)
    return {page: page_text(of_page) for page, of_page in memories.items()}


# --- Files ---


def replicated_owners(replica: Path) -> set[str]:
    """The owners that have a folder in a replica."""
    owners = set()
    for kind in ("agents", "teams"):
        with suppress(OSError):
            owners |= {f"{kind}/{name}" for name in os.listdir(replica / kind)}
    return owners


def page_stamps(folder: Path) -> dict[str, FileStamp]:
    """The regular files of a folder by name; links and others count as missing.

    Empty without a folder. Raises `OSError` if it can't be listed.
    """
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return {name: stamp for name in names if (stamp := file_stamp(folder / name))}


def write_page(path: Path, text: str) -> bool:
    """Write a page; False if the file had this text. Raises as `state.write_private`."""
    return write_private(path, text.encode())


def loses_text(path: Path, text: str) -> bool:
    """Whether the file of a page has a line that its new text lacks. Type and fields do not count."""
    before, after = file_bytes(str(path)), text.encode()
    if not isinstance(before, bytes):
        return True
    return not after.startswith(before) and bool(_lines(before) - _lines(after))


def _lines(page: bytes) -> set[bytes]:
    return {_FIELDS.sub(b"", line) for line in page.split(b"\n")}


def remove_pages(root: str, owner: str, names: Collection[str]) -> Sequence[str]:
    """Remove files of an owner's replica, and the search index; gives their paths as the workspace names them.

    None for a folder that leads elsewhere.

    The index first: a pull that ends in between finds the files again, and nothing else says that an index has them.
    Raises `ContextasmError` for a file that stays.
    """
    folder = replica_folder(root, owner)
    if not names or os.path.realpath(folder) != str(folder):
        return ()
    remove_index(root)
    with system_errors(str(folder), "can't be changed", "make it writable"):
        for name in names:
            (folder / name).unlink(missing_ok=True)
    return [f"{owner}/memories/{name}" for name in names]


def remove_index(root: str) -> None:
    """Remove the search index of a workspace, which holds texts that pages have lost; the next search makes a new one.

    All of it: only a search knows what it was made of.
    """
    from contextasm.retrieval.memory_index.database import remove_database  # here: it loads SQLite

    if path := index_database(root, {**os.environ, "CTXASM_NO_CACHE": ""}):
        remove_database(Path(path))


# --- State ---


STATE_FILE = "state.json"
_SCHEMA = "ctxasm.store-replica/1"

NO_FILE = FileStamp(0, 0, 0, 0)
"""The stamp of a page whose file was gone before it was looked at; no file has it."""


class OwnerState(NamedTuple):
    """The replica of one owner's memories."""

    snapshot: int
    """Transaction before which every change is in the replica (`xmin`); 0 if the role may not read the memories."""
    writes: bool
    """Whether the role may write them."""
    number: int
    """The number of the role, with which the ids of its memories begin."""
    pages: Mapping[str, tuple[int, ...]]
    """The stamps of the owner's files by their names (`model.FileStamp`)."""

    @property
    def is_refused(self) -> bool:
        """Whether the role may not read the memories."""
        return not self.snapshot


REFUSED = OwnerState(0, writes=False, number=0, pages={})
"""The replica of memories that the role may not read: none."""


class ReplicaState(NamedTuple):
    """A replica as the last pull left it."""

    access: str
    """The `access_key` of store and person, so another one is recognized without the server.

    Empty until the first pull is complete.
    """
    source: str
    """Database, timeline and role as the server reports them; a change of any makes this another replica."""
    checked: float
    """Time of the last answer of the server, in seconds since 1970."""
    owners: Mapping[str, OwnerState]
    """The owners whose last pull is complete."""
    begun: Mapping[str, OwnerState]
    """Owners whose last pull was interrupted: its snapshot, and the pages that were up to date then."""


NO_REPLICA = ReplicaState("", "", 0.0, {}, {})


def access_key(config: StoreConfig) -> str:
    """The store and who asks it, as libpq finds out from the address, the environment and the system's user, in a line.

    Equal keys mean the same database and role, unless a service file or the server changes them: those are not looked
    up.
    """
    given = {
        "user": os.environ.get("PGUSER") or _system_user(),
        "host": os.environ.get("PGHOST", ""),
        "port": os.environ.get("PGPORT") or "5432",
    }
    given |= config.parts
    given = {"dbname": os.environ.get("PGDATABASE") or given["user"]} | given
    given |= {name: os.environ.get(name, "") for name in ("PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE", "PGOPTIONS")}
    return json.dumps(given, sort_keys=True)


def _system_user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def load_state(folder: Path) -> ReplicaState:
    """The state of the replica in `folder`; `NO_REPLICA` if none can be used."""
    path = folder / STATE_FILE
    data = file_bytes(str(path), holds=lambda _path: False)
    if not isinstance(data, bytes):
        return NO_REPLICA
    state = NO_REPLICA
    with suppress(ContextasmError, ArithmeticError, ValueError):
        value = load_json(data.decode(), str(path))
        if isinstance(value, dict) and value.pop("schema", "") == _SCHEMA:
            state = from_json(ReplicaState, value, "state")
    return state


def replica_state(root: str, config: StoreConfig) -> ReplicaState:
    """The state of the replica of a store for this person; `NO_REPLICA` for none, and for that of another one."""
    state = load_state(replica_folder(root))
    return state if state.access == access_key(config) else NO_REPLICA


def save_state(folder: Path, state: ReplicaState) -> None:
    """Store the state, whole or not at all. Raises as `write_private`."""
    value = {"schema": _SCHEMA, **to_json(ReplicaState, state)}
    write_private(folder / STATE_FILE, json.dumps(value, separators=(",", ":"), sort_keys=True).encode())
