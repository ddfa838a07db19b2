"""Cost of the shared store: commits of many writers, pulls, and a search on the replica beside one on files.

A real PostgreSQL server runs on this machine, with its writers and readers beside it, and makes every commit durable.
Times are those of the wall clock, the least of some runs; a whole process is measured beside a bare `python -c ""`, and
commands on a small and on a large store by their processor time, in turns. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date, timedelta
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from contextasm.workspace.store.connection import StoreConfig, open_session  # noqa: E402
from tests.command import clean  # noqa: E402
from tests.postgres import TEAM, Database, new_database, running_server, wait_for  # noqa: E402

WRITERS = 16
WORDS = (
    "harbor lantern demo friday booth bell fog ledger release budget ship anchor voice painter museum ticket".split()
)

INSERT = "INSERT INTO ctxasm.memory (owner, id, text, created) VALUES (%s, %s, %s, %s)"


def text(number: int) -> str:
    """One of many texts of about fifteen words."""
    chosen = [WORDS[(number * step + number // 7) % len(WORDS)] for step in range(1, 13)]
    return f"Number {number}: {' '.join(chosen)}"


def write(config: StoreConfig, writer: int, count: int) -> None:
    """Store memories, one a transaction."""
    with open_session(config) as session:
        for number in range(count):
            session.rows(INSERT, TEAM, f"w{writer}-{number}", text(writer * count + number), "2025-03-14")
            session.commit()


def fill(database: Database, count: int) -> None:
    """Store memories of 500 days, oldest first, all at once."""
    with open_session(database.config()) as session:
        rows = [[TEAM, f"m-{n}", text(n), str(date(2023, 11, 1) + timedelta(n * 500 // count))] for n in range(count)]
        session.insert_rows("ctxasm.memory", ("owner", "id", "text", "created"), rows)
        session.commit()


def least(action: Callable[[], object], times: int = 3) -> float:
    """The least time of an action."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def process(words: Sequence[str], environment: dict[str, str]) -> Callable[[], object]:
    """A function that runs a process to its end."""
    return lambda: subprocess.run(words, env=clean(environment), check=False, capture_output=True)


def commits(database: Database, count: int) -> float:
    """Commits a second of all writers together."""
    with ProcessPoolExecutor(WRITERS) as pool:
        begin = time.perf_counter()
        for future in [pool.submit(write, database.config(), writer, count) for writer in range(WRITERS)]:
            future.result()
        return WRITERS * count / (time.perf_counter() - begin)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="few memories, to see that it works")
    smoke = parser.parse_args().smoke
    size, each = (2_000, 10) if smoke else (100_000, 500)
    with running_server() as server, tempfile.TemporaryDirectory() as folder:
        server.run("ALTER SYSTEM SET fsync = on", "SELECT pg_reload_conf()")
        print(f"commits a second, {WRITERS} writers, one memory each: {commits(new_database(server), each):,.0f}")
        database = new_database(server)
        fill(database, size)
        root = database.workspace(Path(folder, "store").resolve())
        overlay = database.overlay(root)
        print(f"first pull of {size:,}: {least(overlay.pull, 1):.2f} s")
        print(f"pull, nothing new: {least(overlay.pull, 9) * 1000:.1f} ms")
        with open_session(database.config()) as session:
            numbers = iter(range(5))
            taken = least(lambda: _one_new(database, overlay.pull, next(numbers)), 5)
            print(f"one new memory stored and pulled: {taken * 1000:.1f} ms")
            question = (
                "SELECT 1 FROM ctxasm.memory WHERE owner = %s AND changed >= pg_snapshot_xmin(pg_current_snapshot())"
            )
            print(f"is there anything new: {least(lambda: session.rows(question, TEAM), 50) * 1000:.2f} ms")
        watched(new_database(server), Path(folder, "watched").resolve())
        small = new_database(server)
        fill(small, 100)
        sizes(((100, small, small.workspace(Path(folder, "small").resolve())), (size, database, root)))
        searches(database, root, Path(folder, "files").resolve())


def _one_new(database: Database, pull: Callable[[], object], number: int) -> None:
    database.add(f"One new memory, number {number}", id=f"'new-{number}'")
    pull()


def watched(database: Database, root: Path) -> None:
    """Print how long it takes until a running watch has written what another role committed."""
    out = database.workspace(root).parent / "out.md"
    options = ["-q", "-w", str(root), "-a", "luna", "-t", "q1", "-o", str(out)]
    line = [sys.executable, "-m", "contextasm", "watch", *options]
    environment = clean({**database.environment(root), "PYTHONPATH": str(ROOT)})
    watch = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    taken = []
    try:
        wait_for(out.exists, 60)
        for number in range(7):
            time.sleep(0.3 * number)  # at different moments between two questions
            database.add(f"Stored far away, number {number}", role="kenji")
            begin = time.perf_counter()
            wait_for(lambda words=f"far away, number {number}": words in out.read_text(), 60)  # type: ignore[misc]
            taken.append(time.perf_counter() - begin)
    finally:
        watch.terminate()
        watch.wait()
    middle, longest = statistics.median(taken), max(taken)
    print(f"commit of another role to the file of a watch: median {middle:.2f} s, longest {longest:.2f} s")


def processor(line: Sequence[str], environment: dict[str, str]) -> float:
    """Seconds of the processor that a command takes, with those of the system. Raises `CalledProcessError`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(line, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def role_number(database: Database) -> str:
    """The number that begins the ids of what `fill` stored."""
    with open_session(database.config()) as session:
        (id_,) = session.rows("SELECT id FROM ctxasm.memory WHERE id LIKE '%-m-50'")[0]
    return str(id_).partition("-")[0]


def sizes(stores: Sequence[tuple[int, Database, Path]]) -> None:
    """Print the processor time of commands on stores of different sizes; the first round stores texts and ids."""
    with tempfile.TemporaryDirectory() as compiled:
        taken: dict[tuple[str, int], list[float]] = {}
        for number, (size, database, root) in product(range(8), stores):
            role = role_number(database)
            commands = {
                "remember": ["remember", f"Something new that no other says, {number} times {os.urandom(8).hex()}"],
                "remember --supersedes": [
                    "remember",
                    "--supersedes",
                    f"{role}-m-{number}",
                    f"Instead {os.urandom(9).hex()}",
                ],
                "show": ["show", f"{role}-m-50"],
                "memory approve": ["memory", "approve", f"{role}-m-60"],
            }
            for name, words in commands.items():
                environment = {**database.environment(root), "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": compiled}
                line = [sys.executable, "-m", "contextasm", *words, "-w", str(root), "-t", "q1"]
                taken.setdefault((name, size), []).append(processor(line, clean(environment)))
    for name in dict.fromkeys(name for name, _ in taken):
        figures = ", ".join(f"{min(taken[name, size]) * 1000:.0f} ms at {size:,}" for size, _, _ in stores)
        print(f"{name}, processor time: {figures}")


def searches(database: Database, root: Path, files: Path) -> None:
    """Print the time of a search on the replica, and of the same search on exported files."""
    bare = least(process([sys.executable, "-c", ""], {}), 9)
    base = [sys.executable, "-m", "contextasm"]
    environment = {**database.environment(root), "PYTHONPATH": str(ROOT)}
    files = database.workspace(files)
    subprocess.run(
        [*base, "store", "export", "-q", "--to", str(files), "-w", str(root)], env=clean(environment), check=True
    )
    (files / "ctxasm.yaml").write_text("date: 2025-03-14\n")
    for name, place, more in (("replica", root, []), ("replica, --offline", root, ["--offline"]), ("files", files, [])):
        line = [*base, "search", "-w", str(place), "-t", "q1", "lantern budget", *more]
        first, warm = least(process(line, environment), 1), least(process(line, environment), 7)
        print(f"search, {name}: first {first:.2f} s, warm {warm * 1000:.0f} ms ({warm / bare:.1f} times a bare start)")


if __name__ == "__main__":
    main()
