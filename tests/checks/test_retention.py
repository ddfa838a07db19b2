"""What `ctxasm check` says of policies of retention: nothing in one is silently without effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import fill, inside

FILES = {
    "docs/a.md": "# A\n\nText.\n",
    "agents/a/daily/2025-03-13.md": "Log.\n",
    "agents/a/memories/m.md": "- [fact] One\n",
}


def told(root: Path, policy: str) -> str:
    """The output of the check."""
    settings = f"date: 2025-03-14\nupkeep:\n  retention:\n    docs: {policy}\n"
    return inside("check", "-w", fill(root, {**FILES, "ctxasm.yaml": settings})).out


@pytest.mark.parametrize(
    ("policy", "what"),
    [
        ("{files: doc/*.md, evict: {max_kb: 1}}", "no file matches doc/*.md"),
        ("{files: 'docs/archive/*', evict: {max_kb: 1}}", "no file matches docs/archive/*"),
        ("{files: docs/*, pin: {files: doc/a.md}, evict: {max_kb: 1}}", "the pin doc/a.md fits none of its files"),
        ("{types: fcat, evict: {max_kb: 1}}", "no memory has the type fcat: did you mean fact?"),
        ("{files: agents/*/daily/*.md, compress: {}}", "`compress` shortens none of its files"),
        ("{files: agents/*/memories/*.md, compress: {}}", "`compress` shortens none of its files"),
    ],
)
def test_parts_without_effect_are_named(tmp_path: Path, policy: str, what: str) -> None:
    out = told(tmp_path, policy)
    assert f"ctxasm.yaml:4: warning: the policy docs of retention: {what}" in out
    assert out.count("[retention]") == 1


@pytest.mark.parametrize(
    "policy",
    [
        "{files: docs/*, pin: {files: docs/a.md}, compress: {}, evict: {max_kb: 1}}",
        "{types: 'f*', evict: {max_kb: 1}}",
        "{files: agents/*/memories/*.md, evict: {max_kb: 1}}",
        "{files: docs/*, evict: {max_kbs: 1}}",
    ],
)
def test_there_is_no_finding_of_a_policy_with_effect(tmp_path: Path, policy: str) -> None:
    assert "[retention]" not in told(tmp_path, policy)
