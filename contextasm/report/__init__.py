"""What `check` found: findings, the forms in which they are written, and the list of those that are accepted."""

from contextasm.report.baseline import accepted, baseline_text
from contextasm.report.findings import Finding, Severity
from contextasm.report.forms import FORMATS

__all__ = ["FORMATS", "Finding", "Severity", "accepted", "baseline_text"]
