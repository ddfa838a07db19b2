"""The commands of a shared store, and the others while its server is there, away and back."""

from __future__ import annotations

import json
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from contextasm.workspace.editing.files import hold_lock_file
from contextasm.workspace.store import replica, schema
from tests.command import COMMAND, clean, fill, inside
from tests.postgres import FILES, TEAM, Database, Server, new_database, replicated, running_server, wait_for

pytestmark = pytest.mark.postgres

BUILD = ("build", "-q", "-a", "luna", "-t", "q1", "-b", "2k")
AWAY = {"PGREQUIREPEER": "nobody-at-all"}
"""The environment in which the server can't be reached."""


@pytest.fixture
def root(database: Database, tmp_path: Path) -> Path:
    database.add("The launch is on Friday", id="'launch'")
    return database.workspace(tmp_path / "ws")


def test_a_store_is_set_up_with_one_command(server: Server, tmp_path: Path) -> None:
    database = new_database(server, migrated=False)
    root = database.workspace(tmp_path)
    before = database.ctxasm(root, "remember", "-t", "q1", "x", role="postgres")
    assert (before.code, "ctxasm store init" in before.err) == (2, True)
    assert database.ctxasm(root, "store", "migrate", role="postgres").code == 2
    assert database.ctxasm(root, "store", "init", role="postgres").code == 0
    assert "already exists" in database.ctxasm(root, "store", "init", role="postgres").err
    assert "nothing to apply" in database.ctxasm(root, "store", "migrate", role="postgres").err
    assert database.ctxasm(root, "remember", "-t", "q1", "x", role="postgres").code == 0


def test_status(database: Database, root: Path) -> None:
    result = database.ctxasm(root, "store", "--json")
    data = json.loads(result.out)
    assert (result.code, data["reachable"], data["schema"]) == (0, True, "ctxasm.store/1")
    assert data["owners"] == [{"owner": TEAM, "access": "write", "pages": 1}]
    away = database.ctxasm(root, "store", **AWAY)
    assert (away.code, "not available" in away.out) == (1, True)
    assert json.loads(database.ctxasm(root, "store", "--json", role="reader").out)["owners"][0]["access"] == "read"
    refused = database.ctxasm(root, "store", role="outsider")
    assert "store-refused" in refused.err


@pytest.mark.parametrize("action", ["init", "status", "pull", "import", "export", "migrate"])
def test_no_hint_names_the_command_that_was_just_run(
    database: Database, root: Path, tmp_path: Path, action: str
) -> None:
    words = ("store", action, *(("--to", str(tmp_path / "out")) if action == "export" else ()))
    for result in (database.ctxasm(root, *words, **AWAY), database.ctxasm(root, *words, role="nobody_knows")):
        assert result.code in {1, 2}
        assert f"ctxasm store {action}`" not in result.err


class FakeServer(NamedTuple):
    """What answers every connection with one error of the server, as its protocol has it."""

    port: int


@pytest.fixture
def refusing(request: pytest.FixtureRequest) -> Iterator[FakeServer]:
    """A server that refuses in the words of the parameter: severity and message."""
    severity, message = request.param
    fields = f"S{severity}\0VFATAL\0C28P01\0M{message}\0\0".encode()
    answer = b"E" + (4 + len(fields)).to_bytes(4, "big") + fields

    class Refusal(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while len(head := self.request.recv(8)) == 8:
                if int.from_bytes(head[4:], "big") in {80877103, 80877104}:  # whether it takes TLS or GSSAPI
                    self.request.sendall(b"N")
                else:
                    self.request.recv(int.from_bytes(head[:4], "big") - 8)
                    self.request.sendall(answer)
                    return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refusal) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield FakeServer(listening.server_address[1])
        listening.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("refusing", "problem"),
    [
        (("FATAL", 'password authentication failed for user "luna"'), "store-login"),
        (("FATAL", 'database "agents" does not exist'), "store-login"),
        (("SCHWERWIEGEND", "Passwort-Authentifizierung für Benutzer »luna« fehlgeschlagen"), "store-login"),
        (("致命的エラー", 'ロール"luna"は存在しません'), "store-login"),
        (("ÖLÜMCÜL (FATAL)", '"luna" kullanıcısı için şifre doğrulaması başarısız oldu'), "store-login"),
        (("FATAL", "the database system is starting up"), "store-busy"),
        (("FATAL", "sorry, too many clients already"), "store-busy"),
    ],
    indirect=["refusing"],
)
def test_a_server_that_refuses_is_told_from_one_that_is_away_in_any_language(
    tmp_path: Path, refusing: FakeServer, problem: str
) -> None:
    address = f"memories:\n  store: postgresql://luna@127.0.0.1:{refusing.port}/agents\n  owners: [{TEAM}]\n"
    root = fill(tmp_path, {**FILES, "ctxasm.yaml": f"date: 2025-03-14\n{address}"}, base={})
    result = inside(*BUILD[:1], "-a", "luna", "-t", "q1", "--strict", "-w", root, env={"CTXASM_TRUST": str(root)})
    assert (result.code, f"[{problem}]" in result.err) == (1, True), result.err
    assert "can't be reached" not in result.err


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("INSERT INTO ctxasm.migration (number, name) VALUES (99, 'future')", "store-version"),
        ("DROP SCHEMA ctxasm CASCADE", "store-missing"),
        ("REVOKE SELECT ON ctxasm.memory FROM luna", "store-failed"),
    ],
)
def test_each_reason_why_a_replica_is_not_brought_up_to_date_has_its_own_id(
    database: Database, root: Path, statement: str, problem: str
) -> None:
    assert database.ctxasm(root, *BUILD).code == 0
    database.run(statement)
    result = database.ctxasm(root, "build", "-a", "luna", "-t", "q1")
    assert (result.code, "The launch is on Friday" in result.out) == (0, True)
    assert f"[{problem}]" in result.err
    assert database.ctxasm(root, *BUILD, "--strict").code == 1
    assert (database.ctxasm(root, "store").code, "not available" in database.ctxasm(root, "store").out) == (1, True)


def test_a_store_of_an_older_version_is_not_read(
    database: Database, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = schema.newest_version()
    monkeypatch.setattr(schema, "newest_version", lambda: newest + 1)
    result = database.ctxasm(root, *[word for word in BUILD if word != "-q"])
    assert (result.code, "[store-version]" in result.err) == (0, True), result.err


def test_a_missing_driver_is_told_as_that(database: Database, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    result = database.ctxasm(root, "build", "-a", "luna", "-t", "q1")
    assert ("[store-driver]" in result.err, "contextasm[postgres]" in result.err) == (True, True)


def test_a_replica_that_another_pull_holds_is_busy(
    database: Database, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert database.ctxasm(root, *BUILD).code == 0
    monkeypatch.setattr(replica, "_LOCK_SECONDS", 0.05)
    with hold_lock_file(root.resolve() / ".ctxasm/store.lock", patience=None):
        result = database.ctxasm(root, "build", "-a", "luna", "-t", "q1")
        status = database.ctxasm(root, "store")
    assert ("[store-busy]" in result.err, "The launch" in result.out) == (True, True)
    assert (status.code, "(not asked: another pull of this workspace is running)" in status.out) == (1, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("store", "dance"), "unknown action `dance`"),
        (("store", "pull", TEAM), "leave the owner out"),
        (("store", "export"), "the folder is missing"),
        (("store", "pull", "--to", "x"), "only an export takes a folder"),
        (("store", "import", "teams/q2"), "did you mean teams/q1?"),
        (("store", "pull", "--offline"), "this command needs the store"),
    ],
)
def test_odd_calls_are_refused(database: Database, root: Path, words: tuple[str, ...], says: str) -> None:
    result = database.ctxasm(root, *words)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert says in result.err


def test_a_workspace_without_a_store_says_so(database: Database, tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    result = database.ctxasm(tmp_path, "store")
    assert (result.code, "names no store" in result.err) == (2, True)


def test_reading_goes_on_while_the_server_is_away(database: Database, root: Path) -> None:
    there = database.ctxasm(root, *BUILD, "--strict")
    assert (there.code, there.err) == (0, "")
    assert "The launch is on Friday" in there.out
    away = database.ctxasm(root, *[word for word in BUILD if word != "-q"], **AWAY)
    assert (away.code, away.out) == (0, there.out)
    assert "UTC is read" in away.err
    assert "[store-unreachable]" in away.err
    strict = database.ctxasm(root, *BUILD, "--strict", **AWAY)
    assert (strict.code, strict.out) == (1, "")
    offline = database.ctxasm(root, *BUILD, "--strict", "--offline", **AWAY)
    assert offline == there
    for words in (
        ("search", "-t", "q1", "launch"),
        ("explain", "-a", "luna", "-t", "q1"),
        ("show", "1-launch"),
        ("check",),
    ):
        result = database.ctxasm(root, *words, "--offline", **AWAY)
        assert result.code == 0, result
        assert "store-unreachable" not in result.out + result.err


def test_a_machine_without_a_replica_says_that_there_is_none(database: Database, root: Path) -> None:
    for words in ((*BUILD, "--strict"), (*BUILD, "--strict", "--offline")):
        result = database.ctxasm(root, *words, **AWAY)
        assert (result.code, "there is no replica yet" in result.err) == (1, True)


def test_nothing_is_lost_in_silence_while_the_server_is_away(database: Database, root: Path) -> None:
    database.ctxasm(root, "store", "pull")
    before = replicated(root)
    result = database.ctxasm(root, "remember", "-t", "q1", "new", **AWAY)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "nothing was stored" in result.err
    assert replicated(root) == before
    assert not (root / TEAM / "memories").exists()
    assert database.texts() == ["The launch is on Friday"]


def test_records_are_replayed_and_lines_explained_from_the_replica(database: Database, root: Path) -> None:
    assert database.ctxasm(root, *BUILD, "--record").code == 0
    (record,) = (root / ".ctxasm/records").glob("*.json")
    replay = database.ctxasm(root, "replay", record, **AWAY)
    assert replay.code == 0, replay.err
    place = f"{TEAM}/memories/2025-03.000000.luna.md:1"
    explained = database.ctxasm(root, "explain", "-a", "luna", "-t", "q1", "--line", place)
    assert (explained.code, explained.out) == (0, "in L4 included: it fits\n")
    database.ctxasm(root, "remember", "-t", "q1", "one more thing")
    assert database.ctxasm(root, "replay", record).code == 1


def test_a_record_of_a_build_without_the_server_is_replayed(database: Database, root: Path) -> None:
    database.ctxasm(root, "store", "pull")
    assert database.ctxasm(root, *BUILD, "--record", **AWAY).code == 0
    (record,) = (root / ".ctxasm/records").glob("*.json")
    replay = database.ctxasm(root, "replay", record, **AWAY)
    assert replay.code == 0, replay.err


def test_files_beside_the_store_are_told_of(database: Database, root: Path) -> None:
    (root / TEAM / "memories").mkdir()
    (root / TEAM / "memories/old.md").write_text("- [fact] of a file\n")
    result = database.ctxasm(root, "search", "-t", "q1", "file launch")
    assert "1 file is not read" in result.err
    assert "of a file" not in result.out
    assert "launch" in result.out


def test_leaving_is_one_command(database: Database, root: Path) -> None:
    with_store = database.ctxasm(root, *BUILD)
    assert database.ctxasm(root, "store", "export", "--to", root, "-q").code == 0
    (root / "ctxasm.yaml").write_text("date: 2025-03-14\n")
    assert database.ctxasm(root, *BUILD, **AWAY) == with_store


def test_rules_see_memories_of_the_store(database: Database, root: Path) -> None:
    (root / "rules").mkdir()
    rule = "- name: none\n  when: [{field: team, op: eq, value: q1}]\n  then: {exclude: ['teams/q1/memories/*.md']}\n"
    (root / "rules/r.yaml").write_text(rule)
    result = database.ctxasm(root, *BUILD)
    assert result.code == 0, result.err
    assert "launch" not in result.out


def started_watch(root: Path, environment: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
    with (root.parent / "log").open("wb") as log:
        line = [*COMMAND, "watch", "-w", str(root), "-a", "luna", "-t", "q1", "-o", str(root.parent / "out.md"), *words]
        return subprocess.Popen(line, env=clean(environment), stderr=log, stdout=log)


@pytest.fixture
def own_server() -> Iterator[Database]:
    with running_server() as server:
        yield new_database(server)


def contains(path: Path, text: str) -> bool:
    return path.exists() and text in path.read_text()


def test_a_watch_sees_what_another_machine_stores(database: Database, root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.md"
    watching = started_watch(root, database.environment(root))
    try:
        wait_for(lambda: contains(out, "The launch is on Friday"))
        database.add("Stored far away", role="kenji")
        wait_for(lambda: contains(out, "Stored far away"))
    finally:
        watching.terminate()
        assert watching.wait(20) == 143 or watching.returncode == -15


def test_a_watch_outlives_its_server(own_server: Database, tmp_path: Path) -> None:
    database, out, log = own_server, tmp_path / "out.md", tmp_path / "log"
    database.add("Before the stop")
    root = database.workspace(tmp_path / "ws")
    watching = started_watch(root, database.environment(root))
    try:
        wait_for(lambda: contains(out, "Before the stop"))
        database.server.handle.stop()
        wait_for(lambda: contains(log, "can't be reached"))
        time.sleep(1.5)
        assert log.read_text().count("can't be reached") == 1
        assert contains(out, "Before the stop")
        database.server.handle.start()
        database.add("After the start")
        wait_for(lambda: contains(out, "After the start"))
        wait_for(lambda: contains(log, "the store answers again"))
    finally:
        watching.terminate()
        watching.wait(20)


@pytest.mark.parametrize("env", [{}, AWAY])
@pytest.mark.parametrize("offline", [(), ("--offline",)])
def test_a_replica_for_one_person_is_not_read_by_another(
    database: Database, tmp_path: Path, env: dict[str, str], offline: tuple[str, ...]
) -> None:
    root = database.workspace(tmp_path, max_age="1h")
    database.add("The lantern is mine", private="true")
    search = ("search", "-t", "q1", "lantern")
    assert "The lantern" in database.ctxasm(root, *search).out
    assert "The lantern" in database.ctxasm(root, *search, *offline, **env).out
    assert "The lantern" not in database.ctxasm(root, *search, *offline, role="kenji", **env).out


def test_the_replica_of_another_store_is_neither_read_nor_exported(database: Database, tmp_path: Path) -> None:
    root = database.workspace(tmp_path / "ws")
    database.add("The lantern is lit")
    search = ("search", "-t", "q1", "lantern", "--offline")
    database.ctxasm(root, "store", "pull")
    assert "The lantern" in database.ctxasm(root, *search).out
    settings_file = root / "ctxasm.yaml"
    settings_file.write_text(settings_file.read_text().replace(database.name, "elsewhere"))
    other = database.ctxasm(root, *search)
    assert ("The lantern" in other.out, "no memories are read" in other.err) == (False, True)
    database.ctxasm(root, "store", "export", "--offline", "--to", tmp_path / "out")
    assert not [*(tmp_path / "out").rglob("*.md")]
