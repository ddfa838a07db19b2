"""The replica: whatever happens, after a pull it holds what the role may see, no more and no less."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextasm.model import ContextasmError, FileStamp
from contextasm.retrieval.memory_index import files as index_files
from contextasm.workspace.editing.files import hold_lock_file
from contextasm.workspace.folder import Folder
from contextasm.workspace.store import overlay, replica
from contextasm.workspace.store.connection import Session, StoreConfig, open_session
from contextasm.workspace.store.replica import access_key, page_texts, pull, replica_state
from contextasm.workspace.store.writing import StoredMemories
from tests.command import clean
from tests.postgres import TEAM, Database, replicated
from tests.retrieval.memory_index.test_memory_index import database as index_path

pytestmark = pytest.mark.postgres

WRITERS = 16
WRITES = 1_000
"""Memories of each writer."""


def pulled(database: Database, root: Path, role: str = "luna") -> list[str]:
    """The pages that a pull changes."""
    return [*database.overlay(root, role).pull()]


def texts(root: Path) -> list[str]:
    """The memories of the replica, each as its page has it without its fields."""
    return sorted(line.partition(" {")[0] for text in replicated(root).values() for line in text.splitlines())


def test_a_pull_brings_what_changed_and_nothing_else(database: Database, tmp_path: Path) -> None:
    database.add("one", created="'2025-01-05'")
    database.add("two", created="'2025-02-05'")
    assert [path.rpartition("/")[2] for path in pulled(database, tmp_path)] == [
        "2025-01.000000.luna.md",
        "2025-02.000000.luna.md",
    ]
    assert pulled(database, tmp_path) == []
    database.run("UPDATE ctxasm.memory SET importance = 0.9 WHERE text = 'two'", role="kenji")
    assert pulled(database, tmp_path) == [f"{TEAM}/memories/2025-02.000000.luna.md"]
    assert "two {id=1-m-" in replicated(tmp_path)["2025-02.000000.luna.md"]
    assert "importance=0.9" in replicated(tmp_path)["2025-02.000000.luna.md"]


def test_a_deleted_memory_leaves_the_replica_and_the_last_one_its_page(database: Database, tmp_path: Path) -> None:
    database.add("one", id="'a'")
    database.add("two", id="'b'")
    pulled(database, tmp_path)
    database.run("UPDATE ctxasm.memory SET deleted = true WHERE id LIKE '%-a'", role="luna")
    pulled(database, tmp_path)
    assert texts(tmp_path) == ["- [note] two"]
    database.run("UPDATE ctxasm.memory SET deleted = true WHERE id LIKE '%-b'", role="luna")
    pulled(database, tmp_path)
    assert replicated(tmp_path) == {}


def test_what_is_committed_late_is_not_missed(database: Database, tmp_path: Path) -> None:
    slow = database.server.connect(database.name, "kenji")
    slow.cursor().execute(f"INSERT INTO ctxasm.memory (owner, id, text) VALUES ('{TEAM}', 'slow', 'slow')")
    database.add("quick")
    pulled(database, tmp_path)
    assert texts(tmp_path) == ["- [note] quick"]
    slow.commit()
    slow.close()
    pulled(database, tmp_path)
    assert texts(tmp_path) == ["- [note] quick", "- [note] slow"]


def test_pages_are_filled_whatever_the_order_of_days_and_roles(database: Database, tmp_path: Path) -> None:
    for role in ("luna", "kenji"):
        with open_session(database.config(role)) as session:
            for number in range(1_100):
                month = 1 if number < 1_036 else 1 + number % 4
                row = (f"{role}-{number}", f"memory {number}", f"2025-{month:02}-01")
                session.rows(
                    f"INSERT INTO ctxasm.memory (owner, id, text, created) VALUES ('{TEAM}', %s, %s, %s)", *row
                )
                if number % 50 == 0:
                    session.commit()
            session.commit()
    pulled(database, tmp_path)
    sizes = {name: text.count("\n") for name, text in replicated(tmp_path).items() if ".luna." in name}
    assert sizes == {
        "2025-01.000000.luna.md": 512,
        "2025-01.000001.luna.md": 512,
        "2025-01.000002.luna.md": 28,
        **{f"2025-{month:02}.000000.luna.md": 16 for month in (2, 3, 4)},
    }


def write_some(config: StoreConfig, writer: int) -> None:
    """Store memories one by one, each in a transaction of its own that takes its time now and then."""
    lots = random.Random(writer)
    with open_session(config) as session:
        for number in range(WRITES):
            session.rows(
                "INSERT INTO ctxasm.memory (owner, id, text, created) VALUES (%s, %s, %s, %s)",
                TEAM,
                f"m-{writer}-{number}",
                f"memory {number} of writer {writer}",
                f"2025-{1 + number % 3:02}-01",
            )
            if lots.random() < 0.02:
                time.sleep(lots.random() / 50)
            session.commit()


def test_every_memory_of_sixteen_writers_is_seen_by_a_replica_that_reads_all_the_while(
    database: Database, tmp_path: Path
) -> None:
    configs = [database.config(("luna", "kenji")[writer % 2]) for writer in range(WRITERS)]
    ended, pulls = threading.Event(), 0

    def read() -> None:
        nonlocal pulls
        while not ended.is_set():
            pulled(database, tmp_path / "along")
            pulls += 1

    (tmp_path / "along").mkdir()
    (tmp_path / "after").mkdir()
    reader = threading.Thread(target=read)
    reader.start()
    with ProcessPoolExecutor(WRITERS) as pool:
        list(pool.map(write_some, configs, range(WRITERS)))
    ended.set()
    reader.join()
    pulled(database, tmp_path / "along")
    pulled(database, tmp_path / "after")
    along = replicated(tmp_path / "along")
    assert along == replicated(tmp_path / "after")
    expected = {f"memory {number} of writer {writer}" for writer in range(WRITERS) for number in range(WRITES)}
    found = [line.removeprefix("- [note] ").partition(" {")[0] for text in along.values() for line in text.splitlines()]
    assert sorted(found) == sorted(expected)
    assert pulls > 1


class OpenTransaction:
    """A writer whose transaction stays open until it is told to end it."""

    def __init__(self, database: Database, role: str) -> None:
        self._connection = database.server.connect(database.name, role)
        self._run("SET lock_timeout = '20ms'")
        self._connection.commit()

    def _run(self, statement: str) -> None:
        import psycopg2

        try:
            self._connection.cursor().execute(statement)
        except psycopg2.Error:  # another one holds the row, or the role may not: the transaction is lost
            self._connection.rollback()

    def act(self, action: str, name: str) -> None:
        """Store or change a memory by its id, or end the transaction."""
        if action in {"commit", "rollback", "close"}:
            getattr(self._connection, action)()
        elif action in {"store", "hide"}:
            fields = "owner, id, text, created, private, supersedes"
            row = f"'{TEAM}', '{name}', 'text {name}', '2025-0{1 + len(name) % 2}-01', {action == 'hide'}"
            self._run(f"INSERT INTO ctxasm.memory ({fields}) VALUES ({row}, '{{1-a,2-bb,1-c,2-dd}}')")
        else:
            change = "importance = 0.9" if action == "raise" else f"deleted = {action == 'delete'}"
            self._run(f"UPDATE ctxasm.memory SET {change} WHERE id LIKE '%-{name}'")


ACTIONS = ("store", "hide", "raise", "delete", "revive", "commit", "rollback")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 3), st.sampled_from(ACTIONS), st.sampled_from(["a", "bb", "c", "dd"])),
        st.just((0, "pull", "")),
    ),
    max_size=24,
)


@settings(max_examples=settings.default.max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])  # type: ignore[union-attr]
@given(steps=STEPS)
def test_law_a_replica_equals_one_that_is_made_of_what_is_committed(
    database: Database, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, str]]
) -> None:
    database.run("TRUNCATE ctxasm.memory")
    folder = tmp_path_factory.mktemp("replicas")
    writers = [OpenTransaction(database, ("luna", "kenji")[number % 2]) for number in range(4)]
    for at, (writer, action, name) in enumerate([*steps, (0, "pull", "")]):
        if action != "pull":
            writers[writer].act(action, name)
            continue
        for role in ("luna", "kenji"):
            along, fresh = folder / role, folder / f"{role}-{at}"
            for root in (along, fresh):
                root.mkdir(exist_ok=True)
                pulled(database, root, role)
            assert replicated(along) == replicated(fresh)
            rows = database.run("SELECT text FROM ctxasm.memory WHERE NOT deleted", role=role)
            assert texts(along) == sorted(f"- [note] {text}" for (text,) in rows)
    for each in writers:
        each.act("close", "")


def test_a_pull_sees_one_state_of_the_store(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for month in (1, 2):
        database.add(f"old {month}", id=f"'m-{month}'", created=f"'2025-0{month}-01'")
    real = replica.page_texts

    def change_in_between(*arguments: Any) -> Mapping[tuple[str, str], str]:
        texts = real(*arguments)
        database.run("UPDATE ctxasm.memory SET text = replace(text, 'old', 'new')", role="luna")
        return texts

    monkeypatch.setattr(replica, "_BATCH_PAGES", 1)
    with monkeypatch.context() as patch:
        patch.setattr(replica, "page_texts", change_in_between)
        pulled(database, tmp_path)
    assert texts(tmp_path) == ["- [note] old 1", "- [note] old 2"]
    pulled(database, tmp_path)
    assert texts(tmp_path) == ["- [note] new 1", "- [note] new 2"]


def test_pulls_of_one_workspace_do_not_meet(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.add("one")
    real = replica.write_page
    told: list[str] = []

    def pull_meanwhile(path: Path, text: str) -> bool:
        with monkeypatch.context() as patch:
            patch.setattr(replica, "write_page", real)
            patch.setattr(replica, "_LOCK_SECONDS", 0.0)
            try:
                pulled(database, tmp_path)
            except ContextasmError as error:
                told.append(error.what)
        return real(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(replica, "write_page", pull_meanwhile)
        pulled(database, tmp_path)
    assert told == ["another ctxasm writes in the workspace"]
    assert texts(tmp_path) == ["- [note] one"]


AT_ITS_STATE = "replica.save_state = lambda *args: os.kill(os.getpid(), 9) if args[1].owners else save(*args)"

KILLED = f"""
import os, sys
from contextasm.workspace.store import replica
from contextasm.workspace.store.connection import StoreConfig
host, name, root = sys.argv[1:]
save = replica.save_state
{AT_ITS_STATE}
replica.pull(root, StoreConfig(1, {{"host": host, "dbname": name, "user": "luna"}}, ("teams/q1",)), lambda: 1e9)
"""


def test_a_pull_that_is_killed_before_it_saves_is_made_up_for(database: Database, tmp_path: Path) -> None:
    database.add("one")
    pulled(database, tmp_path)
    database.add("two")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, database.server.socket, database.name, str(tmp_path)], env=clean(), check=False
    )
    assert done.returncode == -9
    assert texts(tmp_path) == ["- [note] one", "- [note] two"]
    database.add("three")
    pulled(database, tmp_path)
    assert texts(tmp_path) == ["- [note] one", "- [note] three", "- [note] two"]
    assert pulled(database, tmp_path) == []


@pytest.mark.parametrize("owner_is_new", [False, True])
def test_a_first_replica_that_is_not_whole_is_not_read(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner_is_new: bool
) -> None:
    for month in (1, 2, 3):
        database.add(f"lantern {month}", created=f"'2025-0{month}-05'")
    owners = ("teams/q1", "teams/other")
    if owner_is_new:
        database.overlay(tmp_path, owners=owners[1:]).pull()
    write_page, written = replica.write_page, list[Path]()

    def write_one(path: Path, text: str) -> bool:
        written.append(path)
        if len(written) > 1:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write_page(path, text)

    overlay = database.overlay(tmp_path, owners=owners)
    with monkeypatch.context() as patch:
        patch.setattr(replica, "write_page", write_one)
        problem = overlay.refresh()[0]
    assert (problem.code, len(replicated(tmp_path))) == ("store-unwritable", 1)
    assert "No space left on device" in problem.message
    assert ("lacks teams/q1" if owner_is_new else "no memories are read") in problem.message
    assert [*Folder(tmp_path, overlay).list(f"{TEAM}/memories/*.md")] == []
    overlay.pull()
    assert len([*Folder(tmp_path, overlay).list(f"{TEAM}/memories/*.md")]) == 3


@pytest.mark.parametrize("before", ["nothing", "the replica of another role"])
def test_a_first_pull_that_is_killed_at_its_pages_leaves_no_replica(
    database: Database, tmp_path: Path, before: str
) -> None:
    for month in (1, 2):
        database.add(f"lantern {month}", created=f"'2025-0{month}-05'", role="kenji")
    database.add("kenji's own", private="true", role="kenji")
    if before != "nothing":
        pulled(database, tmp_path, "kenji")
        database.run("UPDATE ctxasm.memory SET importance = 0.9", role="kenji")
    code = KILLED.replace(AT_ITS_STATE, "replica.write_page = lambda *_: os.kill(os.getpid(), 9)")
    line = [sys.executable, "-c", code, database.server.socket, database.name, str(tmp_path)]
    assert subprocess.run(line, env=clean(), check=False).returncode == -9
    for role in ("luna", "kenji"):
        overlay = StoredMemories(str(tmp_path), database.config(role), lambda: 1e9, "", offline=True)
        assert "no memories are read" in overlay.refresh()[0].message
        assert [*Folder(tmp_path, overlay).list(f"{TEAM}/memories/*.md")] == []
    pulled(database, tmp_path)
    assert texts(tmp_path) == ["- [note] lantern 1", "- [note] lantern 2"]


@pytest.mark.parametrize("damage", ["edited", "edited in secret", "emptied", "removed", "added", "linked"])
def test_a_replica_that_somebody_changed_is_put_right(database: Database, tmp_path: Path, damage: str) -> None:
    database.add("one")
    pulled(database, tmp_path)
    (page,) = (tmp_path / ".ctxasm/store").rglob("*.md")
    before, target = page.read_text(), tmp_path / "elsewhere"
    target.write_text("mine")
    if damage == "removed":
        page.unlink()
    elif damage == "added":
        page.with_name("2025-01.000000.kenji.md").write_text("- [note] planted\n")
    elif damage == "linked":
        page.unlink()
        page.symlink_to(target)
    elif damage == "edited in secret":  # with the size and the time of before
        times = page.stat()
        page.write_text(before.replace("one", "two"))
        os.utime(page, ns=(times.st_atime_ns, times.st_mtime_ns))
    else:
        page.write_text("- [note] forged\n" if damage == "edited" else "")
    pulled(database, tmp_path)
    assert [*replicated(tmp_path).values()] == [before]
    assert target.read_text() == "mine"


def test_a_folder_beside_the_pages_stays_and_stops_no_pull(database: Database, tmp_path: Path) -> None:
    database.add("one")
    pulled(database, tmp_path)
    folder = tmp_path / ".ctxasm/store" / TEAM / "memories/2025-01.000000.kenji.md"
    folder.mkdir()
    database.add("two")
    assert pulled(database, tmp_path) == [f"{TEAM}/memories/2025-03.000000.luna.md"]
    assert folder.is_dir()


@pytest.mark.parametrize("owner", [TEAM, "teams/other"])
def test_nothing_is_removed_through_a_link_in_place_of_an_owner(database: Database, tmp_path: Path, owner: str) -> None:
    mine = tmp_path / "elsewhere/mine.md"
    mine.parent.mkdir()
    mine.write_text("mine")
    place = tmp_path / "ws/.ctxasm/store" / owner / "memories"
    place.parent.mkdir(parents=True)
    place.symlink_to(mine.parent)
    with suppress(ContextasmError):
        pulled(database, tmp_path / "ws")
    assert mine.read_text() == "mine"


def test_a_pull_that_waited_for_another_one_asks_nothing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = hold_lock_file

    @contextmanager
    def held_after_another(path: Path, *, patience: float | None, needed: bool) -> Iterator[bool]:
        with monkeypatch.context() as patch:
            patch.setattr(replica, "hold_lock_file", hold)
            pull(str(tmp_path), database.config(), lambda: 1000.0)
        database.add("too late for this one")
        with hold(path, patience=patience, needed=needed) as is_held:
            yield is_held

    monkeypatch.setattr(replica, "hold_lock_file", held_after_another)
    assert pull(str(tmp_path), database.config(), lambda: 1001.0, 60.0) == ()
    assert texts(tmp_path) == []


@pytest.mark.parametrize("forged", [False, True])
def test_a_page_that_is_damaged_and_has_no_row_any_more_leaves_the_replica(
    database: Database, tmp_path: Path, forged: bool
) -> None:
    database.add("one", created="'2025-01-05'")
    database.add("two", created="'2025-02-05'")
    pulled(database, tmp_path)
    database.run("DELETE FROM ctxasm.memory WHERE text = 'one'")
    page = tmp_path / ".ctxasm/store" / TEAM / "memories/2025-01.000000.luna.md"
    if forged:
        page.write_text("- [note] forged\n")
    else:
        page.unlink()
    for _ in range(2):
        pulled(database, tmp_path)
        assert texts(tmp_path) == ["- [note] two"]


def test_a_page_that_is_gone_as_soon_as_it_is_written_is_fetched_again(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.add("one")

    def write_for_a_moment(path: Path, text: str) -> bool:
        is_new = write_page(path, text)
        path.unlink()
        return is_new

    with monkeypatch.context() as patch:
        write_page = replica.write_page
        patch.setattr(replica, "write_page", write_for_a_moment)
        pulled(database, tmp_path)
    assert texts(tmp_path) == []
    pulled(database, tmp_path)
    assert texts(tmp_path) == ["- [note] one"]


def test_a_replica_that_can_not_be_changed_is_a_problem_and_no_error(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.add("one")
    pulled(database, tmp_path)

    def refuse(folder: Path) -> Mapping[str, FileStamp]:
        raise PermissionError(errno.EACCES, "Permission denied", str(folder))

    monkeypatch.setattr(replica, "page_stamps", refuse)
    changed, (problem,) = database.overlay(tmp_path).renew()
    assert (changed, problem.code) == ((), "store-unwritable")
    assert f"{TEAM}/memories: can't be brought up to date: Permission denied" in problem.message


def odd_state(checked: str = "1", snapshot: str = "1", stamp: str = "1") -> str:
    """A state with numbers of other sizes."""
    owner = f'{{"snapshot": {snapshot}, "writes": true, "number": 1, "pages": {{"a.md": [1, 1, 1, {stamp}]}}}}'
    return (
        f'{{"schema": "ctxasm.store-replica/1", "access": "a", "source": "s", "checked": {checked},'
        f' "owners": {{"{TEAM}": {owner}}}, "begun": {{}}}}'
    )


ODD_NUMBERS = ["9" * 400, "9" * 9999, "1e999", "-1e999", "NaN", "Infinity", "null", '""', "[]", "{}", "true", "-1"]


@pytest.mark.parametrize(
    "state",
    [
        *("", "{", "[]", '{"schema": "ctxasm.store-replica/1"}', '{"schema": "other/1"}', "[" * 9999),
        *(odd_state(checked=number) for number in ODD_NUMBERS),
        *(odd_state(snapshot=number) for number in ODD_NUMBERS),
        *(odd_state(stamp=number) for number in ODD_NUMBERS),
    ],
)
def test_a_damaged_state_costs_a_whole_pull_and_no_more(database: Database, tmp_path: Path, state: str) -> None:
    """P7: state is data, and is made again."""
    database.add("one")
    pulled(database, tmp_path)
    before = replicated(tmp_path)
    (tmp_path / ".ctxasm/store/state.json").write_text(state)
    assert pulled(database, tmp_path) == []
    assert replicated(tmp_path) == before
    assert json.loads((tmp_path / ".ctxasm/store/state.json").read_text())["owners"]


def test_a_replica_is_its_owners_alone(database: Database, tmp_path: Path) -> None:
    database.add("one", private="true")
    pulled(database, tmp_path)
    for folder, _, files in os.walk(tmp_path / ".ctxasm/store"):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert {stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) for name in files} <= {0o600}


@pytest.mark.parametrize("way", ["opened", "copied"])
def test_a_replica_that_others_can_read_is_closed_to_them(database: Database, tmp_path: Path, way: str) -> None:
    database.add("one", private="true")
    root = tmp_path / "ws"
    root.mkdir()
    pulled(database, root)
    if way == "copied":
        shutil.copytree(root, tmp_path / "copy", copy_function=shutil.copyfile)
        root = tmp_path / "copy"
    for path in (root / ".ctxasm/store").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o666)
    (root / ".ctxasm/store").chmod(0o755)
    pulled(database, root)
    assert texts(root) == ["- [note] one"]
    paths = [root / ".ctxasm/store", *(root / ".ctxasm/store").rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()} == {0o600}


@pytest.mark.parametrize("file", ["state.json", f"{TEAM}/memories/2025-03.000000.luna.md"])
@pytest.mark.parametrize("kind", ["link", "link to nothing", "pipe"])
def test_nothing_is_written_through_a_file_of_the_replica(
    database: Database, tmp_path: Path, file: str, kind: str
) -> None:
    database.add("one")
    victim = tmp_path / "victim"
    if kind != "link to nothing":
        victim.write_text("mine")
    path = tmp_path / "ws/.ctxasm/store" / file
    path.parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(victim)
    pulled(database, tmp_path / "ws")
    assert (victim.read_text() if victim.exists() else None) == (None if kind == "link to nothing" else "mine")
    assert stat.S_ISREG(path.lstat().st_mode)
    assert texts(tmp_path / "ws") == ["- [note] one"]
    assert pulled(database, tmp_path / "ws") == []


def test_a_pull_that_breaks_is_gone_on_with_and_not_read_before(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for month in range(1, 6):
        database.add(f"old {month}", id=f"'m-{month}'", created=f"'2025-0{month}-01'")
    fetched: list[str] = []

    def fetch(session: Session, owner: str, batch: Sequence[tuple[str, str]]) -> Mapping[Any, str]:
        if len(fetched) == 3:
            raise ContextasmError("store", "the line broke", "try again")
        fetched.extend(page for _, page in batch)
        return page_texts(session, owner, batch)

    monkeypatch.setattr(replica, "_BATCH_PAGES", 1)
    monkeypatch.setattr(replica, "page_texts", fetch)
    root = database.workspace(tmp_path)
    result = database.ctxasm(root, "search", "-t", "q1", "old")
    assert ("no memories are read" in result.err, "old" in result.out) == (True, False)
    assert len(replicated(root)) == 3
    database.run("UPDATE ctxasm.memory SET text = 'new 1' WHERE id LIKE '%-m-1'", role="luna")
    fetched[:] = [""]  # the third one is refused again, after two more
    with pytest.raises(ContextasmError, match="the line broke"):
        pulled(database, root)
    assert fetched[1:] == ["2025-01.000000", "2025-04.000000"]
    fetched[:] = [*"1234"]
    pulled(database, root)
    assert fetched[4:] == ["2025-05.000000"]
    assert texts(root) == ["- [note] new 1", *(f"- [note] old {number}" for number in range(2, 6))]
    assert database.overlay(root).state().owners[TEAM].pages.keys() == replicated(root).keys()


@pytest.mark.parametrize("seed", range(3))
def test_law_pulls_that_break_anywhere_lead_to_the_replica_that_one_pull_makes(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "new").mkdir()
    draw = random.Random(seed)
    left = 0

    def fetch(*arguments: Any) -> Mapping[Any, str]:
        nonlocal left
        left -= 1
        if left < 0:
            raise ContextasmError("store", "the line broke", "try again")
        return page_texts(*arguments)

    monkeypatch.setattr(replica, "_BATCH_PAGES", 1)
    monkeypatch.setattr(replica, "page_texts", fetch)
    for number in range(24):
        month = draw.randrange(1, 7)
        secret = draw.choice(("true", "false"))
        database.add(f"text {number}", id=f"'n-{number}'", created=f"'2025-0{month}-01'", private=secret)
        change = draw.choice(("text = text || ' more'", "deleted = true", "importance = 0.75"))
        database.run(f"UPDATE ctxasm.memory SET {change} WHERE id LIKE '%-n-{draw.randrange(24)}'", role="luna")
        left = draw.randrange(5)
        with suppress(ContextasmError):
            pulled(database, tmp_path / "broken")
    left = 1_000
    pulled(database, tmp_path / "broken")
    pulled(database, tmp_path / "new")
    assert replicated(tmp_path / "broken") == replicated(tmp_path / "new")
    assert len(replicated(tmp_path / "new")) > 6


def test_an_owner_that_is_new_is_gone_on_with_and_the_others_are_read_meanwhile(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.run("INSERT INTO ctxasm.member VALUES ('luna', 'teams/other', true)")
    database.add("one")
    pulled(database, tmp_path)
    for month in (1, 2):
        database.add(f"other {month}", owner="'teams/other'", created=f"'2025-0{month}-01'")
    monkeypatch.setattr(replica, "_BATCH_PAGES", 1)
    both = database.overlay(tmp_path, owners=(TEAM, "teams/other"))
    real, calls = replica.page_texts, 0

    def fetch(*arguments: Any) -> Mapping[Any, str]:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise ContextasmError("store", "the line broke", "try again")
        return real(*arguments)

    monkeypatch.setattr(replica, "page_texts", fetch)
    with pytest.raises(ContextasmError, match="the line broke"):
        both.pull()
    assert both.state().owners.keys() == {TEAM}
    both.pull()
    assert calls == 3
    assert both.state().owners.keys() == {TEAM, "teams/other"}
    assert len(replicated(tmp_path, "teams/other")) == 2


def test_pages_are_fetched_by_their_bytes(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {1: 40, 2: 40, 3: 300, 4: 10, 5: 10, 6: 90}
    for month, size in sizes.items():
        database.add("é" * (size // 2), created=f"'2025-0{month}-01'")
    batches: list[list[str]] = []

    def fetch(session: Session, owner: str, batch: Sequence[tuple[str, str]]) -> Mapping[Any, str]:
        batches.append([page[6] for _, page in batch])
        return page_texts(session, owner, batch)

    monkeypatch.setattr(replica, "_BATCH_BYTES", 100)
    monkeypatch.setattr(replica, "page_texts", fetch)
    pulled(database, tmp_path)
    assert batches == [["1", "2"], ["3"], ["4", "5"], ["6"]]
    assert len(replicated(tmp_path)) == len(sizes)


MANY = 1_100
"""Memories, enough for an index."""


def indexed(root: Path) -> list[Path]:
    """The file with the index of a workspace, if there is one."""
    return [path for path in (index_path(root),) if path.exists()]


@pytest.fixture
def searched(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose index has a memory that says xylophone."""
    monkeypatch.setattr(index_files, "_YOUNG", -60)  # files of this second count as old ones
    monkeypatch.setenv("XDG_CACHE_HOME", clean()["XDG_CACHE_HOME"])
    rows = [(TEAM, f"n-{number}", f"harbour number {number}", "2025-03-14") for number in range(MANY)]
    with open_session(database.config()) as session:
        session.insert_rows("ctxasm.memory", ("owner", "id", "text", "created"), rows)
        session.commit()
    database.add("the secret xylophone", id="'secret'", created="'2025-01-05'", private="true")
    root = database.workspace(tmp_path / "ws")
    assert "xylophone" in database.ctxasm(root, "search", "-t", "q1", "xylophone").out
    assert any(b"xylophone" in path.read_bytes() for path in indexed(root))
    return root


def test_no_index_outlives_a_page_of_which_a_pull_was_killed(
    database: Database, searched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.run("DELETE FROM ctxasm.member WHERE role = 'luna'")
    real = replica.remove_pages

    def killed(*args: Any) -> None:
        real(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(replica, "remove_pages", killed)
    with pytest.raises(KeyboardInterrupt):
        pulled(database, searched)
    monkeypatch.undo()
    pulled(database, searched)
    assert replicated(searched) == {}
    assert not any(b"xylophone" in path.read_bytes() for path in indexed(searched))


def test_no_index_has_a_text_of_a_page_that_can_not_be_removed(
    database: Database, searched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.run("DELETE FROM ctxasm.member WHERE role = 'luna'")

    def refuse(_path: Path, **_options: bool) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    unlink = Path.unlink
    monkeypatch.setattr(
        Path, "unlink", lambda path, **options: (refuse if path.suffix == ".md" else unlink)(path, **options)
    )
    assert "can't be changed" in database.overlay(searched).renew()[1][0].message
    assert not any(b"xylophone" in path.read_bytes() for path in indexed(searched))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ctxasm.memory SET deleted = true WHERE id LIKE '%-secret'",
        "UPDATE ctxasm.memory SET text = 'erased', deleted = true WHERE id LIKE '%-secret'",
        "UPDATE ctxasm.memory SET text = 'something else' WHERE id LIKE '%-secret'",
    ],
)
def test_no_index_has_a_text_that_left_the_replica(database: Database, searched: Path, statement: str) -> None:
    database.run(statement, role="luna")
    assert database.ctxasm(searched, "store", "pull").code == 0
    assert not any(b"xylophone" in path.read_bytes() for path in indexed(searched))
    assert "number 1077\n" in database.ctxasm(searched, "search", "-t", "q1", "1077").out
    assert indexed(searched)
    assert not any(b"xylophone" in path.read_bytes() for path in indexed(searched))


@pytest.mark.parametrize("way", ["right", "settings", "person", "damage"])
def test_no_index_has_a_text_of_an_owner_that_left_the_replica(database: Database, searched: Path, way: str) -> None:
    role = "luna"
    if way == "right":
        database.run("DELETE FROM ctxasm.member WHERE role = 'luna'")
    elif way == "settings":
        database.run("INSERT INTO ctxasm.member VALUES ('luna', 'teams/other', true)")
        settings_file = searched / "ctxasm.yaml"
        settings_file.write_text(settings_file.read_text().replace(TEAM, "teams/other"))
    elif way == "person":
        role = "kenji"
    else:  # what the page said when it was indexed is not known then
        database.run("UPDATE ctxasm.memory SET deleted = true WHERE id LIKE '%-secret'", role="luna")
        (searched / ".ctxasm/store" / TEAM / "memories/2025-01.private.000000.luna.md").write_text("")
    assert database.ctxasm(searched, "store", "pull", role=role).code == 0
    assert not any(b"xylophone" in path.read_bytes() for path in indexed(searched))


def test_an_index_stays_as_long_as_nothing_is_taken_away(database: Database, searched: Path) -> None:
    before = indexed(searched)
    database.add("a new bell")
    database.run("UPDATE ctxasm.memory SET importance = 0.9, tags = '{harbour}' WHERE id LIKE '%-n-7'", role="kenji")
    database.run("UPDATE ctxasm.memory SET type = 'decision' WHERE id LIKE '%-n-7'", role="luna")
    assert "1 of 3 pages changed" not in database.ctxasm(searched, "store", "pull").err
    assert indexed(searched) == before


def test_a_role_that_loses_an_owner_loses_its_replica(database: Database, tmp_path: Path) -> None:
    database.add("one")
    pulled(database, tmp_path)
    database.run("DELETE FROM ctxasm.member WHERE role = 'luna'")
    assert pulled(database, tmp_path) == [f"{TEAM}/memories/2025-03.000000.luna.md"]
    assert replicated(tmp_path) == {}
    (problem,) = database.overlay(tmp_path).refresh()
    assert problem.code == "store-refused"
    database.run(f"INSERT INTO ctxasm.member VALUES ('luna', '{TEAM}', false)")
    pulled(database, tmp_path)
    assert texts(tmp_path) == ["- [note] one"]


def test_another_role_gets_a_replica_of_its_own_rights(database: Database, tmp_path: Path) -> None:
    database.add("open")
    database.add("mine", private="true")
    pulled(database, tmp_path)
    assert texts(tmp_path) == ["- [note] mine", "- [note] open"]
    pulled(database, tmp_path, "kenji")
    assert texts(tmp_path) == ["- [note] open"]


@pytest.mark.parametrize(
    ("variable", "first", "then"),
    [
        ("PGUSER", "luna", "kenji"),
        ("PGHOST", "one.example", "two.example"),
        ("PGHOSTADDR", "", "127.0.0.1"),
        ("PGPORT", "", "5433"),
        ("PGDATABASE", "one", "two"),
        ("PGSERVICE", "", "other"),
        ("PGOPTIONS", "", "-c role=kenji"),
    ],
)
def test_the_environment_that_is_in_force_tells_replicas_apart(
    monkeypatch: pytest.MonkeyPatch, variable: str, first: str, then: str
) -> None:
    config = StoreConfig(1, {}, (TEAM,))
    full = StoreConfig(1, {"host": "h", "port": "1", "dbname": "d", "user": "u"}, (TEAM,))
    monkeypatch.setenv(variable, first)
    keys = access_key(config), access_key(full)
    monkeypatch.setenv(variable, then)
    in_address = variable in {"PGUSER", "PGHOST", "PGPORT", "PGDATABASE"}
    assert (access_key(config) != keys[0], access_key(full) == keys[1]) == (True, in_address)


def test_a_role_that_the_environment_names_gets_a_replica_of_its_own_rights(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = database.config()
    config = config._replace(parts={key: text for key, text in config.parts.items() if key != "user"})
    database.add("open")
    database.add("mine", private="true")
    for role, expected in (("luna", ["mine", "open"]), ("kenji", ["open"]), ("luna", ["mine", "open"])):
        monkeypatch.setenv("PGUSER", role)
        pull(str(tmp_path), config, lambda: 1000.0, 60.0)
        assert texts(tmp_path) == [f"- [note] {text}" for text in expected]


def test_an_owner_that_is_new_in_the_settings_is_pulled_though_the_replica_is_young(
    database: Database, tmp_path: Path
) -> None:
    database.add("one")
    pull(str(tmp_path), database.config(owners=("teams/other",)), lambda: 1000.0, 60.0)
    assert texts(tmp_path) == []
    pull(str(tmp_path), database.config(owners=("teams/other", TEAM)), lambda: 1001.0, 60.0)
    assert texts(tmp_path) == ["- [note] one"]


def test_a_snapshot_in_the_future_is_not_built_upon(database: Database, tmp_path: Path) -> None:
    database.add("old")
    pulled(database, tmp_path)
    database.run("UPDATE ctxasm.memory SET importance = 0.9", role="luna")
    shift_snapshot(database, tmp_path, 10**6)
    assert pulled(database, tmp_path) == [f"{TEAM}/memories/2025-03.000000.luna.md"]


def shift_snapshot(database: Database, root: Path, by: int) -> None:
    """Let the state of the replica have seen all transactions of now, and so many more."""
    path = root / ".ctxasm/store/state.json"
    state = json.loads(path.read_text())
    ((now,),) = database.run("SELECT pg_snapshot_xmin(pg_current_snapshot())::text")
    state["owners"][TEAM]["snapshot"] = int(now) + by
    path.write_text(json.dumps(state))


@pytest.mark.parametrize("column", [0, 1, 3], ids=["system", "timeline", "role"])
def test_a_state_of_another_server_history_or_role_is_not_built_upon(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: int
) -> None:
    database.add("old")
    real = Session.rows

    def of_another(session: Session, statement: str, *values: object) -> list[tuple[object, ...]]:
        rows = real(session, statement, *values)
        if "pg_control_system" not in statement:
            return rows
        return [tuple("77" if number == column else value for number, value in enumerate(row)) for row in rows]

    with monkeypatch.context() as patch:
        patch.setattr(Session, "rows", of_another)
        pulled(database, tmp_path)
    database.run("UPDATE ctxasm.memory SET importance = 0.9", role="luna")
    shift_snapshot(database, tmp_path, 0)
    assert pulled(database, tmp_path) == [f"{TEAM}/memories/2025-03.000000.luna.md"]


def test_an_owner_that_the_settings_no_longer_name_leaves_the_replica(database: Database, tmp_path: Path) -> None:
    database.add("one")
    pulled(database, tmp_path)
    database.overlay(tmp_path, owners=("teams/other",)).pull()
    assert replicated(tmp_path) == {}


def test_a_database_that_was_made_again_is_pulled_whole(database: Database, tmp_path: Path) -> None:
    database.add("old")
    pulled(database, tmp_path)
    name, server = database.name, database.server
    server.run(f"CREATE DATABASE {name}_new TEMPLATE {name}")
    server.run(f"DROP DATABASE {name}", f"ALTER DATABASE {name}_new RENAME TO {name}")
    database.run(
        "ALTER TABLE ctxasm.memory DISABLE TRIGGER sign", "UPDATE ctxasm.memory SET changed = '3', text = 'new'"
    )
    assert pulled(database, tmp_path)
    assert texts(tmp_path) == ["- [note] new"]


def test_no_server_is_asked_while_the_replica_is_young(database: Database, tmp_path: Path) -> None:
    database.add("one")
    config = database.config()
    pull(str(tmp_path), config, lambda: 1000.0)
    database.add("two")
    for now, count in ((1004.0, 1), (999.0, 2)):
        pull(str(tmp_path), config, lambda now=now: now, 5.0)  # type: ignore[misc]
        assert len(texts(tmp_path)) == count


def test_a_server_that_can_not_be_asked_leaves_the_replica_as_it_is(database: Database, tmp_path: Path) -> None:
    database.add("one")
    pulled(database, tmp_path)
    config = database.config()
    away = config._replace(parts={**config.parts, "port": "1"})
    with pytest.raises(ContextasmError, match="can't be reached"):
        pull(str(tmp_path), away, lambda: 2e9)
    assert texts(tmp_path) == ["- [note] one"]


@pytest.mark.parametrize("moment", ["before", "within"])
def test_a_path_that_is_asked_for_while_another_thread_pulls_is_looked_up_again(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    watched = database.overlay(tmp_path)
    real_pull, real_state, begun = pull, replica_state, threading.Event()

    def pull_late(*args: Any) -> Sequence[str]:
        if moment == "before":
            watched.place(f"{TEAM}/memories")
        return real_pull(*args)

    def read_early(*args: Any) -> Any:
        state = real_state(*args)
        if not begun.is_set() and moment != "before":
            begun.set()
            watched.pull()  # ends before what was read is kept
        return state

    monkeypatch.setattr(overlay, "pull", pull_late)
    monkeypatch.setattr(overlay, "replica_state", read_early)
    if moment == "before":
        watched.pull()
    else:
        watched.place(f"{TEAM}/memories")
    assert watched.place(f"{TEAM}/memories") == f".ctxasm/store/{TEAM}/memories"
