"""Growth of the cost with the size of the input: `python benchmarks/linear.py [--sizes 5000,10000,20000]`.

Each row builds or checks a workspace at three sizes and prints the CPU seconds of each, less those of a small one, and
the exponent of the fit: 1 is linear, 2 quadratic. With `--smoke` the sizes are small, and an exponent above 1.5 is an
error.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path

AGENT = {"agents/a/IDENTITY.md": "I am a.\n", "agents/a/INSTRUCTIONS.md": "Do it.\n"}


def equal_bullets(size: int) -> Mapping[str, str]:
    """One list of memories that say the same."""
    return {"agents/a/memories/m.md": "- ok\n" * size}


def front_matter_list(size: int) -> Mapping[str, str]:
    """A page whose front matter has a list with one item a line."""
    return {"agents/a/KNOWLEDGE.md": "---\ntags:\n" + "  - tag\n" * size + "---\nText.\n"}


def sentences(size: int) -> Mapping[str, str]:
    """A page of one paragraph with many sentences."""
    return {"agents/a/KNOWLEDGE.md": " ".join(f"Sentence {n} says a thing that nobody else says." for n in range(size))}


def distinct_bullets(size: int) -> Mapping[str, str]:
    """One list of different memories."""
    return {"agents/a/memories/m.md": "".join(f"- [fact] Memory {n} of many\n" for n in range(size))}


def equal_dated_bullets(size: int) -> Mapping[str, str]:
    """One list of memories that say the same, each of a day of its own."""
    return {"agents/a/memories/m.md": dated_bullets(size, "")}


def equal_keyed_bullets(size: int) -> Mapping[str, str]:
    """One list of memories that say the same, each of a day and a key of its own, so that none is merged."""
    return {"agents/a/memories/m.md": dated_bullets(size, " key=k{}")}


def dated_bullets(size: int, fields: str) -> str:
    """Memories that say the same, with a number in their fields."""
    days = (date(2020, 1, 1) + timedelta(days=number % 1800) for number in range(size))
    return "".join(
        f"- the keeper writes the height of the water {{created={day}{fields.format(number)}}}\n"
        for number, day in enumerate(days)
    )


ROWS: Mapping[str, tuple[str, Callable[[int], Mapping[str, str]]]] = {
    "build, equal bullets": ("build", equal_bullets),
    "build, distinct bullets": ("build", distinct_bullets),
    "build, a list in front matter": ("build", front_matter_list),
    "check, sentences of one paragraph": ("check", sentences),
    "check, equal bullets": ("check", equal_bullets),
    "tidy, equal bullets": ("tidy", equal_dated_bullets),
    "tidy, equal bullets with keys": ("tidy", equal_keyed_bullets),
}

STEEPEST = 1.5
"""The exponent above which `--smoke` fails."""


def main() -> None:
    """Print one line for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="5000,10000,20000")
    parser.add_argument("--smoke", action="store_true", help="small sizes; fails if a row takes more than linear time")
    given = parser.parse_args()
    sizes = [1000, 4000] if given.smoke else [int(size) for size in given.sizes.split(",")]
    exponents = []
    print(f"{'':36}" + "".join(f"{size:>10,}" for size in sizes) + "  exponent")
    for name, (command, files) in ROWS.items():
        base = cpu_seconds(command, files(10))
        seconds = [max(cpu_seconds(command, files(size)) - base, 0.05) for size in sizes]
        exponent = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
        print(f"{name:36}" + "".join(f"{second:10.2f}" for second in seconds) + f"{exponent:10.2f}", flush=True)
        exponents.append(exponent)
    if given.smoke:
        sys.exit(max(exponents) > STEEPEST)


def cpu_seconds(command: str, files: Mapping[str, str]) -> float:
    """CPU seconds of one run of a command on a workspace of these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**AGENT, **files}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [sys.executable, "-m", "contextasm", command, "-w", folder]
        environment = {**os.environ, "CTXASM_NO_CACHE": "1"}
        done = subprocess.run(words, capture_output=True, check=False, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in {0, 1}, done.stderr  # 1 is a finding
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
