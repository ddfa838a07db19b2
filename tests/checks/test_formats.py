"""The forms in which `contextasm.checks.formats` writes findings, and the baseline of those that are accepted."""

import json
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from contextasm.checks.finding import Finding, baseline_text, split_accepted
from contextasm.checks.formats import FORMATS, FormatName
from contextasm.model import ContextasmError
from tests.command import CASES, held_against

DATE = Finding("bad-date", "error", "agents/ada/IDENTITY.md", 3, "no such day", "write YYYY-MM-DD")
STALE = Finding("stale", "warning", "out.md", 0, "older than its sources", "run ctxasm build")
WHOLE = Finding("no-agent", "note", "", 0, "there is no agent", "run ctxasm init")
ODD = Finding("odd", "error", "a b/50%,\u00e4:1.md", 2, "50% of: a,b\r\n<c>&\"'\x00\ufffe\u202e", "")

ANY = st.builds(
    Finding,
    st.sampled_from(["one", "two"]),
    st.sampled_from(["error", "warning", "note"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.integers(0, 9),
    st.text(max_size=12),
    st.text(max_size=5),
)

SARIF = json.loads((CASES / "findings" / "sarif-schema.json").read_text(encoding="utf-8"))
"""The parts of SARIF 2.1.0, and of what GitHub asks beyond it, that concern what is written here."""


def parsed(text: str) -> ET.Element:
    """The root of an XML document of our own making."""
    return ET.fromstring(text)  # noqa: S314 - see above


def sarif(*findings: Finding) -> Any:
    """The run, held against the schema."""
    whole = json.loads(FORMATS["sarif"](findings, "1.0"))
    Draft202012Validator(SARIF).validate(whole)
    return whole["runs"][0]


@pytest.mark.parametrize("form", FORMATS)
def test_findings_are_written_as_in_the_golden_file(form: FormatName) -> None:
    """`UPDATE_CASES=1 pytest tests/checks/test_formats.py` writes them."""
    findings, nothing = (FORMATS[form](listed, "1.0") for listed in ([STALE, DATE, WHOLE, DATE, ODD], []))
    shown = f"{findings}=== nothing\n{nothing}".encode("ascii", "backslashreplace").decode()
    held_against(CASES / "findings" / f"{form}.txt", shown)


@given(st.lists(ANY, max_size=5), st.randoms())
def test_no_form_breaks_or_depends_on_the_order_of_the_findings(findings: list[Finding], shuffler: Any) -> None:
    written = {name: form(findings, "1.0") for name, form in FORMATS.items()}
    json.loads(written["json"])
    assert len(parsed(written["junit"])[0]) == max(1, len(findings))
    assert written["github"].count("\n") == len(findings)
    assert written["text"].count("\n") == len(findings) + 1
    places = [result["locations"][0]["physicalLocation"] for result in sarif(*findings)["results"]]
    shown = [place["artifactLocation"]["uri"] for place in places]
    assert sorted(map(unquote, shown)) == sorted(each.path or "." for each in findings)
    shuffler.shuffle(findings)
    for name, form in FORMATS.items():
        assert form(findings, "1.0").encode() == written[name].encode()


def test_a_fingerprint_outlives_a_move_and_a_new_severity_or_remedy() -> None:
    moved = Finding(DATE.id, "note", DATE.path, 99, DATE.message, "other")
    assert moved.fingerprint == DATE.fingerprint == "0da98f7c50b589269f6ee514283aaf9f"
    others = {Finding(id_, "error", path, 1, "d", "").fingerprint for id_, path in (("a", "bc"), ("ab", "c"))}
    assert len(others) == 2


def test_a_baseline_has_a_line_for_each_finding_which_no_move_changes() -> None:
    text = baseline_text([STALE, DATE, ODD])
    assert text.isascii()
    assert [json.loads(line.rstrip(","))["id"] for line in text.splitlines()[1:-1]] == ["odd", "bad-date", "stale"]
    moved = Finding(DATE.id, DATE.severity, DATE.path, 99, DATE.message, "other")
    assert baseline_text([moved, ODD, STALE]) == text


def test_a_baseline_parts_new_from_known_from_gone() -> None:
    new, known, gone = split_accepted(baseline_text([STALE, WHOLE]), [DATE, STALE])
    assert (new, known) == ((DATE,), (STALE,))
    assert gone == (Finding("no-agent", "note", "", 0, "there is no agent", ""),)


def test_one_more_of_the_same_is_new() -> None:
    text = baseline_text([DATE, DATE])
    assert [len(part) for part in split_accepted(text, [DATE] * 3)] == [1, 2, 0]
    assert [len(part) for part in split_accepted(text, [DATE])] == [0, 1, 1]


@given(st.lists(ANY, max_size=6))
def test_a_baseline_accepts_what_it_was_made_of_and_that_only(findings: list[Finding]) -> None:
    new, known, gone = split_accepted(baseline_text(findings), findings)
    assert (new, len(known), gone) == ((), len(findings), ())
    assert len(split_accepted(baseline_text([]), findings)[0]) == len(findings)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        pytest.param("", "base.json:1", id="empty"),
        pytest.param('{"schema": "ctxasm.baseline/1",\n<<<<<<< ours\n', "base.json:2", id="merge conflict"),
        pytest.param("[" * 100_000, "base.json", id="nested"),
        pytest.param("[]", "base.json", id="list"),
        pytest.param('{"schema": "ctxasm.baseline/2", "findings": []}', "base.json", id="other schema"),
        pytest.param('{"schema": "ctxasm.baseline/1", "findings": {}}', "base.json", id="no list"),
        pytest.param('{"schema": "ctxasm.baseline/1", "findings": [3]}', "base.json: finding 1", id="number"),
        pytest.param('{"schema": "ctxasm.baseline/1", "findings": [{"id": "a"}]}', "base.json: finding 1", id="fields"),
    ],
)
def test_a_baseline_that_can_not_be_read_is_an_error_that_says_where(text: str, where: str) -> None:
    with pytest.raises(ContextasmError) as caught:
        split_accepted(text, [], "base.json")
    assert caught.value.where == where
    assert "--update-baseline" in caught.value.hint
