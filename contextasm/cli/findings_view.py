"""Findings of `check` for a terminal: grouped by file, with the severity in colour. Pipes get `checks/formats`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import groupby

from contextasm.checks.finding import Finding, sort_findings
from contextasm.checks.formats import escape_unprintable, summary_line

STYLES: Mapping[str, str] = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def terminal_findings(findings: Sequence[Finding]) -> str:
    """The findings under a heading for each file, wrapped to the width of the terminal, and a summary."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = StringIO()
    console = Console(file=out, width=Console().width, force_terminal=True, highlight=False)
    for path, group in groupby(sort_findings(findings), lambda finding: finding.path):
        console.print(Text(escape_unprintable(path or "workspace"), "bold"))
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(justify="right", width=5)
        grid.add_column(width=max(map(len, STYLES)))
        grid.add_column(overflow="fold")
        for finding in group:
            text = Text(f"{escape_unprintable(finding.message)} [{finding.id}]")
            text.append(f"\n{escape_unprintable(finding.hint)}" if finding.hint else "", "dim")
            grid.add_row(str(finding.line or "-"), Text(finding.severity, STYLES[finding.severity]), text)
        console.print(grid)
        console.print()
    console.print(Text(summary_line(findings), "bold"))
    return out.getvalue()
