"""Cost of cleaning: builds with it against the same builds without, as pairs in one run.

Each row is a workspace of 500 memories of 4 KB that differ in their text. A process builds it again and again, and in
every second build texts pass as they are: no hidden character is looked for and no secret masked. `share` is what
cleaning adds to such a build, the median of all pairs; `process` is that with the start of the process counted, as a
person meets it. The aim for `process` is 15 %. Times are CPU times, and nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random

from run import BUILD, DAY, WORDS, install, many_memories

FILES = 500
SIZE = 4096
FOREIGN = (
    "caf\u00e9",
    "na\u00efve",
    "Z\u00fcrich",
    "\u2013",
    "\u0141\u00f3d\u017a",
    "\u201cquoted\u201d",
    "se\u00f1or",
)

CHILD = """
import json, sys
from time import process_time
from contextasm.cli.app import run
from contextasm.text.cleaning import clean
started = process_time()
clean_text = clean.clean_text
def unchanged(text, _cleaning=None):
    return clean.CleanText(text.replace("\\r\\n", "\\n"), ())
def seconds(cleaner):
    clean.clean_text = cleaner
    begin = process_time()
    if run(sys.argv[2:]):
        raise SystemExit("the build failed")
    return process_time() - begin
seconds(clean_text)
pairs = [(seconds(clean_text), seconds(unchanged)) for _ in range(int(sys.argv[1]))]
print(json.dumps([started, pairs]))
"""
"""Program that prints the CPU seconds of its start, and of each pair of builds."""


def prose(random: Random) -> str:
    """Sentences of ASCII."""
    return _paragraph(random, WORDS)


def foreign_prose(random: Random) -> str:
    """Sentences in which one word of twenty has other letters."""
    return _paragraph(random, [*WORDS, *FOREIGN[: len(WORDS) // 19 + 1]])


def technical(random: Random) -> str:
    """A paragraph, then lines that look a little like secrets: keys with values, addresses, hashes, names of code."""
    word, number = random.choice(WORDS), random.randrange(1000)
    lines = (
        f"status: {word}",
        f"See https://example.org/{word}/{random.choice(WORDS)}-{number}?page={number}",
        f"commit {random.getrandbits(160):040x}",
        f"{word}_count = {number}",
        f"read_the_{word}_first and {word}-of-the-{random.choice(WORDS)}-{number}",
        f"src/{word}.py:{number}",
    )
    return _paragraph(random, WORDS) + "\n" + "".join(f"{line}\n" for line in lines)


ROWS = {"prose of ASCII": prose, "prose with other letters": foreign_prose, "keys, addresses, hashes": technical}


def _paragraph(random: Random, words: list[str]) -> str:
    sentences = (" ".join(random.choices(words, k=random.randint(5, 14))).capitalize() for _ in range(4))
    return ". ".join(sentences) + ".\n\n"


def fill(folder: Path, files: int, text: Callable[[Random], str]) -> Path:
    """The workspace of `many_memories` in `run.py`, with this text in its files."""
    many_memories(folder, files)
    random = Random(6)  # noqa: S311 - equal on every run is what is wanted
    for number, path in enumerate(sorted(folder.glob("*/*/memories/*.md"))):
        front = f"---\ntype: fact\ncreated: {DAY - timedelta(days=number)}\n---\n"
        while len(front.encode()) < SIZE:
            front += text(random)
        path.write_bytes(front.encode()[:SIZE].decode(errors="ignore").encode())
    return folder


def measure(python: Path, folder: Path, files: int, text: Callable[[Random], str], pairs: int) -> list[str]:
    """The cells of a row: milliseconds with and without cleaning, and what it adds in per cent."""
    workspace = fill(folder / "workspace", files, text)
    environment = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "PATH": os.environ["PATH"]}
    command = [str(python), "-c", CHILD, str(pairs), *BUILD, "-w", str(workspace), "-o", os.devnull]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    started, times = json.loads(done.stdout)
    cleaned, unchanged = (statistics.median(column) for column in zip(*times, strict=True))
    share = statistics.median(one / other for one, other in times) - 1
    process = statistics.median((started + one) / (started + other) for one, other in times) - 1
    return [f"{1000 * cleaned:.1f}", f"{1000 * unchanged:.1f}", f"{100 * share:.0f} %", f"{100 * process:.0f} %"]


def main() -> None:
    """Print one line for each kind of text."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--python", type=Path, help="the interpreter of an environment that has ctxasm")
    parser.add_argument("--pairs", type=int, default=21, help="pairs of builds of each row (21)")
    parser.add_argument("--smoke", action="store_true", help="one pair of a few files, with this interpreter")
    given = parser.parse_args()
    form = "{:<28}{:>9}{:>9}{:>8}{:>9}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = Path(sys.executable) if given.smoke else given.python or install(folder)
        print(form.format("text", "ms", "without", "share", "process"))
        for number, (row, text) in enumerate(ROWS.items()):
            (folder / str(number)).mkdir()
            files, pairs = (6, 1) if given.smoke else (FILES, given.pairs)
            cells = measure(python.absolute(), folder / str(number), files, text, pairs)
            print(form.format(row, *cells), flush=True)


if __name__ == "__main__":
    main()
