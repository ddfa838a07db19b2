"""The lines that a host shows of some folders and that the document of `ctxasm build` lacks.

    python tools/host_lines.py HOST FOLDER... [-- WORD...]

The words go to `ctxasm build`, which otherwise gets no option. Lines are compared as the document shows them: without
hidden characters, with secrets masked, whatever the marks of headings. A line that only imports a file stands for the
lines of that file. Exits 1 if a line is missing, 2 if a folder can't be built.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from contextasm.checks.hosts.files import HostReading, read_host_files
from contextasm.config.hosts.loader import load_host
from contextasm.text.cleaning.clean import clean_text
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.markdown.imports import imported_path

_HEADING = re.compile(r"^\s*\\?#{0,6}\s*(.*?)\s*#*\s*$")
_ONLY_MARKS = re.compile(r"[\s=*-]*")


def main(words: list[str]) -> int:
    """The exit code."""
    if len(words) < 2:
        print((__doc__ or "").split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    end = words.index("--") if "--" in words else len(words)
    host, *folders = words[:end]
    return max(_report(host, Path(folder), words[end + 1 :]) for folder in folders)


def _report(host: str, folder: Path, options: Iterable[str]) -> int:
    """Print a line for each one that is missing, and one for the folder; its exit code."""
    command = [sys.executable, "-m", "contextasm", "build", *options]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if built.returncode:
        print(f"{folder}: {built.stderr.strip()}", file=sys.stderr)
        return 2
    reading = read_host_files(load_host(host, "HOST"), str(folder))
    shown = [*_shown(reading)]
    document = "\n".join(map(_words, built.stdout.split("\n")))
    lines = {*document.split("\n")}
    missing = [(path, line) for path, line, is_whole in shown if line not in (lines if is_whole else document)]
    for path, line in missing:
        print(f"{path}: {line}")
    receipt = (built.stderr.strip().splitlines() or [""])[-1]
    print(f"{folder}: {host} shows {len(shown)} lines, {len(missing)} are missing; {receipt}")
    return int(bool(missing))


def _shown(reading: HostReading) -> Iterator[tuple[str, str, bool]]:
    """Each line that the host shows, with its path, and whether it is a whole line: a cut may go through one."""
    for path, text, start, stop in [(f.path, f.text, *run) for f in reading.files for run in f.kept]:
        own = front_matter(text.removeprefix("\ufeff").split("\n"))
        begin = sum(len(line) + 1 for line in text.split("\n")[: own.lines])
        lines = clean_text(text[max(start, begin) : stop]).text.split("\n")
        for number, line in enumerate(lines):
            is_edge = (number == 0 and start > begin) or (number == len(lines) - 1 and stop < len(text))
            for words in filter(None, _standing_for(Path(reading.root), (path,), line)):
                yield path, words, not is_edge


def _standing_for(root: Path, importing: tuple[str, ...], line: str) -> Iterator[str]:
    """The words of the line; for a line that only imports a file, those of all its lines. `importing` leads to it."""
    word = line.strip().removeprefix("- ")
    target = imported_path(importing[-1], word[1:]) if word.startswith("@") else None
    if target and target not in importing and (root / target).is_file():
        lines = clean_text((root / target).read_text(encoding="utf-8")).text.split("\n")
        for inner in lines[front_matter(lines).lines :]:
            yield from _standing_for(root, (*importing, target), inner)
    else:
        yield _words(line)


def _words(line: str) -> str:
    """A line without the marks of a heading; empty for a line of marks alone, such as the one under a heading."""
    found = _HEADING.match(line)
    return "" if _ONLY_MARKS.fullmatch(line) or not found else found[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
