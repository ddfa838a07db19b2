"""Processor seconds of one build among many in one process: `python benchmarks/in_process.py [--unchanged]`.

The sample workspace is built by `contextasm.build`. Between two builds a file of it changes, unless told otherwise.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import contextasm

SAMPLE = Path(__file__).resolve().parent.parent / "sample_workspace"
CHANGED = "agents/luna/KNOWLEDGE.md"


def main() -> None:
    """Print the median."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--unchanged", action="store_true", help="change no file between builds")
    parser.add_argument("--builds", type=int, default=60, help="how many builds (60)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(shutil.copytree(SAMPLE, Path(folder) / "workspace"))
        text = (workspace / CHANGED).read_text(encoding="utf-8")
        spent = []
        for number in range(given.builds):
            if not given.unchanged:
                (workspace / CHANGED).write_text(f"{text}\nChange {number}.\n", encoding="utf-8")
            started = time.process_time()
            contextasm.build(workspace=workspace, agent="luna", team="q1")
            spent.append(time.process_time() - started)
    print(statistics.median(spent[1:]))


if __name__ == "__main__":
    main()
