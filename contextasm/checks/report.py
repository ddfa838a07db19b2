"""What `check` found: findings, the forms in which they are written, and the list of those that are accepted."""

from contextasm.checks.baseline import accepted, baseline_text
from contextasm.checks.finding import Finding, Severity
from contextasm.checks.formats import FORMATS

__all__ = ["FORMATS", "Finding", "Severity", "accepted", "baseline_text"]
