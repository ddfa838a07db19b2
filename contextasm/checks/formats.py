"""Formats of `ctxasm check`: findings as text for people, editors and CI systems.

Nothing here reads or writes a file, or picks an exit code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypedDict
from urllib.parse import quote

from contextasm.checks.finding import Finding, number_findings, severity_counts, sort_findings
from contextasm.rendering.json_codec import INLINE, Count, to_json
from contextasm.text.cleaning.clean import without_ci_commands

# --- Text ------------------------------------------------------------------------------------------------------------


def _text(findings: Sequence[Finding], _version: str) -> str:
    # Places have the form that editors recognize.
    lines = [
        f"{_place_prefix(finding)}{finding.severity}: {finding.advice} [{finding.id}]"
        for finding in sort_findings(findings)
    ]
    text = "".join(escape_unprintable(line) + "\n" for line in [*lines, summary_line(findings)])
    return without_ci_commands(text)


def _place_prefix(finding: Finding) -> str:
    parts = [finding.path, str(finding.line)] if finding.line else [finding.path]
    return ":".join(parts) + ": " if finding.path else ""


def summary_line(findings: Sequence[Finding]) -> str:
    """The number of findings of each severity, in words."""
    if not findings:
        return "no findings"
    parts = ", ".join(_count_words(count, noun) for noun, count in severity_counts(findings).items() if count)
    return f"{_count_words(len(findings), 'finding')}: {parts}"


def _count_words(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def escape_unprintable(line: str) -> str:
    """A line with escapes for line ends, hidden characters and control codes of terminals."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in line)


# --- JSON ------------------------------------------------------------------------------------------------------------


class FindingData(TypedDict):
    """One finding."""

    finding: Annotated[Finding, INLINE]
    """The fault, and advice."""
    fingerprint: Annotated[str, ("pattern", "^[0-9a-f]{32}$")]
    """The same as long as id, path and message are."""
    page: str
    """The address of the page with the cause of such findings, and what to do."""


class SeverityCounts(TypedDict):
    """How many findings there are of each severity."""

    error: Count
    """Findings that fail a check."""
    warning: Count
    """Findings that fail a strict check, and are then errors."""
    note: Count
    """All others."""


class FindingsDocument(TypedDict):
    """The findings of `ctxasm check --format json`."""

    schema: Literal["ctxasm.findings/1"]
    version: str
    """The version of ctxasm."""
    findings: list[FindingData]
    """In the order of path and line."""
    counts: SeverityCounts
    """How many findings there are of each severity."""


def _json(findings: Sequence[Finding], version: str) -> str:
    rows = [{"finding": each, "fingerprint": each.fingerprint, "page": each.page} for each in sort_findings(findings)]
    report = {"version": version, "findings": rows, "counts": severity_counts(findings)}
    return json.dumps(to_json(FindingsDocument, report), indent=2) + "\n"


# --- GitHub Actions --------------------------------------------------------------------------------------------------

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def _github(findings: Sequence[Finding], _version: str) -> str:
    # Workflow commands, which GitHub Actions shows as annotations.
    commands = ""
    for finding in sort_findings(findings):
        # Without a path the annotation belongs to the whole run.
        place = {"file": finding.path, "line": str(finding.line or "")} if finding.path else {}
        properties = {**place, "title": finding.id}
        assignments = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items() if value)
        commands += f"::{_COMMANDS[finding.severity]} {assignments}::{_escape_data(finding.advice)}\n"
    return commands


def _escape_data(value: str) -> str:
    valid = re.sub(r"[^\r\n]+", lambda line: escape_unprintable(line[0]), value.encode("utf-8", "replace").decode())
    # The per cent sign goes first, or it would be escaped twice.
    return valid.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(value: str) -> str:
    # A colon or a comma would end the value.
    return _escape_data(value).replace(":", "%3A").replace(",", "%2C")


# --- SARIF -----------------------------------------------------------------------------------------------------------


def _sarif(findings: Sequence[Finding], version: str) -> str:
    # SARIF 2.1.0, with the properties that GitHub's code scanning requires.
    first_findings = {finding.id: finding for finding in reversed(sort_findings(findings))}
    ids = sorted(first_findings)
    rules = [_sarif_rule(first_findings[check_id]) for check_id in ids]
    driver = {"name": "ctxasm", "version": version, "rules": rules}
    results = [_sarif_result(key, finding, ids.index(finding.id)) for key, finding in number_findings(findings)]
    runs = [{"tool": {"driver": driver}, "results": results}]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": runs}, indent=2) + "\n"


def _sarif_rule(finding: Finding) -> dict[str, object]:
    # The first finding describes the check.
    title = {"text": finding.id.replace("-", " ")}
    return {
        "id": finding.id,
        "shortDescription": title,
        "fullDescription": title,
        "help": {"text": finding.hint or finding.message},
        "helpUri": finding.page,
        "defaultConfiguration": {"level": finding.severity},
    }


def _sarif_result(key: str, finding: Finding, rule_index: int) -> dict[str, object]:
    # GitHub refuses a result without a location, so the workspace itself is `.`.
    # A relative URI reference (RFC 3986); names that are not UTF-8 keep their bytes.
    location: dict[str, object] = {"artifactLocation": {"uri": quote(finding.path, errors="surrogateescape") or "."}}
    if finding.path and finding.line:
        location["region"] = {"startLine": finding.line}
    # SARIF's levels have the names of our severities.
    return {
        "ruleId": finding.id,
        "ruleIndex": rule_index,
        "level": finding.severity,
        "message": {"text": finding.advice},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"ctxasmFinding/v1": key},
    }


# --- JUnit -----------------------------------------------------------------------------------------------------------

_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
"""Characters that XML excludes, even escaped."""


def _junit(findings: Sequence[Finding], _version: str) -> str:
    # An error fails, others pass with a remark; without findings, one case passes.
    cases = [_test_case(finding) for finding in sort_findings(findings)]
    cases = cases or ['    <testcase classname="ctxasm" name="check"/>']
    failures = sum(finding.severity == "error" for finding in findings)
    totals = f'tests="{len(cases)}" failures="{failures}" errors="0"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="ctxasm" {totals}>',
        f'  <testsuite name="ctxasm check" {totals} skipped="0">',
        *cases,
        "  </testsuite>",
        "</testsuites>",
    ]
    return "".join(line + "\n" for line in lines)


def _test_case(finding: Finding) -> str:
    from xml.sax.saxutils import escape

    # Named for its place: reports merge cases of one name.
    name = f"{_place_prefix(finding)}{finding.id}"
    head = _nonempty_xml_attributes(classname=f"ctxasm.{finding.id}", name=name, file=finding.path)
    advice = escape(_NOT_XML.sub("\ufffd", finding.advice)).replace("\r", "&#13;")
    failure = _nonempty_xml_attributes(type=finding.severity, message=finding.message)
    is_error = finding.severity == "error"
    result = f"<failure{failure}>{advice}</failure>" if is_error else f"<system-out>{advice}</system-out>"
    return f"    <testcase{head}>{result}</testcase>"


def _nonempty_xml_attributes(**values: str) -> str:
    from xml.sax.saxutils import quoteattr

    pairs = ((name, _NOT_XML.sub("\ufffd", value)) for name, value in values.items() if value)
    return "".join(f" {name}={quoteattr(value)}" for name, value in pairs)


# --- Markdown --------------------------------------------------------------------------------------------------------


def _markdown(findings: Sequence[Finding], _version: str) -> str:
    # For a page, such as the summary of a step in GitHub Actions.
    rows = [_table_row(finding) for finding in sort_findings(findings)]
    header = ["| finding | where | what, and what to do |", "|---|---|---|"] if rows else []
    return "".join(line + "\n" for line in ("### ctxasm check", "", summary_line(findings), "", *header, *rows))


def _table_row(finding: Finding) -> str:
    place = _code_span(_place_prefix(finding).removesuffix(": "))
    return f"| {finding.severity}: [{finding.id}]({finding.page}) | {place} | {_escape_markdown(finding.advice)} |"


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\|<>*_`#\[\]~&])", r"\\\1", escape_unprintable(text))


def _code_span(place: str) -> str:
    # Code can hold neither backticks nor, in a table, bars.
    return "`" + escape_unprintable(place).replace("`", "'").replace("|", "\\|") + "`" if place else ""


FormatName = Literal["text", "json", "github", "sarif", "junit", "markdown"]

FORMATS: dict[FormatName, Callable[[Sequence[Finding], str], str]] = {
    "text": _text,
    "json": _json,
    "github": _github,
    "sarif": _sarif,
    "junit": _junit,
    "markdown": _markdown,
}
"""Each format of `--format` by name: a function from findings, in any order, and the version of ctxasm to a text."""
