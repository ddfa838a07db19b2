"""Growth of the cost with the size of the input: `python benchmarks/linear.py [--sizes 5000,10000,20000]`.

Each row builds or checks a workspace at three sizes and prints the CPU seconds of each, less those of a small one, and
the exponent of the fit: 1 is linear, 2 quadratic. Nothing is asserted.
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


ROWS: Mapping[str, tuple[str, Callable[[int], Mapping[str, str]]]] = {
    "build, equal bullets": ("build", equal_bullets),
    "build, distinct bullets": ("build", distinct_bullets),
    "build, a list in front matter": ("build", front_matter_list),
    "check, sentences of one paragraph": ("check", sentences),
    "check, equal bullets": ("check", equal_bullets),
}


def main() -> None:
    """Print one line for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="5000,10000,20000")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    print(f"{'':36}" + "".join(f"{size:>10,}" for size in sizes) + "  exponent")
    for name, (command, files) in ROWS.items():
        base = cpu_seconds(command, files(10))
        seconds = [max(cpu_seconds(command, files(size)) - base, 1e-3) for size in sizes]
        exponent = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
        print(f"{name:36}" + "".join(f"{second:10.2f}" for second in seconds) + f"{exponent:10.2f}", flush=True)


def cpu_seconds(command: str, files: Mapping[str, str]) -> float:
    """CPU seconds of one run of a command on a workspace of these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**AGENT, **files}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [sys.executable, "-m", "contextasm", command, "-w", folder, "-a", "a"]
        environment = {**os.environ, "CTXASM_NO_CACHE": "1"}
        subprocess.run(words, capture_output=True, check=False, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
