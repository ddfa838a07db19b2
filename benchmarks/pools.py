"""Cost of an indexed pool and of changes to it: `python benchmarks/pools.py [--sizes 1000,10000]`.

Each row is a command as a whole process, in milliseconds for each number of memories, with two ratios to the row that
it is held against at the largest size, and the exponent of the fit: 1 is linear. The first ratio is that of the median
times; the second is that of the least processor times, which other work changes less. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import NamedTuple

from run import command_of, install

FEW = 100
LOGS = 150
DAY = date(2025, 3, 14)
PAGE = 256
MEMORIES = "agents/ada/memories"
TOPIC = "harbor lanterns"
SETTLED = 2.2
"""Seconds after which a changed file is believed to be unchanged by its times."""


class Row(NamedTuple):
    """One line of the table."""

    name: str
    words: Sequence[str]
    """The command line, but for the workspace."""
    prepare: Callable[[Path, Random], None] = lambda _folder, _chance: None
    """What is changed in the workspace before each run."""
    against: str = ""
    """Name of the row that it is held against; empty for none."""
    bar: float = 0.0
    """Aim of the ratio to that row."""
    environment: Mapping[str, str] = {}
    runs: int = 7
    is_settled: bool = False
    """Whether a run of the search comes before, with times that have settled."""
    memories: int = 0
    """Number of memories of the workspace; 0 for the size of the column."""


def words_of(chance: Random) -> Callable[[], str]:
    """A maker of texts, out of a vocabulary as uneven as a language's."""
    syllables = [consonant + vowel for consonant in "bcdfghklmnprstvwz" for vowel in "aeiou"]
    fixed = Random(4)  # noqa: S311 - equal on every run is what is wanted
    words = ["".join(fixed.choices(syllables, k=fixed.randint(2, 4))) for _ in range(20_000)]
    shares = [*accumulate(1 / (rank + 3) for rank in range(len(words)))]
    return lambda: " ".join(chance.choices(words, cum_weights=shares, k=chance.randint(8, 24)))


def page(chance: Random, number: int, size: int = PAGE) -> str:
    """A page of memories under a date."""
    text = words_of(chance)
    lines = [f"- [fact] {text()} {{importance=0.{chance.randint(1, 9)}}}\n" for _ in range(size)]
    lines.insert(size // 2, f"- [fact] {TOPIC} {number}\n")
    return f"## {DAY - timedelta(days=9 * (number % 100))}\n\n" + "".join(lines[:size])


def make(folder: Path, memories: int) -> Path:
    """An agent with so many memories, in pages."""
    chance = Random(7)  # noqa: S311 - as above
    (folder / MEMORIES).mkdir(parents=True)
    for name in ("IDENTITY", "INSTRUCTIONS"):
        (folder / f"agents/ada/{name}.md").write_text("Ada keeps the harbor book.\n", encoding="utf-8")
    for number, first in enumerate(range(0, memories, PAGE)):
        text = page(chance, number, min(PAGE, memories - first))
        (folder / MEMORIES / f"{number:05}.md").write_text(text, encoding="utf-8")
    return folder


def add_memory(folder: Path, chance: Random) -> None:
    """Append a memory to a page."""
    pages = sorted((folder / MEMORIES).glob("0*.md"))
    with chance.choice(pages).open("a", encoding="utf-8") as file:
        file.write(f"- [fact] {words_of(chance)()}\n")


def change_page(folder: Path, chance: Random) -> None:
    """Give a page other memories."""
    pages = sorted((folder / MEMORIES).glob("0*.md"))
    number = chance.randrange(len(pages))
    pages[number].write_text(page(chance, number), encoding="utf-8")


def drop_index(folder: Path, _chance: Random) -> None:
    """Remove what earlier runs stored."""
    shutil.rmtree(folder.parent / "cache", ignore_errors=True)


def add_rule(folder: Path, _chance: Random) -> None:
    """A rule on a type that no memory has."""
    _write_rule(folder, "{boost: [{type: decision, weight: 2}]}")


def add_rule_on_most(folder: Path, _chance: Random) -> None:
    """A rule on the type that all memories have."""
    _write_rule(folder, "{boost: [{type: fact, weight: 2}]}")


def add_rule_on_folder(folder: Path, _chance: Random) -> None:
    """A rule on a tenth of the memories, by their paths."""
    _write_rule(folder, "{exclude: [agents/ada/memories/*0.md]}")


def add_rule_on_log(folder: Path, _chance: Random) -> None:
    """A rule on a log, of which there are a few hundred."""
    logs = folder / "agents/ada/daily"
    if not logs.exists():
        logs.mkdir()
        text = words_of(Random(9))  # noqa: S311 - as above
        for number in range(LOGS):
            lines = "".join(f"- {text()}\n" for _ in range(25))
            (logs / f"{DAY - timedelta(days=number)}.md").write_text(lines, encoding="utf-8")
    _write_rule(folder, f"{{exclude: [agents/ada/daily/{DAY}.md]}}")


def _write_rule(folder: Path, effect: str) -> None:
    """Have one rule that always fires."""
    rule = f"rules:\n  - name: one\n    then: {effect}\n"
    (folder / "ctxasm.yaml").write_text(rule, encoding="utf-8")


def add_rule_on_document(folder: Path, _chance: Random) -> None:
    """A rule on a file that is no memory."""
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs/tides.md").write_text("High at noon.\n", encoding="utf-8")
    _write_rule(folder, "{always_include: [{path: docs/tides.md}]}")


def add_cites(folder: Path, _chance: Random) -> None:
    """Have the memories of the first pages cite lines of 100 files, a tenth of which have changed since."""
    from contextasm.text.memories.cites import file_lines, written_cite  # here: only this row needs the package

    text = words_of(Random(11))  # noqa: S311 - as above
    data = ["".join(f"{text()}\n" for _ in range(300)).encode() for _ in range(100)]
    (folder / "src").mkdir(exist_ok=True)
    for number, lines in enumerate(data):
        (folder / f"src/{number}.py").write_bytes(lines if number % 10 else b"changed\n")
    for page_file in sorted((folder / MEMORIES).glob("0000[0-3].md")):
        bullets = page_file.read_text(encoding="utf-8").split("}\n")
        cites = (written_cite(f"src/{n % 100}.py", 9, 12, file_lines(data[n % 100])) for n in range(len(bullets)))
        cited = (f"{bullet} cites={cite}" for bullet, cite in zip(bullets[:-1], cites, strict=False))
        if "cites=" not in bullets[0]:
            page_file.write_text("}\n".join([*cited, bullets[-1]]), encoding="utf-8")


def drop_rule(folder: Path, _chance: Random) -> None:
    """No rule any more."""
    (folder / "ctxasm.yaml").unlink(missing_ok=True)


SEARCH = ("search", TOPIC, "-a", "ada", "--date", str(DAY))
BUILD = ("build", "-q", "-a", "ada", "--date", str(DAY), "--topic", TOPIC)
REMEMBER = ("remember", "-q", "-a", "ada", "--date", str(DAY))
NOTHING_KEPT = {"CTXASM_NO_CACHE": "1"}
NO_REPLAY = {"CTXASM_NO_REPLAY": "1"}

ROWS = (
    Row("search, nothing kept", SEARCH, environment=NOTHING_KEPT, runs=3),
    Row("search, first index", SEARCH, drop_index, "search, nothing kept", 1.5, runs=3),
    Row("search, warm", SEARCH),
    Row("search, one new memory", SEARCH, add_memory, "search, warm", 1.5, is_settled=True),
    Row("search, one changed page", SEARCH, change_page, "search, warm", 2, is_settled=True),
    Row("build, warm", BUILD),
    Row("build, a rule on memories", BUILD, add_rule, "search, nothing kept", 2),
    Row("build, a rule on a document", BUILD, add_rule_on_document, "build, warm", 1.5),
    Row("build, a rule on most", BUILD, add_rule_on_most, "search, nothing kept", 2),
    Row("build, a rule on a folder", BUILD, add_rule_on_folder, "search, nothing kept", 2),
    Row("build, a rule on a log", BUILD, add_rule_on_log, "build, warm", 1.5),
    Row("build, no cites", BUILD, drop_rule, environment=NO_REPLAY),
    Row("build, 1,000 cites", BUILD, add_cites, "build, no cites", 1.3, environment=NO_REPLAY),
    Row("remember, of 100", REMEMBER, drop_rule, memories=FEW),
    Row("remember", REMEMBER, drop_rule, "remember, of 100", 2),
)


class Figures(NamedTuple):
    """What a row takes at a size."""

    median: float
    """Milliseconds from start to end."""
    processor: float
    """Milliseconds of processor time, the least of all runs."""
    peak: float
    """Memory in MB."""


def measure(row: Row, command: Sequence[str], folder: Path, chance: Random) -> Figures:
    """The figures of a row."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CTXASM_", "PYTHON"))}
    environment |= {"XDG_CACHE_HOME": str(folder.parent / "cache"), **row.environment}
    taken: list[float] = []
    used: list[tuple[float, float]] = []
    for _ in range(row.runs):
        if row.is_settled:
            time.sleep(SETTLED)
            run([*command, *SEARCH, "-w", str(folder)], environment)
        row.prepare(folder, chance)
        words = [*row.words, words_of(chance)()] if row.words[0] == "remember" else row.words
        start = time.perf_counter()
        used.append(run([*command, *words, "-w", str(folder)], environment))
        taken.append(time.perf_counter() - start)
    processor, peaks = zip(*used, strict=True)
    return Figures(1000 * statistics.median(taken), 1000 * min(processor), max(peaks))


def run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Run a process; gives its seconds of processor time and its peak of memory in MB.

    A failing one ends the benchmark.
    """
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}")
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1_000_000
    return usage.ru_utime + usage.ru_stime, peak


def main() -> None:
    """Measure every row at every size, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--python", type=Path, help="the interpreter of an environment that has ctxasm")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--smoke", action="store_true", help="run each row once in this environment, at 1,500 memories")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds this text")
    given = parser.parse_args()
    sizes = [1500] if given.smoke else [int(size) for size in given.sizes.split(",")]
    rows = [row._replace(runs=1) if given.smoke else row for row in ROWS if given.only in row.name]
    figures: dict[str, list[Figures]] = {row.name: [] for row in rows}
    with tempfile.TemporaryDirectory() as name:
        python = Path(sys.executable) if given.smoke else (given.python or install(Path(name)))
        command = command_of(python.absolute())
        few = make(Path(name) / "few" / "workspace", FEW)
        for size in sizes:
            large = make(Path(name) / str(size) / "workspace", size)
            for row in rows:
                folder = few if row.memories else large
                figures[row.name].append(measure(row, command, folder, Random(size)))  # noqa: S311 - as above
    print(f"{'':28}" + "".join(f"{size:>11,}" for size in sizes) + f"{'MB':>7}{'ratios':>14}{'bar':>6}{'exponent':>10}")
    for row in rows:
        print(_line(row, figures, sizes), flush=True)


def _line(row: Row, figures: Mapping[str, Sequence[Figures]], sizes: Sequence[int]) -> str:
    """A row with its figures in columns."""
    times = [each.median for each in figures[row.name]]
    exponent = math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0]) if len(sizes) > 1 else 0.0
    held = f"{'-':>14}{'-':>6}"
    if row.against in figures:
        last, base = figures[row.name][-1], figures[row.against][-1]
        held = f"{last.median / base.median:6.2f}x{last.processor / base.processor:6.2f}x{row.bar:5g}x"
    peak = max(each.peak for each in figures[row.name])
    return f"{row.name:28}" + "".join(f"{each:11.0f}" for each in times) + f"{peak:7.0f}{held}{exponent:10.2f}"


if __name__ == "__main__":
    main()
