"""Seconds that Chromium takes to draw a page of many fragments, beyond an empty one: `benchmarks/open_page.py`.

It is the time of a clock, as a browser works in several processes. The page is one of `ctxasm explain --html`.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Print the median."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--fragments", type=int, default=10_000, help="how many fragments (10,000)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        memories = folder / "agents/ada/memories"
        memories.mkdir(parents=True)
        (memories.parent / "IDENTITY.md").write_text("I am Ada.\n", encoding="utf-8")
        lines = [
            f"- [fact] Memory {number}: the harbor bell rings twice in fog.\n" for number in range(given.fragments)
        ]
        (memories / "all.md").write_text("".join(lines), encoding="utf-8")
        page, empty = folder / "page.html", folder / "empty.html"
        empty.write_text("<!DOCTYPE html><title>Empty</title>\n", encoding="utf-8")
        command = [sys.executable, "-m", "contextasm", "explain", "-w", name, "--html", str(page)]
        subprocess.run(command, check=True, capture_output=True)
        print(statistics.median(_seconds(folder, page) - _seconds(folder, empty) for _ in range(3)))


def _seconds(folder: Path, page: Path) -> float:
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/browser")
    started = time.perf_counter()
    picture = f"--screenshot={folder}/page.png"
    subprocess.run(["chromium", *flags, picture, page.as_uri()], check=True, capture_output=True, timeout=120)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
