"""Processor time of whole processes of ctxasm against the bare interpreter of the same environment, as a table.

The package is built, installed into an environment of its own and compiled first, for that is what people run.
A ratio says more than a time: it is the same on a fast computer and a slow one. It is the median of the ratios of runs
in turns. Nothing is asserted. `used` is the
share of the budget that the document takes; for the profiles query, librarian and memory 90 % is the aim.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate
from operator import truediv
from pathlib import Path
from random import Random

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
    bar: float
    """The ratio to the bare interpreter that is aimed at."""
    words: tuple[str, ...]
    """The command line, but for the workspace."""
    workspace: Callable[[Path, int], Path] | None = None
    """Makes the workspace in an empty folder, of so many files; None for a command that needs none."""
    files: int = 0
    tiny: int = 0
    """How many files a smoke run makes."""
    first: bool = False
    """Whether what earlier runs kept in the workspace is taken away before each."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables of this row."""


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
    _agent(folder)
    random = Random(2)  # noqa: S311 - as above
    for number in range(files):
        _write(folder / "notes" / f"{number:04}.md", _prose(random, 4096))
    layer = {"id": "notes", "heading": "Notes", "source": "document", "path": "notes/*.md", "overflow": "truncate"}
    _write(folder / "notes.yaml", json.dumps({"extends": "default", "budget": "2000k", "layers": [layer]}))
    _write(folder / "ctxasm.yaml", "profile: notes.yaml\n")
    return folder


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

SIZES = (100, 1_000, 10_000, 100_000)

BUILD = ("build", "-q", "-a", "ada", "-t", "core", "--date", str(DAY))

SEARCH = ("build", "-q", "-a", "ada", "--date", str(DAY), "--topic", TOPIC)

LUNA = ("build", "-q", "-a", "luna", "-t", "q1")

OPEN = ("-t", "core", "--open", "docs/harbor.md", "--open", "docs/bell.md", "--open", "docs/tide.md")

NOTHING_KEPT = (("CTXASM_NO_CACHE", "1"),)

ROWS = (
    Row("--version", 1.5, ("--version",)),
    Row("sample workspace", 6, LUNA, sample),
    Row("sample workspace, a topic", 8, (*LUNA, "--topic", "the demo date"), sample),
    Row("memories of 4 KB", 13, BUILD, many_memories, 500, 6),
    Row("documents of 4 KB, all shown", 13, BUILD, many_documents, 500, 6),
    Row("logs, a week of them opened", 13, BUILD, many_logs, 3650, 12),
    Row("logs, a topic, built again", 17, (*BUILD, "--topic", TOPIC), many_logs, 3650, 12),
    Row("memories of 4 KB, o200k_base", 15, (*BUILD, "--tokenizer", "o200k_base"), many_memories, 500, 6),
    Row("documents of 4 KB, o200k_base", 15, (*BUILD, "--tokenizer", "o200k_base"), many_documents, 500, 6),
    *(
        Row(f"profile {name}", 45, ("build", "-q", "-p", name, "--topic", TOPIC, *more), systems, 2000, 40)
        for name, more in (("query", ()), ("librarian", OPEN), ("memory", ()), ("brain", ()))
    ),
    *(
        row
        for size in SIZES
        for row in (
            Row("memories, a topic, first build", size, SEARCH, listed, size, 10, first=True),
            Row("memories, a topic, built again", 15, SEARCH, listed, size, 10),
            Row("memories, a topic, nothing kept", size, SEARCH, listed, size, 10, environment=NOTHING_KEPT),
            Row("memories, no topic, built again", 13, SEARCH[:-2], listed, size, 10),
        )
    ),
)
"""What is measured, in the order of the table. Bars of first builds are there to be seen, not to be held; that of the
profiles is half a second where the bare interpreter takes eleven milliseconds, and goes for the column p95."""


def _agent(folder: Path) -> None:
    """An agent and a team with little to say."""
    random = Random(0)  # noqa: S311 - as above
    for path in ("agents/ada/IDENTITY.md", "agents/ada/INSTRUCTIONS.md", "teams/core/GOALS.md"):
        _write(folder / path, _prose(random, 800))


def _prose(random: Random, size: int) -> str:
    """Sentences, some in paragraphs of their own."""
    text = ""
    while len(text) < size:
        sentence = " ".join(random.choices(WORDS, k=random.randint(5, 14))).capitalize()
        text += sentence + random.choice((". ", ". ", ".\n\n"))
    return text[: size - 1].rstrip() + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def install(folder: Path) -> Path:
    """The interpreter of a new environment that the package is installed in, from a wheel, with bytecode."""
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env" / "bin" / "python"
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder / "wheel"), str(ROOT)], check=True)
    subprocess.run([*pip, "install", "--compile", *map(str, (folder / "wheel").glob("*.whl"))], check=True)
    return python


def command_of(python: Path) -> list[str]:
    """How ctxasm is started in an environment: by its script, as people do, where there is one."""
    script = python.parent / "ctxasm"
    return [str(script)] if script.exists() else [str(python), "-m", "contextasm"]


def seconds(command: Sequence[str], environment: dict[str, str], folder: Path) -> float:
    """The processor time that a process takes. A failing one ends the benchmark."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}: {said}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


CHANGED = """
import statistics, sys, time
import contextasm
times = []
for number in range(int(sys.argv[2]) + 2):
    with open(sys.argv[1] + "/teams/q1/GOALS.md", "a") as file:
        file.write(f"\\nA line of turn {number}.\\n")
    start = time.process_time()
    contextasm.build(workspace=sys.argv[1], agent="luna", team="q1")
    times.append(time.process_time() - start)
print(statistics.median(times[2:]))
"""
"""A process that builds a workspace again and again, with one file changed before each build."""

CHANGED_ROW, CHANGED_BAR = "sample, changed, in a process", 0.6


def measure_changed(python: Path, folder: Path, runs: int) -> list[str]:
    """The cells of a changed build in a process that has built before."""
    workspace, environment = shutil.copytree(SAMPLE, folder / "workspace"), {"PATH": os.defpath, "HOME": str(folder)}
    own, bare = [], []
    for _ in range(max(runs // 6, 1)):
        words = [str(python), "-c", CHANGED, str(workspace), "10"]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        own.append(float(done.stdout))
        bare += [seconds([str(python), "-c", "pass"], environment, folder) for _ in range(6)]
    return [CHANGED_ROW, "-", "-", "-", *compared(own, bare, CHANGED_BAR)]


def compared(own: Sequence[float], bare: Sequence[float], bar: float) -> list[str]:
    """The cells of times and of their ratio."""
    median, least = statistics.median(own), statistics.median(bare)
    paired = len(own) == len(bare)
    ratio = statistics.median(map(truediv, own, bare)) if paired else median / least
    late = statistics.quantiles(own, n=20)[-1] if len(own) > 1 else median
    times = (f"{1000 * median:.1f}", f"{1000 * late:.1f}", f"{1000 * least:.1f}", f"{ratio:.2f}x", f"{bar:g}x")
    return [*times, "ok" if ratio <= bar else "missed"]


def measure(row: Row, python: Path, folder: Path, runs: int, *, smoke: bool) -> list[str]:
    """The cells of a row. The command and the bare interpreter take turns, so that both see the same load."""
    folder.mkdir()
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
    for name in [name for name in environment if name.startswith(("CTXASM_", "PYTHON"))]:
        del environment[name]
    environment |= dict(row.environment)
    command = [*command_of(python), *row.words]
    files, opened, used = row.tiny if smoke else row.files, "-", "-"
    if row.workspace:
        (folder / "workspace").mkdir()
        command += ["-w", str(row.workspace(folder / "workspace", files))]
        # It warms the cache of counts too.
        seconds([*command, "--manifest", str(folder / "manifest.json")], environment, folder)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        opened = str(len(manifest["inputs"]))
        used = f"{100 * manifest['tokens'] / manifest['budget']:.0f} %"
    own, bare = [], []
    # A minute for a hundred thousand memories is enough.
    for _ in range(min(runs, 3) if row.first or row.environment else runs):
        if row.first:
            shutil.rmtree(folder / "workspace" / ".ctxasm", ignore_errors=True)
        own.append(seconds(command, environment, folder))
        bare.append(seconds([str(python), "-c", "pass"], environment, folder))
    return [row.name, str(files or "-"), opened, used, *compared(own, bare, row.bar)]


def main() -> None:
    """Measure every row and print the table as it grows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--python", type=Path, help="the interpreter of an environment that has ctxasm")
    parser.add_argument("--runs", type=int, default=31, help="runs of each row (31)")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds this text")
    parser.add_argument("--smoke", action="store_true", help="two runs of tiny sizes, with this interpreter")
    given = parser.parse_args()
    form = "{:<31}{:>7}{:>7}{:>7}{:>9}{:>9}{:>8}{:>8}{:>7}  {}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = Path(sys.executable) if given.smoke else given.python or install(folder)
        runs = 2 if given.smoke else given.runs
        print(form.format("row", "files", "opened", "used", "ms", "p95", "bare", "ratio", "bar", ""))
        for number, row in enumerate(row for row in ROWS if given.only in row.name):
            cells = measure(row, python.absolute(), folder / str(number), runs, smoke=given.smoke)
            print(form.format(*cells), flush=True)
        if given.only in CHANGED_ROW:
            print(form.format(*measure_changed(python.absolute(), folder, runs)))


if __name__ == "__main__":
    main()
