"""The page of promises: each has a test that names it, and what is not promised is said."""

import ast
import re
from functools import cache

from tests.command import ROOT

PAGE = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
PROMISES = dict(re.findall(r"^\| P(\d+) \| [^|]+ \| `(tests/[\w/]+\.py)` \|$", PAGE, re.MULTILINE))
"""The file that the page names for each promise, by number."""


@cache
def held() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        functions = (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.FunctionDef))
        docstrings = [ast.get_docstring(node) or "" for node in functions if node.name.startswith("test_")]
        leads = [match[0] for text in docstrings if (match := re.match(r"P\d+(?:, P\d+)*: ", text))]
        found[str(path.relative_to(ROOT))] = {number for lead in leads for number in re.findall(r"\d+", lead)}
    return found


def test_every_promise_has_a_test_in_the_file_that_the_page_names() -> None:
    """P30: from P1 to P30, none left out, and no number that the page does not have."""
    assert list(PROMISES) == [str(number) for number in range(1, 31)]
    assert [number for number, path in PROMISES.items() if number not in held().get(path, set())] == []
    assert set().union(*held().values()) == set(PROMISES)


def test_page_says_what_is_not_promised() -> None:
    """P30: that a model may obey hostile text, and who is trusted."""
    part = PAGE.partition("\n## What is not promised\n")[2]
    for words in ("A model may still obey hostile text", "The program trusts", "is not found", "python -m contextasm"):
        assert words in part


def test_files_that_the_page_names_are_there() -> None:
    names = re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)`", PAGE)
    assert len(names) > len(PROMISES)
    assert [name for name in names if not (ROOT / name).exists()] == []
