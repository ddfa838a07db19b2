"""What a host shows of a folder is in the document built without a flag, over layouts made after public ones."""

import os
import re
import runpy
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.command import CASES, ROOT, clean, fill
from tests.tables import files_of

LAYOUTS = sorted((CASES / "layouts").glob("*.md"))
TOOL = runpy.run_path(str(ROOT / "tools" / "host_lines.py"))
DAY = {"CTXASM_DATE": "2025-03-14"}


def compared(host: str, folder: Path, words: Sequence[str]) -> int:
    """The exit code of the tool for a folder, on the day of the layouts."""
    with patch.dict(os.environ, clean(DAY), clear=True):
        code: int = TOOL["main"]([host, str(folder), "--", *words])
    return code


def with_long_texts(case: str) -> str:
    """The case with many lines in place of `(N lines of TEXT)`, each with its number in place of `{}`."""
    return re.sub(
        r"(?m)^\((\d+) lines of (.*)\)$",
        lambda match: "\n".join(match[2].replace("{}", str(number)) for number in range(1, int(match[1]) + 1)),
        case,
    )


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda path: path.stem)
def test_each_line_that_a_host_shows_is_in_the_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], layout: Path
) -> None:
    hosts, _, files = layout.read_text(encoding="utf-8").partition("\n")
    folder = fill(tmp_path, files_of(with_long_texts(files)), base={})
    names, _, words = hosts.removeprefix("=== hosts ").partition(" -- ")
    for host in names.split():
        code = compared(host, folder, words.split())
        out, err = capsys.readouterr()
        assert code == 0, out + err
        assert int(re.findall(r"shows (\d+) lines, 0 are missing", out)[0]) > 0


def test_there_are_ten_layouts_of_each_kind_of_folder() -> None:
    assert len(LAYOUTS) >= 10
    assert {layout.stem.partition("-")[0] for layout in LAYOUTS} == {"openclaw", "repo"}


def test_a_missing_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = fill(tmp_path, {"SOUL.md": "Calm.\n", "AGENTS.md": "Kept.\n\n" + "Is lost. " * 30}, base={})
    assert compared("openclaw", folder, ["-p", "openclaw", "--layer", "agents=40"]) == 1
    out = capsys.readouterr().out
    assert "AGENTS.md: Is lost." in out
    assert "AGENTS.md: Kept." not in out
