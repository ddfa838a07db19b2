"""A finding of `ctxasm check`, and the order, the keys and the counts of several.

Nothing here runs a check or formats a finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Literal, NamedTuple, get_args

Severity = Literal["error", "warning", "note"]


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
    def advice(self) -> str:
        """Message and hint in one text."""
        return ": ".join(filter(None, (self.message, self.hint)))


def sort_findings(findings: Sequence[Finding]) -> list[Finding]:
    """The findings by path, then line."""
    return sorted(
        findings,
        key=lambda finding: (
            finding.path,
            finding.line,
            finding.id,
            finding.message,
            finding.hint,
            finding.severity,
        ),
    )


def number_findings(findings: Sequence[Finding]) -> Iterator[tuple[str, Finding]]:
    """Each finding with a unique key: its fingerprint, and its number among the findings that share it."""
    seen: Counter[str] = Counter()
    for finding in sort_findings(findings):
        seen[finding.fingerprint] += 1
        yield f"{finding.fingerprint}:{seen[finding.fingerprint]}", finding


def severity_counts(findings: Sequence[Finding]) -> dict[str, int]:
    """The number of findings of each severity, the worst first."""
    return {severity: sum(finding.severity == severity for finding in findings) for severity in get_args(Severity)}
