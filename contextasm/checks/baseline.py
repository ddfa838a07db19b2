"""The findings that somebody has accepted: the text of the file that lists them, and how it is held against new ones.

Nothing here reads or writes that file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import get_args

from contextasm.checks.finding import Finding, Severity, number_findings
from contextasm.model import ContextasmError

_BASELINE = "ctxasm.baseline/1"


def baseline_text(findings: Sequence[Finding]) -> str:
    """The file that accepts these findings: a line for each, which stays the same while the finding moves about.

    It is ASCII throughout, so that it never holds what it lists.
    """
    rows = sorted(((each.path, each.id, each.message, key), each.severity) for key, each in number_findings(findings))
    names = ("path", "id", "message", "fingerprint", "severity")
    lines = ["  " + json.dumps(dict(zip(names, (*row, severity), strict=True))) for row, severity in rows]
    inner = "\n" + ",\n".join(lines) + "\n" if lines else ""
    return f'{{"schema": "{_BASELINE}", "findings": [{inner}]}}\n'


def split_accepted(
    text: str, findings: Sequence[Finding], where: str = "baseline"
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings that the baseline lacks, those that it holds, and those that only it holds, at line 0.

    `where` names the baseline in the error about one that can't be read.
    """
    listed = _listed(text, where)
    found = dict(number_findings(findings))
    new = tuple(each for key, each in found.items() if key not in listed)
    known = tuple(each for key, each in found.items() if key in listed)
    return new, known, tuple(each for key, each in listed.items() if key not in found)


def _listed(text: str, where: str) -> dict[str, Finding]:
    """The findings of a baseline by their keys."""
    hint = "settle it by hand if it is a merge conflict, or write it anew with --update-baseline"
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        raise ContextasmError(f"{where}:{error.lineno}", f"the baseline is not JSON ({error.msg})", hint) from error
    except RecursionError as error:
        raise ContextasmError(where, "the baseline is nested too deeply", hint) from error
    if not isinstance(whole, dict) or whole.get("schema") != _BASELINE or not isinstance(whole.get("findings"), list):
        raise ContextasmError(where, f"this is no baseline: it does not say {_BASELINE}", hint)
    return dict(_entry(row, f"{where}: finding {place}", hint) for place, row in enumerate(whole["findings"], 1))


def _entry(row: object, where: str, hint: str) -> tuple[str, Finding]:
    """One accepted finding and its key."""
    names = ("id", "severity", "path", "message", "fingerprint")
    whole = isinstance(row, dict) and all(isinstance(row.get(name), str) for name in names)
    if not isinstance(row, dict) or not whole or row["severity"] not in get_args(Severity):
        raise ContextasmError(where, f"an accepted finding has {', '.join(names)}, each a text", hint)
    return row["fingerprint"], Finding(row["id"], row["severity"], row["path"], 0, row["message"], "")
