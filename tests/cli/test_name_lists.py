"""Lists of names in messages: cut where they are long, and no choice where there is nothing to choose."""

from __future__ import annotations

from pathlib import Path

from contextasm.text.names.matching import MOST_NAMES, list_names
from tests.command import SMALL, fill, inside, refused


def test_a_long_list_of_names_is_cut(tmp_path: Path) -> None:
    files = {path.replace("/a/", f"/n{number:03}/"): text for number in range(60) for path, text in SMALL.items()}
    root = fill(tmp_path, files, base={})
    for words in (("build", "-a", "zzzzzzzzzz"), ("build",), ("log", "x"), ("build", "-t", "q", "-a", "zzzzzzz")):
        result = inside(*words, "-w", root)
        refused(result, "n000, n001", "n009 and 50 more")
        assert "n010" not in result.err


def test_a_short_list_is_shown_whole() -> None:
    assert list_names(["a"]) == "a"
    assert list_names([str(n) for n in range(MOST_NAMES)]).count(",") == MOST_NAMES - 1
    assert list_names([str(n) for n in range(MOST_NAMES + 1)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 31 more"
