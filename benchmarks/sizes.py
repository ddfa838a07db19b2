"""Time and memory of builds of large and odd workspaces: `python benchmarks/sizes.py [--smoke]`.

Each row makes a workspace and prints the seconds and the peak of memory of one build, its exit code, and the bytes of
its output. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path

DAY = date(2025, 3, 14)


def holes(folder: Path, share: float) -> None:
    """A file of 1 GB without content."""
    path = folder / "agents/a/KNOWLEDGE.md"
    path.touch()
    os.truncate(path, int(share * (1 << 30)))


def long_log(folder: Path, share: float) -> None:
    """A log of 40 MB."""
    _write(folder / f"agents/a/daily/{DAY}.md", "- An entry of the day, with some words.\n" * int(share * 1_000_000))


def long_lines(folder: Path, share: float) -> None:
    """Four lines of 5 MB: as a page, a log and a memory."""
    line = "word " * int(share * 1_000_000)
    _write(folder / "agents/a/KNOWLEDGE.md", f"{line}\n{line}\n")
    _write(folder / f"agents/a/daily/{DAY}.md", f"{line}\n")
    _write(folder / "agents/a/memories/m.md", f"- [fact] {line}\n")


def many_logs(folder: Path, share: float) -> None:
    """100,000 logs, of which 7 days are in the window."""
    for number in range(int(share * 100_000)):
        day = DAY - timedelta(days=number % 40_000)
        _write(folder / f"agents/a/daily/{day}-{number // 40_000}.md", "An entry.\n")


def many_memories(folder: Path, share: float) -> None:
    """20,000 memories in files of 100."""
    for number in range(int(share * 200)):
        lines = (f"- [fact] Memory {number} {row} of many, with some words.\n" for row in range(100))
        _write(folder / f"agents/a/memories/{number:04}.md", "".join(lines))


ROWS: Mapping[str, Callable[[Path, float], None]] = {
    "1 GB of holes": holes,
    "log of 40 MB": long_log,
    "lines of 5 MB": long_lines,
    "100,000 logs": many_logs,
    "20,000 memories": many_memories,
}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Print one line for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="one hundredth of each size")
    share = 0.01 if parser.parse_args().smoke else 1.0
    print(f"{'':20}{'seconds':>9}{'MB':>8}{'code':>6}{'bytes':>12}")
    for name, make in ROWS.items():
        with tempfile.TemporaryDirectory() as folder:
            _write(Path(folder) / "agents/a/IDENTITY.md", "I am a.\n")
            _write(Path(folder) / "agents/a/INSTRUCTIONS.md", "Do it.\n")
            make(Path(folder), share)
            print(f"{name:20}{build_figures(folder)}", flush=True)


def build_figures(folder: str) -> str:
    """Seconds, MB, exit code and bytes of output of one build, in columns."""
    script = "import resource, sys; from contextasm.cli.app import run; code = run(sys.argv[1:]); "
    script += "sys.stderr.write(f'\\n{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}'); sys.exit(code)"
    started = time.monotonic()
    command = [sys.executable, "-c", script, "build", "-q", "-w", folder, "--date", str(DAY)]
    done = subprocess.run(command, capture_output=True, check=False)
    seconds = time.monotonic() - started
    peak = int(done.stderr.rpartition(b"\n")[2]) * (1 if sys.platform == "darwin" else 1024) / 1_000_000
    return f"{seconds:9.2f}{peak:8.0f}{done.returncode:6}{len(done.stdout):12,}"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
