"""The state of a mirror: which database it mirrors, up to where, and its pages as they were written.

It lies beside the pages. What is damaged, foreign or of another version counts as none, and the mirror is then pulled
whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from contextasm.model import ContextasmError, FileStamp
from contextasm.text.json_reader import load_json
from contextasm.workspace.reading import file_bytes
from contextasm.workspace.state import write_private
from contextasm.workspace.store.settings import StoreConfig

STATE_FILE = "state.json"
_SCHEMA = "ctxasm.store-mirror/1"

NO_FILE = FileStamp(0, 0, 0, 0)
"""The stamp of a page whose file was gone before it was looked at; no file has it."""


class HomeState(NamedTuple):
    """The mirror of one home."""

    horizon: int
    """Transaction before which every change is in the mirror; 0 where the role may not read the home."""
    writes: bool
    """Whether the role may write in the home."""
    pages: Mapping[str, FileStamp]
    """The files of the home by their names."""

    @property
    def is_refused(self) -> bool:
        """Whether the role may not read the home."""
        return not self.horizon


REFUSED = HomeState(0, writes=False, pages={})
"""The mirror of a home that the role may not read: none."""


class MirrorState(NamedTuple):
    """A mirror as the last pull left it."""

    access: str
    """The `access_key` of store and person, so another one is recognized without the server.

    Empty until the first pull is complete.
    """
    source: str
    """Database, timeline and role as the server reports them; a change of any makes this another mirror."""
    checked: float
    """Time of the last answer of the server, in seconds since 1970."""
    homes: Mapping[str, HomeState]
    """The homes whose last pull is complete."""
    begun: Mapping[str, HomeState]
    """Homes whose last pull was interrupted: its horizon, and the pages that were up to date then."""


NO_MIRROR = MirrorState("", "", 0.0, {}, {})


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


def load_state(folder: Path) -> MirrorState:
    """The state of the mirror in `folder`; `NO_MIRROR` where there is none that can be used."""
    path = folder / STATE_FILE
    data = file_bytes(str(path), holds=lambda _path: False)
    if not isinstance(data, bytes):
        return NO_MIRROR
    try:
        return _parse_state(load_json(data.decode(), str(path)))
    except (ContextasmError, ArithmeticError, ValueError, KeyError, TypeError, AttributeError):
        return NO_MIRROR


def _parse_state(value: object) -> MirrorState:
    """The state of a JSON value. Raises what its parts raise for any other: errors of keys, types, values and sums."""
    if not isinstance(value, dict) or value["schema"] != _SCHEMA:
        raise ValueError(_SCHEMA)
    homes, begun = (
        {
            str(home): HomeState(
                int(entry["horizon"]),
                entry["writes"] is True,
                {str(name): FileStamp(*map(int, stamp)) for name, stamp in entry["pages"].items()},
            )
            for home, entry in value[key].items()
        }
        for key in ("homes", "begun")
    )
    return MirrorState(str(value["access"]), str(value["source"]), float(value["checked"]), homes, begun)


def save_state(folder: Path, state: MirrorState) -> None:
    """Store the state, whole or not at all. Raises as `write_private`."""
    homes, begun = ({home: entry._asdict() for home, entry in each.items()} for each in (state.homes, state.begun))
    value = {"schema": _SCHEMA, **state._asdict(), "homes": homes, "begun": begun}
    write_private(folder / STATE_FILE, json.dumps(value, separators=(",", ":"), sort_keys=True).encode())
