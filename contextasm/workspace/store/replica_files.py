"""Files of a replica: its pages, its state, and the search index that was made of the pages.

Only their owner may read them, and nothing is written or removed through a link, which came from elsewhere. The state
has the database of the replica, the last change in it, and its pages as they were written. A state that is damaged,
foreign or of another version is ignored, and the replica is then pulled whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from contextasm.model import ContextasmError, FileStamp, NamedTuple, system_errors
from contextasm.text.json_reader import load_json
from contextasm.workspace.atomic import write_private
from contextasm.workspace.cache import index_database
from contextasm.workspace.reading import file_bytes, file_stamp
from contextasm.workspace.store.connection import StoreConfig

_FIELDS = re.compile(rb"^- \[[^\]\n]*\]|^-(?= )| \{(?:type=(?:\"[^\"]*\"|[^ ]+) )?id=[^{}]*\}$")
"""Type and fields at the ends of a memory's lines (`text.memories.writer.memory_bullet`)."""


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


def remove_pages(root: str, folder: Path, names: Collection[str]) -> Collection[str]:
    """Remove files of an owner's folder and the search index; gives the files' names, none for a folder elsewhere.

    The index first: a pull that ends in between finds the files again, and nothing else says that an index has them.
    Raises `ContextasmError` for a file that stays.
    """
    if not names or os.path.realpath(folder) != str(folder):
        return ()
    remove_index(root)
    with system_errors(str(folder), "can't be changed", "make it writable"):
        for name in names:
            (folder / name).unlink(missing_ok=True)
    return names


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
    pages: Mapping[str, FileStamp]
    """The files of the owner by their names."""

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
    try:
        return _parse_state(load_json(data.decode(), str(path)))
    except (ContextasmError, ArithmeticError, ValueError, KeyError, TypeError, AttributeError):
        return NO_REPLICA


def _parse_state(value: object) -> ReplicaState:
    """The state of a JSON value. Raises what its parts raise for any other: errors of keys, types, values and sums."""
    if not isinstance(value, dict) or value["schema"] != _SCHEMA:
        raise ValueError(_SCHEMA)
    owners, begun = (
        {
            str(owner): OwnerState(
                int(entry["snapshot"]),
                entry["writes"] is True,
                int(entry["number"]),
                {str(name): FileStamp(*map(int, stamp)) for name, stamp in entry["pages"].items()},
            )
            for owner, entry in value[key].items()
        }
        for key in ("owners", "begun")
    )
    return ReplicaState(str(value["access"]), str(value["source"]), float(value["checked"]), owners, begun)


def save_state(folder: Path, state: ReplicaState) -> None:
    """Store the state, whole or not at all. Raises as `write_private`."""
    owners, begun = ({owner: entry._asdict() for owner, entry in each.items()} for each in (state.owners, state.begun))
    value = {"schema": _SCHEMA, **state._asdict(), "owners": owners, "begun": begun}
    write_private(folder / STATE_FILE, json.dumps(value, separators=(",", ":"), sort_keys=True).encode())
