"""`ctxasm search --archive`: what left the logs and the memories is still found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import fill, inside
from tests.upkeep.test_tidy import WORDS, log_of

ARCHIVE = "agents/a/memories/archive/m.md.txt"
TEXT = "## agents/a/memories/m.md:7, 2026-03-01, deprecate: it is out of date\n\n> - [fact] The ferry leaves at noon\n"


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gzip"])
def test_archived_logs_and_memories_are_found(tmp_path: Path, compress: bool) -> None:
    settings = f"upkeep:\n  logs: {{compress: {str(compress).lower()}}}\n"
    logs = {log_of(40): "# Harbor\n\nThe ferry was late.\n", log_of(40, "teams/t"): "The ferry sank.\n"}
    root = fill(tmp_path, {"ctxasm.yaml": settings, ARCHIVE: TEXT, **logs})
    assert inside("search", "-w", root, "--archive", "late sank").code == 1
    assert inside("tidy", "-w", root, *WORDS, "--apply", "--safe", "-q").out == ""
    found = json.loads(inside("search", "-w", root, "--archive", "--json", "ferry").out)["hits"]
    suffix = ".gz" if compress else ""
    archived_log = log_of(40).replace("daily/", "daily/archive/2026/") + suffix
    assert {(hit["path"], hit["line"], hit["source"], hit["text"]) for hit in found} == {
        (archived_log, 3, "", "The ferry was late."),
        (archived_log.replace("agents/a", "teams/t"), 1, "", "The ferry sank."),
        (ARCHIVE, 3, "agents/a/memories/m.md:7", "- [fact] The ferry leaves at noon"),
    }
    of_agent = inside("search", "-w", root, "--archive", "-a", "a", "ferry")
    assert (of_agent.code, "sank" in of_agent.out, "noon" in of_agent.out) == (0, False, True)
