"""After a run, which hosts agreed and whose version has changed; `--write` notes it in the data of each that agreed."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from contextasm.config.hosts.loader import SHIPPED_HOSTS

VERIFIED = re.compile(r'^verified: \{version: "(.*)", date: (.*)\}\n', re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of `just hosts`."""
    parser.addoption("--write", action="store_true", help="write the version and the date of each host that agreed")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """A line for each host; one that agreed in all tests, of which none was left out, may be written down."""
    stats = terminalreporter.stats
    found: dict[tuple[str, str], set[str]] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in stats.get(outcome, ()):
            for host in (value for name, value in report.user_properties if name == "host"):
                found.setdefault(host, set()).add(outcome)
    for (name, version), outcomes in found.items():
        file = SHIPPED_HOSTS / f"{name}.yaml"
        text = file.read_text(encoding="utf-8")
        old = VERIFIED.search(text)
        known = f"{old[1]} agreed on {old[2]}" if old else "none has agreed before"
        change = "" if old and old[1] == version else ", a new version"
        agrees = outcomes == {"passed"}
        terminalreporter.write_line(f"{name} {version}{change}: {'agrees' if agrees else 'differs'}; {known}")
        if config.getoption("write", default=False) and agrees and not stats.get("deselected"):
            line = f'verified: {{version: "{version}", date: {datetime.now(UTC).date()}}}\n'
            rest = VERIFIED.sub("", text).partition("\n")
            file.write_text("".join([*rest[:2], line, rest[2]]), encoding="utf-8")
