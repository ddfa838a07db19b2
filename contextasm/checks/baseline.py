"""Baselines: the file that lists accepted findings, as text, and the comparison of new findings with it.

Nothing here reads or writes that file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import get_args

from contextasm.checks.finding import Finding, Severity, number_findings
from contextasm.model import ContextasmError
from contextasm.text.json_reader import load_json

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
        hint = "name another file, or remove this one first"
        raise ContextasmError(f"--baseline {where}", "this file is no baseline, and would be replaced", hint)


def split_accepted(
    text: str, findings: Sequence[Finding], where: str = "baseline"
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings that the baseline lacks, those that it accepts, and accepted ones that no longer occur.

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
    hint = "settle it by hand if it is a merge conflict, or write it anew with --update-baseline"
    try:
        baseline = load_json(text, where, takes_halves=True)
    except ContextasmError as error:
        raise ContextasmError(error.where, f"the baseline can't be read: {error.what}", hint) from error
    if (
        not isinstance(baseline, dict)
        or baseline.get("schema") != _BASELINE
        or not isinstance(baseline.get("findings"), list)
    ):
        raise ContextasmError(where, f"this is no baseline: it does not say {_BASELINE}", hint)
    return dict(
        _parse_row(row, f"{where}: finding {number}", hint) for number, row in enumerate(baseline["findings"], 1)
    )


def _parse_row(row: object, where: str, hint: str) -> tuple[str, Finding]:
    names = ("id", "severity", "path", "message", "fingerprint")
    is_complete = isinstance(row, dict) and all(isinstance(row.get(name), str) for name in names)
    if not isinstance(row, dict) or not is_complete or row["severity"] not in get_args(Severity):
        raise ContextasmError(where, f"an accepted finding has {', '.join(names)}, each a text", hint)
    return row["fingerprint"], Finding(row["id"], row["severity"], row["path"], 0, row["message"], "")
