"""A finding of `ctxasm check`, and the order, the keys and the counts of several.

Nothing here runs a check or formats a finding.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from operator import attrgetter
from typing import Literal, get_args

from contextasm.model import ContextasmError, NamedTuple
from contextasm.text.cleaning.clean import clean_text
from contextasm.text.json_reader import load_json

Severity = Literal["error", "warning", "note"]

SITE = "https://OWNER.github.io/ctxasm/"
"""Where the documentation is: the one place of the package that names the owner of the repository."""


class Finding(NamedTuple):
    """Defect that a check reports."""

    id: str
    """Id of the check that reports it. An id never changes its meaning."""
    severity: Severity
    path: str
    """Posix path relative to the workspace; empty for the workspace as a whole."""
    line: int
    """Counted from 1; 0 for the file as a whole."""
    message: str
    """Description of the defect, without line numbers: the fingerprint contains it."""
    hint: str
    """Advice to the user."""

    @property
    def fingerprint(self) -> str:
        """Digest of check, path and message: it stays the same when the finding moves within its file."""
        return sha256(f"{self.id}\0{self.path}\0{self.message}".encode("utf-8", "surrogatepass")).hexdigest()[:32]

    @property
    def page(self) -> str:
        """Address of the page with the cause of such findings, and what to do."""
        return f"{SITE}reference/findings/{self.id}/"

    @property
    def cleaned(self) -> Finding:
        """The same with message and hint as clean text: they may quote any file."""
        return self._replace(message=clean_text(self.message).text, hint=clean_text(self.hint).text)

    @property
    def advice(self) -> str:
        """Message and hint in one text."""
        return ": ".join(filter(None, (self.message, self.hint)))


def sort_findings(findings: Sequence[Finding]) -> list[Finding]:
    """The findings by path, then line."""
    return sorted(findings, key=attrgetter("path", "line", "id", "message", "hint", "severity"))


def number_findings(findings: Sequence[Finding]) -> Iterator[tuple[str, Finding]]:
    """Each finding with a unique key: its fingerprint, and its number among the findings that share it."""
    seen: Counter[str] = Counter()
    for finding in sort_findings(findings):
        seen[finding.fingerprint] += 1
        yield f"{finding.fingerprint}:{seen[finding.fingerprint]}", finding


def severity_counts(findings: Sequence[Finding]) -> dict[str, int]:
    """The number of findings of each severity, the worst first."""
    return {severity: sum(finding.severity == severity for finding in findings) for severity in get_args(Severity)}


_BASELINE = "ctxasm.baseline/1"


def baseline_text(findings: Sequence[Finding]) -> str:
    """The baseline file that accepts these findings: one line for each, unchanged when a finding changes its line.

    It is ASCII throughout, so that a check for other characters never finds any in the baseline itself.
    """
    rows = sorted(
        ((finding.path, finding.id, finding.message, key), finding.severity)
        for key, finding in number_findings(findings)
    )
    names = ("path", "id", "message", "fingerprint", "severity")
    lines = ["  " + json.dumps(dict(zip(names, (*row, severity), strict=True))) for row, severity in rows]
    content = "\n" + ",\n".join(lines) + "\n" if lines else ""
    return f'{{"schema": "{_BASELINE}", "findings": [{content}]}}\n'


def refuse_other_text(text: str, where: str) -> None:
    """Raise `ContextasmError` for a file's text that is neither blank nor a baseline, damaged ones included."""
    if text.strip() and _BASELINE not in text:
        hint = "name another file, or remove this file first"
        raise ContextasmError(f"--baseline {where}", "this file is not a baseline, so it is not replaced", hint)


def split_accepted(
    text: str, findings: Sequence[Finding], where: str = "baseline"
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings that the baseline lacks, the ones that it accepts, and accepted ones that no longer occur.

    The last have line 0. `where` names the baseline in messages. Raises `ContextasmError` for a text that is no
    baseline.
    """
    accepted = _parse_baseline(text, where)
    current = dict(number_findings(findings))
    return (
        tuple(finding for key, finding in current.items() if key not in accepted),
        tuple(finding for key, finding in current.items() if key in accepted),
        tuple(finding for key, finding in accepted.items() if key not in current),
    )


def _parse_baseline(text: str, where: str) -> dict[str, Finding]:
    hint = "resolve its merge conflict, or write it again with --update-baseline"
    try:
        baseline = load_json(text, where, takes_halves=True)
    except ContextasmError as error:
        raise ContextasmError(error.where, f"the baseline can't be read: {error.what}", hint) from error
    rows = baseline.get("findings") if isinstance(baseline, dict) and baseline.get("schema") == _BASELINE else None
    if not isinstance(rows, list):
        raise ContextasmError(where, f"this is not a baseline: it does not say {_BASELINE}", hint)
    return dict(_parse_row(row, f"{where}: finding {number}", hint) for number, row in enumerate(rows, 1))


def _parse_row(row: object, where: str, hint: str) -> tuple[str, Finding]:
    names = ("id", "severity", "path", "message", "fingerprint")
    is_complete = isinstance(row, dict) and all(isinstance(row.get(name), str) for name in names)
    if not isinstance(row, dict) or not is_complete or row["severity"] not in get_args(Severity):
        raise ContextasmError(where, f"an accepted finding needs these texts: {', '.join(names)}", hint)
    return row["fingerprint"], Finding(row["id"], row["severity"], row["path"], 0, row["message"], "")


# Each takes path, line, message and hint; `run_checks` puts in the id, so that it is always the name in the table.

error_finding = partial(Finding, "", "error")
"""A finding that makes the run fail."""

warning_finding = partial(Finding, "", "warning")
"""A finding that makes the run fail under `--strict`."""

note_finding = partial(Finding, "", "note")
"""A finding that never makes the run fail."""
