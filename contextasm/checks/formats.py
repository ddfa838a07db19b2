"""What `check` found, in the forms that people, CI systems and editors read.

Findings go in, text comes out. Nothing here reads or writes a file, or picks an exit code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from contextasm.checks.finding import Finding, number_findings, severity_counts, sort_findings

# --- Text ------------------------------------------------------------------------------------------------------------


def _text(findings: Sequence[Finding], _version: str) -> str:
    """A line for each finding, in the form that editors jump by, and a summary."""
    lines = [f"{_place(each)}{each.severity}: {each.advice} [{each.id}]" for each in sort_findings(findings)]
    return "".join(_visible(line) + "\n" for line in [*lines, _summary(findings)])


def _place(finding: Finding) -> str:
    """The part up to the severity, as far as there is one."""
    parts = [finding.path, str(finding.line)] if finding.line else [finding.path]
    return ":".join(parts) + ": " if finding.path else ""


def _summary(findings: Sequence[Finding]) -> str:
    """How many there are, in words."""
    if not findings:
        return "no findings"
    parts = ", ".join(_number(count, noun) for noun, count in severity_counts(findings).items() if count)
    return f"{_number(len(findings), 'finding')}: {parts}"


def _number(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count} {noun}{'s' * (count != 1)}"


def _visible(line: str) -> str:
    """The line with escapes for what would break it, hide in it or steer a terminal."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)


# --- JSON ------------------------------------------------------------------------------------------------------------


def _json(findings: Sequence[Finding], version: str) -> str:
    """Everything, under a schema that is kept stable."""
    rows = [each._asdict() | {"fingerprint": each.fingerprint} for each in sort_findings(findings)]
    whole = {"schema": "ctxasm.findings/1", "version": version, "findings": rows, "counts": severity_counts(findings)}
    return json.dumps(whole, indent=2) + "\n"


# --- GitHub Actions --------------------------------------------------------------------------------------------------

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def _github(findings: Sequence[Finding], _version: str) -> str:
    """Workflow commands, which Actions turns into annotations; nothing at all where there is nothing to say."""
    return "".join(_command(each) for each in sort_findings(findings))


def _command(finding: Finding) -> str:
    """One annotation; without a path it belongs to the whole run."""
    place = {"file": finding.path, "line": str(finding.line or "")} if finding.path else {}
    properties = {**place, "title": finding.id}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{_COMMANDS[finding.severity]} {listed}::{_data(finding.advice)}\n"


def _data(value: str) -> str:
    """A value as the runner unescapes it. The per cent sign goes first, or it would be escaped twice."""
    safe = value.encode("utf-8", "replace").decode()
    return safe.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    """The same where a colon or a comma would end the value."""
    return _data(value).replace(":", "%3A").replace(",", "%2C")


# --- SARIF -----------------------------------------------------------------------------------------------------------


def _sarif(findings: Sequence[Finding], version: str) -> str:
    """SARIF 2.1.0, with the properties that GitHub's code scanning requires."""
    first = {each.id: each for each in reversed(sort_findings(findings))}
    ids = sorted(first)
    driver = {"name": "ctxasm", "version": version, "rules": [_rule(first[each]) for each in ids]}
    results = [_result(key, each, ids.index(each.id)) for key, each in number_findings(findings)]
    whole = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(whole, indent=2) + "\n"


def _rule(finding: Finding) -> dict[str, object]:
    """What is said about a check in general, taken from its first finding."""
    title = {"text": finding.id.replace("-", " ")}
    return {
        "id": finding.id,
        "shortDescription": title,
        "fullDescription": title,
        "help": {"text": finding.hint or finding.message},
        "defaultConfiguration": {"level": finding.severity},
    }


def _result(key: str, finding: Finding, rule: int) -> dict[str, object]:
    """One finding. Severities and levels go by the same names."""
    return {
        "ruleId": finding.id,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": finding.advice},
        "locations": [{"physicalLocation": _location(finding)}],
        "partialFingerprints": {"ctxasmFinding/v1": key},
    }


def _location(finding: Finding) -> dict[str, object]:
    """Where it is. GitHub refuses a result that is nowhere, so the workspace itself is `.`."""
    artifact = {"artifactLocation": {"uri": _uri(finding.path) or "."}}
    return {**artifact, "region": {"startLine": finding.line}} if finding.path and finding.line else {**artifact}


def _uri(path: str) -> str:
    """A path as a relative URI reference (RFC 3986); whatever bytes a name has, they come out again."""
    data = path.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if chr(byte) in _UNRESERVED else f"%{byte:02X}" for byte in data)


_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"

# --- JUnit -----------------------------------------------------------------------------------------------------------

_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
"""What no XML document may hold, not even escaped."""


def _junit(findings: Sequence[Finding], _version: str) -> str:
    """A test case for each finding: failed for an error, else passed with a remark; one that passes for none."""
    cases = [_case(each) for each in sort_findings(findings)] or ['    <testcase classname="ctxasm" name="check"/>']
    failed = sum(each.severity == "error" for each in findings)
    totals = f'tests="{len(cases)}" failures="{failed}" errors="0"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="ctxasm" {totals}>',
        f'  <testsuite name="ctxasm check" {totals} skipped="0">',
        *cases,
        "  </testsuite>",
        "</testsuites>",
    ]
    return "".join(line + "\n" for line in lines)


def _case(finding: Finding) -> str:
    """One finding as a test, named for its place, so that a report tells equal ones apart."""
    from xml.sax.saxutils import escape

    head = _attributes(classname=f"ctxasm.{finding.id}", name=f"{_place(finding)}{finding.id}", file=finding.path)
    advice = escape(_NOT_XML.sub("\ufffd", finding.advice)).replace("\r", "&#13;")
    if finding.severity == "error":
        inner = f"<failure{_attributes(type=finding.severity, message=finding.message)}>{advice}</failure>"
    else:
        inner = f"<system-out>{advice}</system-out>"
    return f"    <testcase{head}>{inner}</testcase>"


def _attributes(**values: str) -> str:
    """XML attributes, but for the empty ones."""
    from xml.sax.saxutils import quoteattr

    pairs = ((name, _NOT_XML.sub("\ufffd", value)) for name, value in values.items() if value)
    return "".join(f" {name}={quoteattr(value)}" for name, value in pairs)


# --- Markdown --------------------------------------------------------------------------------------------------------


def _markdown(findings: Sequence[Finding], _version: str) -> str:
    """A table for a page, such as the summary of a step in GitHub Actions."""
    rows = [
        (each.severity, _code(_place(each).removesuffix(": ")), _cell(each.advice)) for each in sort_findings(findings)
    ]
    lines = [f"| {severity} | {place} | {advice} |" for severity, place, advice in rows]
    head = ["| severity | where | what, and what to do |", "|---|---|---|"] if lines else []
    return "".join(line + "\n" for line in ("### ctxasm check", "", _summary(findings), "", *head, *lines))


def _cell(text: str) -> str:
    """A text that neither ends the cell it stands in nor is taken for markup."""
    return re.sub(r"([\\|<>*_`#\[\]~&])", r"\\\1", _visible(text))


def _code(place: str) -> str:
    """A place in the form of code; a backtick or a bar in it can't be kept there."""
    return "`" + _visible(place).replace("`", "'").replace("|", "\\|") + "`" if place else ""


FORMATS: dict[str, Callable[[Sequence[Finding], str], str]] = {
    "text": _text,
    "json": _json,
    "github": _github,
    "sarif": _sarif,
    "junit": _junit,
    "markdown": _markdown,
}
"""Name of a format to what writes it: findings in any order and the version of ctxasm to a text."""
