"""A large workspace for the profiles of the five systems: memories, events, a graph and pages, all made up.

Makes files and measures nothing; `run.py` does.
"""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from random import Random

WORDS = "harbor bell tide lamp crew ledger night signal fog pilot rope deck letter answer build test release".split()
KINDS = ("file_read", "file_write", "shell_exec", "error", "turn")
KEYS = ("root/decisions", "root/stack", "root/conventions", "root/architecture", "root/implementation")


def large(folder: Path, memories: int, day: date) -> Path:
    """A workspace of so many memories, of 2.5 times as many events and relations, and of the rest in proportion."""
    random = Random(5)  # noqa: S311 - equal on every run is what is wanted
    _write(folder / "PROJECT.md", "# Harbor\n\nA port in the fog.\n")
    _write(folder / "ctxasm.yaml", f"date: {day}\n")
    for month in range(10):
        lines = []
        for _ in range(memories // 10):
            key, sure = random.choice(KEYS), random.randint(30, 99)
            made = day - timedelta(days=random.randint(0, 300))
            lines.append(f"- [fact] {_text(random)} {{key={key} confidence=0.{sure} created={made}}}\n")
        _write(folder / "memories" / f"{month:02}.md", "".join(lines))
    for session in range(10):
        events = "".join(_event(random, day, session, number) for number in range(memories // 4))
        _write(folder / "sessions" / f"s{session}.jsonl", events)
    names = [f"{random.choice(WORDS)} {number}" for number in range(memories // 2)]
    entities = (f"- {{name: {name}, type: thing, salience: 0.{random.randint(1, 9)}}}\n" for name in names)
    _write(folder / "graph/entities.yaml", "".join(entities))
    edges = (
        f"- {{source: {random.choice(names)}, type: knows, target: {random.choice(names)}, weight: 0.5}}\n"
        for _ in range(memories * 5 // 2)
    )
    _write(folder / "graph/relations.yaml", "".join(edges))
    for page in range(memories // 4):
        parts = "".join(f"## {_text(random, 3)}\n\n{_text(random, 40)}.\n\n" for _ in range(4))
        _write(folder / "knowledge" / f"{page:04}.md", f"# {_text(random, 4)}\n\n{parts}")
    return folder


def _event(random: Random, day: date, session: int, number: int) -> str:
    """A line of a session."""
    content = {
        "path": f"src/{random.choice(WORDS)}.py",
        "message": _text(random),
        "command": "make",
        "text": _text(random),
    }
    stamp = f"{day - timedelta(days=session)}T{number // 60 % 24:02}:{number % 60:02}:00Z"
    kind = random.choice(KINDS)
    return json.dumps({"id": f"{session}-{number}", "type": kind, "timestamp": stamp, "content": content}) + "\n"


def _text(random: Random, words: int = 10) -> str:
    return " ".join(random.choices(WORDS, k=words)).capitalize()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
