"""Compare ctxasm with the bare interpreter of its environment, and with other programs, and print a table.

The package is built, installed into an environment of its own and compiled first, for that is what people run. A cost
is processor time of a process, user and system; a ratio is the median of ratios to a run of the other program right
after it, so that both see the same load. Nothing is asserted. Programs that are not installed have no row.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import NamedTuple

from systems import large

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "sample_workspace"
DAY = date(2025, 3, 14)

WORDS = [
    *("the", "harbor", "bell", "tide", "lamp", "crew", "ledger", "night", "signal", "fog", "pilot", "rope", "deck"),
    *("letter", "answer", "build", "test", "release", "review", "scene", "decides", "opens", "carries", "waits"),
    *("before", "after", "under", "again", "seldom", "seven", "twelve"),
]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    words: tuple[str, ...]
    """The words after the program; `{workspace}` is the folder, which ctxasm gets by `-w` anyway."""
    bar: float = 0
    """The ratio that is aimed at; 0 for none."""
    workspace: Callable[[Path, int], Path] | None = None
    """Makes the workspace in an empty folder, of so many files; None for a command that needs none."""
    files: int = 0
    tiny: int = 0
    """How many files a smoke run makes."""
    program: str = "ctxasm"
    """Another program, or a script of this folder, which prints the seconds that are its figure."""
    against: str = ""
    """Name of an earlier row that it is compared with; empty for the bare interpreter."""
    is_first: bool = False
    """Whether all that earlier runs kept is taken away before each run."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables of this row."""


class Cost(NamedTuple):
    """What a process took."""

    seconds: float
    """Processor time, of the process and its children."""
    megabytes: float
    """The peak of its memory."""


def sample(_folder: Path, _files: int) -> Path:
    """The one of the repository."""
    return SAMPLE


def many_memories(folder: Path, files: int) -> Path:
    """An agent's and a team's memories, one a file, of 4 KB each: every one of them is read."""
    _agent(folder)
    random = Random(1)  # noqa: S311 - equal on every run is what is wanted
    for number in range(files):
        owner = ("agents/ada", "teams/core")[number % 2]
        day = DAY - timedelta(days=number)
        front = f"---\ntype: fact\nimportance: 0.{number % 10}\ncreated: {day}\n---\n"
        _write(folder / owner / "memories" / f"{number:04}.md", front + _prose(random, 4096 - len(front)))
    return folder


def listed(folder: Path, memories: int) -> Path:
    """An agent's memories in 100 files of lists, out of a vocabulary as uneven as a language's."""
    _agent(folder)
    random = Random(4)  # noqa: S311 - as above
    syllables = [consonant + vowel for consonant in "bcdfghklmnprstvwz" for vowel in "aeiou"]
    words = ["".join(random.choices(syllables, k=random.randint(2, 4))) for _ in range(20_000)]
    shares = [*accumulate(1 / (rank + 3) for rank in range(len(words)))]
    for number in range(min(100, memories)):
        lines = [f"## {DAY - timedelta(days=9 * number)}\n\n"]
        for _ in range(memories // min(100, memories)):
            text = " ".join(random.choices(words, cum_weights=shares, k=random.randint(8, 24)))
            lines.append(f"- [fact] {text} {{importance=0.{random.randint(1, 9)}}}\n")
        lines.insert(len(lines) // 2, f"- [fact] {TOPIC} {number}\n")
        _write(folder / "agents/ada/memories" / f"{number:02}.md", "".join(lines))
    return folder


def systems(folder: Path, memories: int) -> Path:
    """What the profiles of the other systems read, at size (benchmarks/systems.py)."""
    _agent(folder)
    return large(folder, memories, DAY)


def many_documents(folder: Path, files: int) -> Path:
    """Files of 4 KB, all of them shown whole, so that all of them are counted."""
    return documents(folder, files, 4096)


def small_documents(folder: Path, files: int) -> Path:
    """As `many_documents`, of 2 KB each."""
    return documents(folder, files, 2048)


def documents(folder: Path, files: int, size: int) -> Path:
    """So many files of so many bytes, and a profile that shows all of them."""
    _agent(folder)
    random = Random(2)  # noqa: S311 - as above
    for number in range(files):
        _write(folder / "notes" / f"{number:04}.md", _prose(random, size))
    layer = {"id": "notes", "heading": "Notes", "source": "document", "path": "notes/*.md", "overflow": "truncate"}
    _write(folder / "notes.yaml", json.dumps({"extends": "default", "budget": "20000k", "layers": [layer]}))
    _write(folder / "ctxasm.yaml", "profile: notes.yaml\n")
    return folder


def one_text(folder: Path, megabytes: int) -> Path:
    """One file."""
    return documents(folder, 1, megabytes * 1_000_000)


def many_logs(folder: Path, files: int) -> Path:
    """A log for each day up to today; eight of them lie in the window and are opened."""
    _agent(folder)
    random = Random(3)  # noqa: S311 - as above
    for age in range(files):
        name = f"agents/ada/daily/{DAY - timedelta(days=age)}.md"
        _write(folder / name, f"### Morning\n\n{_prose(random, 1000)}")
    return folder


TOPIC = "harbor lanterns"
"""What some memories of `listed` are about."""

SIZES = (1_000, 10_000, 100_000)

BUILD = ("build", "-q", "-a", "ada", "-t", "core", "--date", str(DAY))

SEARCH = ("build", "-q", "-a", "ada", "--date", str(DAY), "--topic", TOPIC)

LUNA = ("build", "-q", "-a", "luna", "-t", "q1")

OPEN = ("-t", "core", "--open", "docs/harbor.md", "--open", "docs/bell.md", "--open", "docs/tide.md")

TEXT, EXACT = "{workspace}/notes/0000.md", ("--tokenizer", "o200k_base")

ASSEMBLED = (("CTXASM_NO_REPLAY", "1"),)
"""A build that is assembled again, though nothing has changed."""

NOTHING_KEPT = (("CTXASM_NO_CACHE", "1"),)

CAT, PEERS = "cat, 1,000 files of 2 KB", (("files-to-prompt", "{workspace}"), ("gitingest", "{workspace}", "-o", "-"))

ROWS = (
    Row("--version", ("--version",), 1.5),
    Row("sample workspace, first build", LUNA, 6, sample, is_first=True),
    Row("sample workspace, a topic, first build", (*LUNA, "--topic", "the demo date"), 8, sample, is_first=True),
    Row("sample workspace, unchanged", LUNA, 2, sample),
    *(Row(f"sample workspace, {name}", tuple(words), 0, sample, program=name) for name, *words in PEERS),
    Row("sample workspace, in one process, changed", (), 0.6, sample, program="in_process.py"),
    Row("sample workspace, in one process, unchanged", ("--unchanged",), 0.06, sample, program="in_process.py"),
    *(
        [Row("page of 10,000 fragments, in a browser", (), 0, program="open_page.py")]
        if shutil.which("chromium")
        else []
    ),
    Row("150 builds of one MCP server", ("--builds", "150"), 115, sample, program="mcp_builds.py"),
    Row(CAT, ("-c", "cat {workspace}/notes/*"), 0, small_documents, 1000, 6, program="sh"),
    Row("1,000 files of 2 KB, first build", BUILD, 9, small_documents, 1000, 6, against=CAT, is_first=True),
    *(
        Row(f"1,000 files of 2 KB, {name}", tuple(words), 0, small_documents, 1000, 6, name, CAT)
        for name, *words in PEERS
    ),
    Row("1,000 files of 2 KB, unchanged", BUILD, 3, small_documents, 1000, 6),
    *(
        Row("files of 2 KB, all shown", BUILD, 0, small_documents, size, size // 100, environment=ASSEMBLED)
        for size in (100, 1_000, 10_000)
    ),
    Row(
        "files of 4 KB, o200k_base",
        *((*BUILD, *EXACT), 15, many_documents, 500, 6),
        environment=ASSEMBLED,
    ),
    Row("count of 10 MB", ("count", TEXT), 0, one_text, 10, 1),
    Row("fit of 10 MB", ("fit", "-b", "2k", TEXT), 10, one_text, 10, 1, against="count of 10 MB"),
    Row("count of 10 MB, o200k_base", ("count", *EXACT, TEXT), 0, one_text, 10, 1),
    Row(
        "fit of 10 MB, o200k_base",
        *(("fit", "-b", "2k", *EXACT, TEXT), 1.5, one_text, 10, 1),
        against="count of 10 MB, o200k_base",
    ),
    Row("memories of 4 KB", BUILD, 13, many_memories, 500, 6, environment=ASSEMBLED),
    Row("logs, a week of them opened", BUILD, 13, many_logs, 3650, 12, environment=ASSEMBLED),
    Row("12 logs, a topic", (*BUILD, "--topic", TOPIC), 0, many_logs, 12, 3, environment=ASSEMBLED),
    Row(
        "3,650 logs, a topic, built again",
        *((*BUILD, "--topic", TOPIC), 1.3, many_logs, 3650, 12),
        against="12 logs, a topic",
        environment=ASSEMBLED,
    ),
    *(
        Row(
            f"profile {name}",
            *(("build", "-q", "-p", name, "--topic", TOPIC, *more), 45, systems, 2000, 40),
            environment=ASSEMBLED,
        )
        for name, more in (("query", ()), ("librarian", OPEN), ("memory", ()), ("brain", ()))
    ),
    *(
        Row(name, words, bar, listed, size, size // 100, is_first=is_first, environment=environment)
        for name, words, bar, is_first, environment in (
            ("memories, a topic, nothing kept", SEARCH, 0, False, NOTHING_KEPT),
            ("memories, a topic, first build", SEARCH, 0, True, ()),
            ("memories, a topic, built again", SEARCH, 15, False, ASSEMBLED),
            ("memories, no topic, built again", SEARCH[:-2], 13, False, ASSEMBLED),
        )
        for size in SIZES
    ),
)
"""What is measured, in the order of the table."""


def _agent(folder: Path) -> None:
    """An agent and a team with little to say."""
    random = Random(0)  # noqa: S311 - as above
    for path in ("agents/ada/IDENTITY.md", "agents/ada/INSTRUCTIONS.md", "teams/core/GOALS.md"):
        _write(folder / path, _prose(random, 800))


def _prose(random: Random, size: int) -> str:
    """Sentences, some in paragraphs of their own."""
    parts: list[str] = []
    length = 0
    while length < size:
        sentence = " ".join(random.choices(WORDS, k=random.randint(5, 14))).capitalize()
        parts.append(sentence + random.choice((". ", ". ", ".\n\n")))
        length += len(parts[-1])
    return "".join(parts)[: size - 1].rstrip() + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def install(folder: Path) -> Path:
    """The interpreter of a new environment that the package is installed in, from a wheel, with bytecode."""
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env" / "bin" / "python"
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder / "wheel"), str(ROOT)], check=True)
    (wheel,) = (folder / "wheel").glob("*.whl")
    subprocess.run([*pip, "install", "--compile", f"{wheel}[mcp]"], check=True)
    return python


def command_of(python: Path) -> list[str]:
    """How ctxasm is started in an environment: by its script, as people do, where there is one."""
    script = python.parent / "ctxasm"
    return [str(script)] if script.exists() else [str(python), "-m", "contextasm"]


def cost(command: Sequence[str], environment: Mapping[str, str], folder: Path, *, is_printed: bool = False) -> Cost:
    """What a process takes; its seconds may be a figure that it prints. A failing process ends the benchmark."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            said = err.read().decode(errors="replace").strip()
            raise SystemExit(f"{' '.join(command)}: exit {process.returncode}: {said}")
        seconds = float(out.read()) if is_printed else usage.ru_utime + usage.ru_stime
    return Cost(seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6)


class Bench:
    """Rows that are measured one after another, in folders of their own."""

    def __init__(self, python: Path, folder: Path, runs: int, *, is_smoke: bool) -> None:
        self._python, self._folder, self._runs, self._is_smoke = python, folder, runs, is_smoke
        self._made: dict[str, Callable[[], Cost]] = {}
        self._series: dict[str, list[Cost]] = {}
        """The costs of rows of one name, whose numbers of files grow tenfold."""

    def measure(self, number: int, row: Row) -> list[str]:
        """The cells of a row."""
        own = self._prepared(self._folder / str(number), row)
        other = self._made[row.against] if row.against else self._bare
        # A minute for a hundred thousand memories is enough.
        runs = min(self._runs, 5) if row.files > 1000 or row.program.endswith(".py") else self._runs
        own()  # what may be kept is there from here on
        costs, others = zip(*[(own(), other()) for _ in range(runs)], strict=True)
        middle = Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))
        ratio = statistics.median(cost.seconds / least.seconds for cost, least in zip(costs, others, strict=True))
        verdict = "" if not row.bar else "ok" if ratio <= row.bar else "missed"
        files = row.tiny if self._is_smoke else row.files
        return [
            *(row.name, f"{files:,}" if files else "", f"{1000 * middle.seconds:.1f}", f"{middle.megabytes:.0f}"),
            *(f"{ratio:.2f}" + (" of that row" if row.against else ""), f"{row.bar:g}" if row.bar else "", verdict),
            self._exponent(row, middle),
        ]

    def _exponent(self, row: Row, middle: Cost) -> str:
        """How the cost of a file more grows over three rows: 1 is linear, and what every build costs has no part."""
        series = self._series.setdefault(row.name, [])
        series.append(middle)
        if len(series) < 3:
            return ""
        few, more, most = (cost.seconds for cost in series[-3:])
        if most < 1.2 * few:
            return "flat"
        return f"{math.log10(max(most - more, 1e-4) / max(more - few, 1e-4)):.2f}"

    def _prepared(self, folder: Path, row: Row) -> Callable[[], Cost]:
        """A run of the row, in its workspace."""
        folder.mkdir()
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
        for name in [name for name in environment if name.startswith(("CTXASM_", "PYTHON"))]:
            del environment[name]
        environment |= dict(row.environment)
        workspace = folder / "workspace"
        workspace.mkdir()
        if row.workspace:
            workspace = row.workspace(workspace, row.tiny if self._is_smoke else row.files)
            if row.files >= 1000 and not self._is_smoke:
                time.sleep(2.1)  # A file that is younger than two seconds is read again, by an index, too.
        command = self._command(row, workspace)

        def run() -> Cost:
            if row.is_first:
                shutil.rmtree(folder / "cache", ignore_errors=True)
            return cost(command, environment, folder, is_printed=row.program.endswith(".py"))

        self._made[row.name] = run
        return run

    def _command(self, row: Row, workspace: Path) -> list[str]:
        words = [word.replace("{workspace}", str(workspace)) for word in row.words]
        if row.program.endswith(".py"):
            return [str(self._python), str(ROOT / "benchmarks" / row.program), *words]
        if row.program == "ctxasm":
            return [*command_of(self._python), *words, *(("-w", str(workspace)) if row.workspace else ())]
        return [row.program, *words]

    def _bare(self) -> Cost:
        """A run of the bare interpreter."""
        return cost([str(self._python), "-c", "pass"], os.environ, self._folder)


def machine() -> str:
    """The day, the kind of processor, and the Python."""
    kind = platform.processor() or platform.machine()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{datetime.now(UTC).date()}, {os.cpu_count()} cores of {kind}, {platform.system()}, {python}"


def main() -> None:
    """Measure every row and print the table as it grows, in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument(
        "--python", type=Path, help="the interpreter of an environment that has ctxasm and its extra mcp"
    )
    parser.add_argument("--runs", type=int, default=25, help="runs of each row (25; 5 of large ones)")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds this text")
    parser.add_argument("--smoke", action="store_true", help="two runs of tiny sizes, with this interpreter")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = Path(sys.executable) if given.smoke else given.python or install(folder)
        bench = Bench(python.absolute(), folder, 2 if given.smoke else given.runs, is_smoke=given.smoke)
        print(f"Processor time ({machine()}):\n")
        print("| | files | ms | peak MB | ratio | aim | | exponent |\n|---|--:|--:|--:|--:|--:|---|--:|")
        wanted = [row for row in ROWS if given.only in row.name]
        needed = {row.against for row in wanted}
        for number, row in enumerate(row for row in ROWS if row in wanted or row.name in needed):
            if row.program.endswith(".py") or row.program == "ctxasm" or shutil.which(row.program):
                print("| " + " | ".join(bench.measure(number, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
