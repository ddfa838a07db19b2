"""A build asks the disk for each file once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.command import SAMPLE

OPENED = f"""
import collections, sys
opened = collections.Counter()
sys.addaudithook(lambda event, args: opened.update([str(args[0])]) if event == "open" else None)
from contextasm.cli.app import run
run(sys.argv[1:])
sys.stderr.write("".join(f"{{n}} {{path}}\\n" for path, n in opened.items() if path.startswith({str(SAMPLE)!r})))
"""


def test_build_opens_each_file_of_the_workspace_once(tmp_path: Path) -> None:
    words = ("build", "-q", "-w", str(SAMPLE), "-a", "luna", "-t", "q1", "--topic", "lantern", "-o", tmp_path / "out")
    done = subprocess.run([sys.executable, "-c", OPENED, *words], capture_output=True, text=True, check=True)
    counts = {path: int(count) for count, _, path in (line.partition(" ") for line in done.stderr.splitlines())}
    assert f"{SAMPLE}/agents/luna/IDENTITY.md" in counts
    assert set(counts.values()) == {1}
