"""Cost of a plan of upkeep: `python benchmarks/upkeep.py [--memories 1000,10000,100000] [--logs 3650] [--runs 3]`.

Each row times `ctxasm tidy` as a whole process on a workspace with so many logs and memories, against the bare
interpreter, which takes turns with it. The last line is the exponent of the fit of the plans' own time (less that of
a plan of no memories) to the number of memories: 1 is linear. At 10,000 memories the aim is 40 times the bare
interpreter. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random

DAY = date(2026, 3, 14)
AIM = 40
SYLLABLES = [consonant + vowel for consonant in "bcdfghklmnprstvwz" for vowel in "aeiou"]


def fill(folder: Path, memories: int, logs: int) -> None:
    """An agent with a log a day, and memories in up to 100 files, one in fifty of which says what another one says."""
    random = Random(7)  # noqa: S311 - equal on every run is what is wanted
    words = ["".join(random.choices(SYLLABLES, k=random.randint(1, 4))) for _ in range(4000)]
    (folder / "agents/a/daily").mkdir(parents=True)
    (folder / "agents/a/memories").mkdir()
    (folder / "agents/a/IDENTITY.md").write_text("I am a.\n", encoding="utf-8")
    for age in range(logs):
        text = "".join(f"- {' '.join(random.choices(words, k=12))}\n" for _ in range(5))
        (folder / f"agents/a/daily/{DAY - timedelta(days=age)}.md").write_text(text, encoding="utf-8")
    lines = [f"- [fact] {' '.join(random.choices(words, k=14))} {{created={DAY}}}" for _ in range(memories)]
    lines[1::50] = lines[0::50][: len(lines[1::50])]
    for number in range(min(100, memories)):
        path = folder / f"agents/a/memories/{number:03}.md"
        path.write_text("\n".join(lines[number::100]) + "\n", encoding="utf-8")


def seconds(command: Sequence[str]) -> float:
    """How long a process takes. A failing one ends the benchmark."""
    environment = {**os.environ, "CTXASM_NO_CACHE": "1"}
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - start


def measure(memories: int, logs: int, runs: int) -> tuple[float, float]:
    """Median seconds of a plan, and the least ones of the bare interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), memories, logs)
        command = [sys.executable, "-m", "contextasm", "tidy", "-w", folder, "--date", str(DAY), "--json"]
        pairs = [(seconds(command), seconds([sys.executable, "-c", "pass"])) for _ in range(runs)]
    return statistics.median(own for own, _ in pairs), min(bare for _, bare in pairs)


def main() -> None:
    """Print a line for each size, and the fit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--memories", default="1000,10000,100000")
    parser.add_argument("--logs", type=int, default=3650)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    sizes = [int(size) for size in given.memories.split(",")]
    print(f"{'memories':>9}{'logs':>7}{'s':>9}{'bare s':>9}{'ratio':>8}")
    own: list[float] = []
    for size in (0, *sizes):
        plan, bare = measure(size, given.logs, given.runs)
        own.append(plan)
        aim = f"  aim {AIM}x" if size == 10_000 else ""
        print(f"{size:>9,}{given.logs:>7,}{plan:9.3f}{bare:9.3f}{plan / bare:7.1f}x{aim}", flush=True)
    of_memories = [max(plan - own[0], 1e-3) for plan in own[1:]]
    print(f"exponent: {math.log(of_memories[-1] / of_memories[0]) / math.log(sizes[-1] / sizes[0]):.2f}")


if __name__ == "__main__":
    main()
