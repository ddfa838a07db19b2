"""Rules and the memory index: a build is the same with and without, and rules on other files leave it in use."""

from pathlib import Path
from random import Random

import pytest

from contextasm.model import Build, Context, Effect, IndexedPools, Request, Rule, RuleEvaluation, Target
from contextasm.pipeline import assemble
from contextasm.rules.evaluate import evaluate
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.folder import Folder
from tests.command import fill
from tests.retrieval.memory_index.test_memory_index import NO_INDEXES, indexes, pools_above, same, workspace
from tests.workspaces import DAY, DEFAULT

ELSEWHERE = (
    Target("path", "docs/harbor.md"),
    Target("path", "docs/*.md"),
    Target("path", "agents/*/memories/archive/[0-9].md"),
    Target("heading-path", "docs/harbor.md", "Tides"),
    Target("path", "agents/a/INSTRUCTIONS.md"),
    Target("layer", "L5"),
    Target("path", "**/archive/**"),
    Target("path", "agents/a/memories/*.md/*"),
    Target("entity", "ana"),
)
"""Targets that no memory is, some of them like the patterns of layers."""

MAYBE = (
    Target("path", "agents/a/memories/003.md"),
    Target("heading-path", "agents/a/memories/003.md", "2025-01-01"),
    Target("tag", "colour"),
    Target("id", "x7"),
)
"""Targets that some memories may be."""

ALL = (
    Target("path", "agents/**"),
    Target("path", "agents/a/memories/*.md"),
    Target("path", "**/0*.md"),
    Target("type", "fact"),
)
"""Targets that all memories are."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Agent `a` with 120 memories, and a document."""
    root = workspace(tmp_path_factory.mktemp("rules"), Random(5), files=12, size=10)
    return fill(root, {"docs/harbor.md": "# Harbor\n\nbanning dors\n\n## Tides\n\nHigh at noon.\n"}, base={})


def rules_on(target: Target, action: str) -> RuleEvaluation:
    """One rule that always fires."""
    if target.kind == "layer":
        effect = Effect("cap", target, 300, ("one",))
    else:
        effect = Effect({"include": "always_include"}.get(action, action), target, 1 + (action == "boost"), ("one",))
    return evaluate([Rule("one", "ctxasm.yaml", 1, effects=(effect,))], {})


def built(folder: Path, topic: str, rules: RuleEvaluation, used: IndexedPools | None) -> Context:
    """What is built under rules."""
    request = Request("a", "", topic, DAY, 16_000, "estimate", "markdown")
    return assemble(Build(Folder(folder), DEFAULT, request, ESTIMATE, rules=rules, memory_index=used))


@pytest.mark.parametrize("topic", ["", "banning dors"])
@pytest.mark.parametrize("action", ["include", "exclude", "boost"])
@pytest.mark.parametrize("target", [*ELSEWHERE, *MAYBE, *ALL], ids=str)
def test_same_result_under_rules_with_and_without_an_index(
    folder: Path, target: Target, action: str, topic: str
) -> None:
    rules = rules_on(target, action)
    with pools_above(100):
        with_index, listed = (built(folder, topic, rules, used) for used in (indexes(Folder(folder)), None))
        assert same(with_index) == same(built(folder, topic, rules, NO_INDEXES))
    assert (with_index.text, with_index.problems, with_index.rule_traces) == (
        listed.text,
        listed.problems,
        listed.rule_traces,
    )
    assert (len(with_index.decisions) < 100) == (target in ELSEWHERE)
