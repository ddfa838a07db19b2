"""The page of a difference: both bars, each change once, and the lines that came and were lost."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command import fill, inside
from tests.rendering.test_pages import HOSTILE, parsed

FILES = {
    "ctxasm.yaml": "date: 2025-03-14\n",
    "agents/a/KNOWLEDGE.md": "".join(f"Line {n} of the file.\n\n" for n in range(40)),
    "agents/a/memories/m.md": "".join(f"- [fact] Fact {n} is {'long ' * 9}\n" for n in range(5)),
}


def test_every_change_is_on_the_page_once(tmp_path: Path) -> None:
    fill(tmp_path, FILES)
    words = ("diff", "@80", "@16k", "-w", str(tmp_path), "-a", "a")
    inside(*words, "--html", tmp_path / "page.html")
    changes = json.loads(inside(*words, "--json").out)["changes"]
    page = parsed((tmp_path / "page.html").read_text())
    assert page.with_class("decisions").count("ul") == len(changes) == 3
    assert all(f"): {change['why']}" in page.text for change in changes)
    assert page.with_class("bar") == ["div", "div"]
    assert "Line 0 of the file. Line 1" in page.text


def test_lines_that_differ_are_lost_or_came(tmp_path: Path) -> None:
    fill(tmp_path, FILES)
    at = ("-w", str(tmp_path), "-a", "a")
    inside("diff", "@90", "@16k", *at, "--html", tmp_path / "page.html")
    page = parsed((tmp_path / "page.html").read_text())
    assert page.with_class("came")
    inside("diff", "@16k", "@90", *at, "--html", tmp_path / "page.html")
    page = parsed((tmp_path / "page.html").read_text())
    assert page.with_class("lost")
    inside("diff", "@16k", "@16k", *at, "--html", tmp_path / "page.html")
    page = parsed((tmp_path / "page.html").read_text())
    assert "Both contexts show the same fragments." in page.text
    assert "Both texts are the same." in page.text


def test_hostile_text_is_inert(tmp_path: Path) -> None:
    lines = "".join(f"{text}\n\n" for text in HOSTILE)
    memories = "".join(f"- [fact] {text}\n" for text in HOSTILE)
    fill(tmp_path, {**FILES, "agents/a/KNOWLEDGE.md": lines, "agents/a/memories/m.md": memories})
    inside("diff", "@20", "@16k", "-w", str(tmp_path), "-a", "a", "--additional", HOSTILE[0], "--html", tmp_path / "p")
    html = (tmp_path / "p").read_text()
    page = parsed(html)
    assert "<script>alert(1)</script>" in page.text
    assert "\u202e" not in html
    assert "16C7e42F292c6912E7710c838347Ae178B4a" not in html


def test_large_difference_stays_below_five_megabytes(tmp_path: Path) -> None:
    text = "\"'<>&" * 60
    files = {f"agents/a/daily/2025-03-{day:02}.md": f"{text}\n\n" * 600 for day in range(8, 15)}
    fill(tmp_path, {**FILES, **files, "agents/a/KNOWLEDGE.md": f"{text}\n\n" * 9000})
    layers = ("--layer", "L3=1000000")
    inside("diff", "@20", "@9000k", "-w", str(tmp_path), "-a", "a", *layers, "--html", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 5_000_000
    assert "are not on this page" in parsed((tmp_path / "page.html").read_text()).text
