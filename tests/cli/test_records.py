"""`ctxasm records`: what can be replayed, compared and judged is listed."""

from __future__ import annotations

import os
from pathlib import Path

from tests.command import fill, inside


def test_records_are_listed_the_newest_first(tmp_path: Path) -> None:
    fill(tmp_path, {"ctxasm.yaml": "date: 2025-03-14\n"})
    assert "`ctxasm build --record` writes one" in inside("records", cwd=tmp_path).err
    for age, topic in enumerate(("tides", "lamps")):
        assert inside("build", "-q", "--record", "--topic", topic, cwd=tmp_path).code == 0
        (made,) = (file for file in (tmp_path / ".ctxasm/records").iterdir() if file.stat().st_mtime > 10)
        os.utime(made, (age, age))
    (tmp_path / ".ctxasm/records/00.json").write_text("no")
    listed = inside("records", cwd=tmp_path)
    header, *rows = (line.split() for line in listed.out.splitlines())
    assert header == ["id", "day", "agent", "team", "profile", "tokens", "topic"]
    assert [row[1:] for row in rows] == [
        ["2025-03-14", "a", "-", "default", "11", "of", "16,000", topic] for topic in ("lamps", "tides")
    ]
    assert "00.json:1: is not a record" in listed.err
    assert inside("replay", rows[0][0][:6], cwd=tmp_path).code == 0
