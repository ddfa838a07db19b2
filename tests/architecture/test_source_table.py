"""`docs/sources.md`: each row of the five sources once, with tests that are there."""

import re

from tests.command import ROOT

PAGE = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([\w/.-]+)(::|#)([^`]+)`", PAGE)


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
