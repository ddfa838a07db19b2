"""What a host shows of a folder is in the document built without a flag, over layouts made after public ones."""

import re
from pathlib import Path

import pytest

from tests.command import CASES, ROOT, fill, python
from tests.tables import files_of

LAYOUTS = sorted((CASES / "layouts").glob("*.md"))
TOOL = (ROOT / "tools" / "host_lines.py").read_text(encoding="utf-8")
DAY = {"CTXASM_DATE": "2025-03-14"}


def with_long_texts(case: str) -> str:
    """The case with many lines in place of `(N lines of TEXT)`, each with its number in place of `{}`."""
    return re.sub(
        r"(?m)^\((\d+) lines of (.*)\)$",
        lambda match: "\n".join(match[2].replace("{}", str(number)) for number in range(1, int(match[1]) + 1)),
        case,
    )


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda path: path.stem)
def test_each_line_that_a_host_shows_is_in_the_document(tmp_path: Path, layout: Path) -> None:
    hosts, _, files = layout.read_text(encoding="utf-8").partition("\n")
    folder = fill(tmp_path, files_of(with_long_texts(files)), base={})
    names, _, words = hosts.removeprefix("=== hosts ").partition(" -- ")
    for host in names.split():
        result = python(TOOL, host, folder, "--", *words.split(), env=DAY)
        assert result.code == 0, result.out + result.err
        assert int(re.findall(r"shows (\d+) lines, 0 are missing", result.out)[0]) > 0


def test_there_are_ten_layouts_of_each_kind_of_folder() -> None:
    assert len(LAYOUTS) >= 10
    assert {layout.stem.partition("-")[0] for layout in LAYOUTS} == {"openclaw", "repo"}


def test_a_missing_line_is_named(tmp_path: Path) -> None:
    folder = fill(tmp_path, {"SOUL.md": "Calm.\n", "AGENTS.md": "Kept.\n\n" + "Is lost. " * 30}, base={})
    result = python(TOOL, "openclaw", folder, "--", "-p", "openclaw", "--layer", "agents=40", env=DAY)
    assert result.code == 1
    assert "AGENTS.md: Is lost." in result.out
    assert "AGENTS.md: Kept." not in result.out
