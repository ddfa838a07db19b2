"""Time from a save to the replaced output of `ctxasm watch`, beside the bare build of the same workspace.

Half of what is measured is meant: the watch waits for 50 ms of quiet before it builds. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import BUILD, command_of, many_memories, seconds

PATIENCE = 10.0
"""Seconds after which a save counts as lost."""


def saves(command: list[str], workspace: Path, output: Path, runs: int) -> list[float]:
    """Milliseconds from each of some saves to the new output."""
    log = workspace / "agents/ada/memories/0000.md"
    taken = []
    with subprocess.Popen(
        [*command, "watch", "-q", *BUILD[2:], "-w", str(workspace), "-o", str(output)], stderr=subprocess.DEVNULL
    ) as watch:
        try:
            while not output.exists():
                time.sleep(0.01)
            for number in range(runs):
                time.sleep(0.7)
                before, start = output.stat().st_ino, time.perf_counter()
                log.write_text(f"---\ntype: fact\ncreated: 2025-03-14\n---\nSave {number}\n", encoding="utf-8")
                while output.stat().st_ino == before and time.perf_counter() - start < PATIENCE:
                    time.sleep(0.001)
                taken.append(1000 * (time.perf_counter() - start))
        finally:
            watch.terminate()
    return taken


def main() -> None:
    """Measure, and print three lines."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="of an environment with ctxasm")
    parser.add_argument("--runs", type=int, default=15, help="saves (15)")
    parser.add_argument("--files", type=int, default=500, help="files of the workspace (500)")
    given = parser.parse_args()
    command = command_of(given.python)
    with tempfile.TemporaryDirectory() as name:
        workspace = many_memories(Path(name) / "workspace", given.files)
        build = [*command, *BUILD, "-w", str(workspace)]
        alone = [1000 * seconds(build, {"HOME": name}, Path(name)) for _ in range(5)]
        taken = saves(command, workspace, Path(name) / "out.md", given.runs)
    print(f"save to output  median {statistics.median(taken):6.1f} ms   worst {max(taken):6.1f} ms   bar 100 ms")
    print(f"build alone     median {statistics.median(alone):6.1f} ms (processor time of a whole process)")


if __name__ == "__main__":
    main()
