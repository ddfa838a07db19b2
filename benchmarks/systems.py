"""A large workspace for the profiles of the five systems: memories, events, a graph and pages, all made up.

Makes files and measures nothing; `run.py` does.
"""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from random import Random

WORDS = "harbor bell tide lamp crew ledger night signal fog pilot rope deck letter answer build test release".split()
KINDS = ("file_read", "file_write", "shell_exec", "error", "turn", "tool_result")
KEYS = ("root/decisions", "root/stack", "root/conventions", "root/architecture", "root/implementation")


def large(folder: Path, memories: int, day: date) -> Path:
    """A workspace of so many memories, of 2.5 times as many events and relations, and of the rest in proportion.

    Pages, turns and tool results are as long as real ones, so that the budget is what limits them.
    """
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
    for number in range(memories // 16):
        _write(folder / "knowledge" / f"{number:04}.md", _page(random))
    _write_the_rest(folder, random, day)
    return folder


def _write_the_rest(folder: Path, random: Random, day: date) -> None:
    """Memories of an agent, rules of a team, documents, threads, tools and patterns; as many at any size."""
    _write(folder / "teams/core/RULES.md", _page(random))
    lines = (f"- [fact] {_text(random, 30)} {{created={day - timedelta(days=age)}}}\n" for age in range(100))
    _write(folder / "agents/ada/memories/m.md", "".join(lines))
    for number in range(12):
        _write(folder / "docs" / f"{WORDS[number]}.md", _page(random))
        _write(folder / "threads" / f"{number:02}.md", f"---\nstatus: active\n---\n{_page(random)}")
    tools = [{"name": f"tool-{number}", "description": _text(random, 30), "inputSchema": {}} for number in range(20)]
    _write(folder / "tools/tools.json", json.dumps({"tools": tools}))
    patterns = (f"- {{name: {word}, text: {_text(random, 20)}, keywords: [{word}]}}\n" for word in WORDS)
    _write(folder / "patterns.yaml", "".join(patterns))


def _page(random: Random) -> str:
    parts = "".join(f"## {_text(random, 3)}\n\n{_text(random, 150)}.\n\n" for _ in range(4))
    return f"# {_text(random, 4)}\n\n{parts}"


def _event(random: Random, day: date, session: int, number: int) -> str:
    """A line of a session."""
    content = {
        "path": f"src/{random.choice(WORDS)}.py",
        "message": _text(random),
        "command": "make",
    }
    kind = random.choice(KINDS)
    content["text"] = _text(random, {"turn": 60, "tool_result": 200}.get(kind, 10))
    stamp = f"{day - timedelta(days=session)}T{number // 60 % 24:02}:{number % 60:02}:00Z"
    return json.dumps({"id": f"{session}-{number}", "type": kind, "timestamp": stamp, "content": content}) + "\n"


def _text(random: Random, words: int = 10) -> str:
    return " ".join(random.choices(WORDS, k=words)).capitalize()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
