"""A finding of `ctxasm check`, and the order, the keys and the counts of many.

Nothing here looks for findings or words them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Literal, NamedTuple, get_args

Severity = Literal["error", "warning", "note"]


class Finding(NamedTuple):
    """One thing that is not as it should be."""

    id: str
    """The check that found it. It never changes its meaning."""
    severity: Severity
    path: str
    """Posix path relative to the workspace; empty where the workspace as a whole is meant."""
    line: int
    """Counted from 1; 0 where no line is meant."""
    message: str
    """What is wrong. No line number in it: it is part of what the finding is known by."""
    hint: str
    """What to do about it."""

    @property
    def fingerprint(self) -> str:
        """The same as long as check, path and message are, wherever in the file it moves to."""
        return sha256(f"{self.id}\0{self.path}\0{self.message}".encode("utf-8", "surrogatepass")).hexdigest()[:32]

    @property
    def advice(self) -> str:
        """Message and hint in one."""
        return ": ".join(filter(None, (self.message, self.hint)))


def sort_findings(findings: Sequence[Finding]) -> list[Finding]:
    """In the order of the workspace."""
    return sorted(findings, key=lambda each: (each.path, each.line, each.id, each.message, each.hint, each.severity))


def number_findings(findings: Sequence[Finding]) -> Iterator[tuple[str, Finding]]:
    """Each finding with the key that tells it from its likes: its fingerprint and which of them it is."""
    seen: Counter[str] = Counter()
    for each in sort_findings(findings):
        seen[each.fingerprint] += 1
        yield f"{each.fingerprint}:{seen[each.fingerprint]}", each


def severity_counts(findings: Sequence[Finding]) -> dict[str, int]:
    """How many there are of each severity, the worst first."""
    return {severity: sum(each.severity == severity for each in findings) for severity in get_args(Severity)}
