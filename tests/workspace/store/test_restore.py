"""A backup, restored into another cluster as the page on the store says: roles first, then the database."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.postgres import Database, Server, replicated, running_server

InsufficientPrivilege = pytest.importorskip("psycopg2", reason="psycopg2 is not installed").errors.InsufficientPrivilege

pytestmark = pytest.mark.postgres


def run(server: Server, program: str, *words: str | Path, given: str = "") -> str:
    """What a program of the server's own prints, run by its superuser."""
    line = [server.handle.bin_path / program, "-h", server.socket, "-U", "postgres", *words]
    return subprocess.run(line, input=given, capture_output=True, text=True, check=True).stdout


def test_a_store_is_restored_into_another_cluster(database: Database, tmp_path: Path) -> None:
    database.add("seen by all", id="'open'")
    database.add("luna's own", id="'own'", private="true")
    root = database.workspace(tmp_path / "ws")
    database.overlay(root).pull()
    before = replicated(root)
    roles = run(database.server, "pg_dumpall", "--roles-only")
    run(database.server, "pg_dump", "-Fc", "-f", tmp_path / "dump", database.name)
    with running_server(roles=()) as other:
        run(other, "psql", "-q", "-d", "postgres", given=roles)
        run(other, "createdb", database.name)
        run(other, "pg_restore", "--exit-on-error", "-d", database.name, tmp_path / "dump")
        restored = Database(other, database.name)
        for role, texts in (("luna", 2), ("kenji", 1), ("reader", 1)):
            assert len(restored.run("SELECT 1 FROM ctxasm.memory", role=role)) == texts, role
        with pytest.raises(InsufficientPrivilege):
            restored.run("SELECT 1 FROM ctxasm.memory", role="outsider")
        restored.run("UPDATE ctxasm.memory SET changed = changed")
        overlay = restored.overlay(root)
        overlay.pull()
        assert replicated(root) == before
        assert not overlay.pull()
        stored = restored.ctxasm(root, "remember", "-t", "q1", "stored after the move", role="kenji")
        assert stored.code == 0, stored.err
        overlay.pull()
        pages = replicated(root)
        assert "stored after the move" in pages.pop("2025-03.000000.kenji.md")
        assert pages == before
