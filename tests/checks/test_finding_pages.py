"""Each finding has a page in docs/reference/findings/: its severity, its cause, what to do, and a line as printed."""

import ast
import re

import pytest

from contextasm.checks.registry import CHECKS
from tests.checks.test_checks import GOLDEN
from tests.command import CASES, ROOT

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs/reference/findings").glob("*.md")}

HOST_IDS = {
    node.value
    for path in (ROOT / "contextasm/checks/hosts").glob("*.py")
    for node in ast.walk(ast.parse(path.read_bytes()))
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"host-[a-z-]+", node.value)
}
"""Ids of `check --host`, as its modules spell them."""


PRINTED = "\n".join(
    re.sub(r"^(.*?)(?::0)?: (\w+): (.*) (\[[\w-]+\])\n  (.*)$", r"\1: \2: \3: \5 \4", lines)
    for _, part in GOLDEN.values()
    for lines in re.findall(r"^\S.*\]\n  .*$", part.partition("=== finds\n")[2], re.MULTILINE)
)
"""The findings of the golden cases of the checks, as `check` prints them."""

OF_HOSTS = "\n".join(
    path.read_text(encoding="utf-8") for path in (*(CASES / "commands").glob("*.md"), *(CASES / "hosts").glob("*.txt"))
)
"""Golden cases that have findings of hosts; some of them count warnings as errors."""


def test_every_finding_has_a_page_and_every_page_a_finding() -> None:
    assert HOST_IDS
    assert {*PAGES} == {*CHECKS} | HOST_IDS


@pytest.mark.parametrize("name", sorted({*CHECKS} | HOST_IDS))
def test_a_page_has_the_severity_the_cause_and_what_to_do(name: str) -> None:
    title, about, *_ = PAGES[name].split("\n\n")
    assert title == f"# {name}"
    assert re.search(r"\. (?:Error|Warning|Note)\b", about)
    assert re.findall(r"^## .*", PAGES[name], re.MULTILINE) == ["## Cause", "## What to do"]
    severities = re.findall(rf": (error|warning|note): .* \[{name}\]$", PRINTED, re.MULTILINE)
    assert [each for each in severities if each not in about.lower()] == []


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_line_that_a_page_shows_is_printed(name: str) -> None:
    shown = re.findall(r"```text\n(.*)\n```", PAGES[name])
    assert shown or name not in CHECKS
    assert [line for line in shown if not line.endswith(f"[{name}]") or line not in PRINTED + OF_HOSTS] == []
