"""`docs/sources.md`: each row of the five sources once, with tests that are there; and the example of each source."""

import re
import shlex
from pathlib import Path

import pytest

from tests.command import ROOT, fill, inside

PAGE = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
PAGES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/sources").glob("*.md")}
NAMED = re.findall(r"`([\w/.-]+)(::|#)([^`]+)`", "\n".join([PAGE, *PAGES.values()]))


def test_each_row_is_named_once_with_a_test_or_a_reason() -> None:
    rows = re.findall(r"(?m)^\| ([1-9]\d*) \| (.+?) \| (.+) \|$", PAGE)
    assert [int(number) for number, _, _ in rows] == [*range(1, 128)]
    for number, _, proof in rows:
        assert "::" in proof or "#" in proof or re.search("differs: |not here: |benchmarks/", proof), number


def test_each_named_test_is_there() -> None:
    assert len(NAMED) > 150
    for file, kind, name in NAMED:
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        begin = r"(?:def )" if kind == "::" else r"(?:## |=== case )"
        assert re.search(rf"(?m)^{begin}{re.escape(name)}(?:\(|$)", text), name


@pytest.mark.parametrize("page", ["000.md", "001.md", "002.md", "003.md", "004.md"])
def test_the_example_of_each_source_comes_out_word_for_word(page: str, tmp_path: Path) -> None:
    _, _, example = PAGES[page].partition("## Example\n")
    files = re.findall(r"(?ms)^`(\S+)`\n\n```\w+\n(.*?)^```$", example)
    (shown,) = re.findall(r"(?ms)^```console\n\$ ctxasm (.*?)\n(.*?)^```$", example)
    done = inside(*shlex.split(shown[0]), cwd=fill(tmp_path, dict(files)))
    assert (done.code, done.out) == (0, shown[1])
