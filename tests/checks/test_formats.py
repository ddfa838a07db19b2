"""The forms in which `contextasm.checks.formats` writes findings, and the baseline of those that are accepted."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from contextasm.checks.finding import Finding, baseline_text, split_accepted
from contextasm.checks.formats import FORMATS
from contextasm.model import ContextasmError

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

SARIF = {
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "maxItems": 1, "items": {"$ref": "#/$defs/run"}},
    },
    "$defs": {
        "message": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "run": {
            "type": "object",
            "required": ["tool", "results"],
            "properties": {
                "tool": {"required": ["driver"], "properties": {"driver": {"$ref": "#/$defs/driver"}}},
                "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
            },
            "additionalProperties": False,
        },
        "driver": {
            "type": "object",
            "required": ["name", "version", "rules"],
            "properties": {
                "name": {"const": "ctxasm"},
                "version": {"type": "string"},
                "rules": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/rule"}},
            },
            "additionalProperties": False,
        },
        "rule": {
            "type": "object",
            "required": ["id", "shortDescription", "fullDescription", "help"],
            "properties": {
                "id": {"type": "string", "minLength": 1},
                "shortDescription": {"$ref": "#/$defs/message"},
                "fullDescription": {"$ref": "#/$defs/message"},
                "help": {"$ref": "#/$defs/message"},
                "defaultConfiguration": {"properties": {"level": {"$ref": "#/$defs/level"}}},
            },
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "required": ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
            "properties": {
                "ruleId": {"type": "string"},
                "ruleIndex": {"type": "integer", "minimum": 0},
                "level": {"$ref": "#/$defs/level"},
                "message": {"$ref": "#/$defs/message"},
                "locations": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/location"}},
                "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "additionalProperties": False,
        },
        "location": {
            "type": "object",
            "required": ["physicalLocation"],
            "properties": {
                "physicalLocation": {
                    "type": "object",
                    "required": ["artifactLocation"],
                    "properties": {
                        "artifactLocation": {
                            "required": ["uri"],
                            "properties": {"uri": {"pattern": r"^(?:[A-Za-z0-9_.~/-]|%[0-9A-F]{2})+$"}},
                        },
                        "region": {
                            "required": ["startLine"],
                            "properties": {"startLine": {"type": "integer", "minimum": 1}},
                        },
                    },
                    "additionalProperties": False,
                }
            },
        },
    },
}
"""The parts of SARIF 2.1.0, and of what GitHub asks beyond it, that concern what is written here."""


def parsed(text: str) -> ET.Element:
    """The root of an XML document of our own making."""
    return ET.fromstring(text)  # noqa: S314 - see above


def sarif(*findings: Finding) -> Any:
    """The run, held against the schema."""
    whole = json.loads(FORMATS["sarif"](findings, "1.0"))
    Draft202012Validator(SARIF).validate(whole)
    return whole["runs"][0]


def test_text_is_a_line_for_each_finding_in_order_and_a_summary() -> None:
    assert FORMATS["text"]([STALE, DATE, WHOLE], "1.0").splitlines() == [
        "note: there is no agent: run ctxasm init [no-agent]",
        "agents/ada/IDENTITY.md:3: error: no such day: write YYYY-MM-DD [bad-date]",
        "out.md: warning: older than its sources: run ctxasm build [stale]",
        "3 findings: 1 error, 1 warning, 1 note",
    ]


def test_text_says_so_when_there_is_nothing() -> None:
    assert FORMATS["text"]([], "1.0") == "no findings\n"


def test_text_shows_what_would_hide_in_it() -> None:
    line, _ = FORMATS["text"]([ODD], "1.0").splitlines()
    assert line == "a b/50%,\u00e4:1.md:2: error: 50% of: a,b\\r\\n<c>&\"'\\x00\\ufffe\\u202e [odd]"


def test_json_holds_every_field_and_the_counts() -> None:
    whole = json.loads(FORMATS["json"]([STALE, DATE, DATE], "1.0"))
    assert whole["schema"] == "ctxasm.findings/1"
    assert whole["version"] == "1.0"
    assert whole["counts"] == {"error": 2, "warning": 1, "note": 0}
    assert whole["findings"][2] == {
        "id": "stale",
        "severity": "warning",
        "path": "out.md",
        "line": 0,
        "message": "older than its sources",
        "hint": "run ctxasm build",
        "fingerprint": STALE.fingerprint,
    }


def test_github_gets_a_command_for_each_finding() -> None:
    assert FORMATS["github"]([STALE, DATE, WHOLE], "1.0").splitlines() == [
        "::notice title=no-agent::there is no agent: run ctxasm init",
        "::error file=agents/ada/IDENTITY.md,line=3,title=bad-date::no such day: write YYYY-MM-DD",
        "::warning file=out.md,title=stale::older than its sources: run ctxasm build",
    ]


def test_github_commands_are_escaped_as_the_runner_unescapes_them() -> None:
    command = FORMATS["github"]([ODD], "1.0")
    assert command.startswith("::error file=a b/50%25%2C\u00e4%3A1.md,line=2,title=odd::50%25 of: a,b%0D%0A<c>")


def test_sarif_points_each_result_to_its_rule() -> None:
    run = sarif(STALE, DATE, WHOLE, DATE)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["bad-date", "no-agent", "stale"]
    assert [rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"]] == [True] * 4
    assert [result["level"] for result in run["results"]] == ["note", "error", "error", "warning"]


def test_sarif_tells_equal_findings_apart() -> None:
    prints = [result["partialFingerprints"]["ctxasmFinding/v1"] for result in sarif(DATE, DATE)["results"]]
    assert prints == [f"{DATE.fingerprint}:1", f"{DATE.fingerprint}:2"]


def test_sarif_encodes_paths_and_invents_no_place() -> None:
    places = [result["locations"][0]["physicalLocation"] for result in sarif(ODD, STALE, WHOLE)["results"]]
    assert places == [
        {"artifactLocation": {"uri": "."}},
        {"artifactLocation": {"uri": "a%20b/50%25%2C%C3%A4%3A1.md"}, "region": {"startLine": 2}},
        {"artifactLocation": {"uri": "out.md"}},
    ]


def test_junit_fails_a_test_for_each_error() -> None:
    suite = parsed(FORMATS["junit"]([STALE, DATE, WHOLE], "1.0"))[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    assert [case.get("name") for case in suite] == ["no-agent", f"{DATE.path}:3: bad-date", "out.md: stale"]
    assert [case[0].tag for case in suite] == ["system-out", "failure", "system-out"]
    assert suite[1][0].attrib == {"type": "error", "message": "no such day"}
    assert suite[1][0].text == "no such day: write YYYY-MM-DD"


def test_junit_has_a_test_that_passed_when_there_is_nothing() -> None:
    suite = parsed(FORMATS["junit"]([], "1.0"))[0]
    assert (suite.get("tests"), suite.get("failures"), len(suite), len(suite[0])) == ("1", "0", 1, 0)


def test_junit_replaces_what_xml_can_not_hold() -> None:
    suite = parsed(FORMATS["junit"]([ODD], "1.0"))[0]
    assert suite[0][0].text == "50% of: a,b\r\n<c>&\"'\ufffd\ufffd\u202e"
    assert suite[0][0].get("message") == suite[0][0].text


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


def test_markdown_is_a_table_that_no_finding_breaks_out_of() -> None:
    table = FORMATS["markdown"]([DATE, ODD], "1.0")
    assert table.startswith("### ctxasm check\n\n2 findings: 2 errors\n\n| severity | where |")
    assert table.count("\n| error | ") == 2
    assert "| `agents/ada/IDENTITY.md:3` | no such day: write YYYY-MM-DD |" in table
    assert "\\<c\\>" in table
    assert FORMATS["markdown"]([], "1.0") == "### ctxasm check\n\nno findings\n\n"
