"""What holds of `ctxasm check` on random workspaces, however broken."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from contextasm.checks.baseline import baseline_text, split_accepted
from contextasm.checks.finding import Finding
from contextasm.checks.formats import FORMATS
from contextasm.checks.inspection import inspect
from contextasm.checks.registry import run_checks
from contextasm.config.options import Options, ProcessEnvironment
from contextasm.model import Problem
from tests.command import fill
from tests.workspaces import DAY, Content, law, workspaces

NOW = datetime(DAY.year, DAY.month, DAY.day, 12, tzinfo=UTC).timestamp()

ODDITIES = st.text(
    st.sampled_from("[](#)%00`.md/\\-: \n\u202e\u200b\U000e0041\x00{}=ax\u65e5---"), min_size=1, max_size=40
)
"""Bits of links, headings, attributes and hidden characters."""

CONFIG = st.sampled_from(
    [
        "",
        "budget: 300\n",
        "budget: 0\n",
        "profile: openclaw\n",
        "agent: [\n",
        "layers:\n  - id: L7\n    share: 1.5\n",
        "outputs:\n  - file: agents/luna/IDENTITY.md\n    agent: luna\n  - {file: x, format: json}\n",
        "outputs: 3\nteam: 3\n",
    ]
)


def check(files: Mapping[str, Content]) -> list[Finding]:
    """The findings of a workspace made for it alone."""
    with TemporaryDirectory() as folder:
        plain = {path: content for path, content in files.items() if not isinstance(content, Problem)}
        root = fill(Path(folder), plain, base={})
        return run_checks(inspect(Options(workspace=str(root)), ProcessEnvironment({}, root, lambda: NOW)))


@law(40)
@given(workspaces(), CONFIG, ODDITIES, ODDITIES)
def test_check_always_comes_to_an_end_and_to_the_same(
    files: dict[str, Content], config: str, odd: str, odder: str
) -> None:
    """No workspace breaks a check; every finding has a hint and goes through every form and the baseline."""
    files |= {"ctxasm.yaml": config, "agents/luna/odd.md": odd, "agents/luna/memories/odd.md": f"- [{odder}] {odd}"}
    found = check(files)
    assert found == check(dict(reversed(files.items())))
    assert [each for each in found if not (each.id and each.message and each.hint)] == []
    assert all(isinstance(write(found, "1"), str) for write in FORMATS.values())
    assert split_accepted(baseline_text(found), found)[0] == ()
