"""Effects of rules on a build: each reaches what it names, and one that reaches nothing is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import fill, inside

AGENT = {"agents/a/KNOWLEDGE.md": "# Handbook\n\nThe port opens at six.\n"}
GRAPH = {
    "graph/entities.yaml": "- {name: AuthService, aliases: [SSO], salience: 0.5}\n- {name: Other, salience: 0.9}\n",
    "graph/relations.yaml": "- {source: Other, type: calls, target: Mailer, weight: 0.9}\n"
    "- {source: AuthService, type: calls, target: Other, weight: 0.5}\n",
}


def workspace(folder: Path, rules: str, **files: str) -> Path:
    return fill(folder, AGENT | {"rules/r.yaml": rules} | files)


def explained(folder: Path, *words: str) -> dict[str, Any]:
    result = inside("explain", "-w", folder, "--json", *words)
    assert result.code == 0, result.err
    data: dict[str, Any] = json.loads(result.out)
    return data


# --- Boosts ----------------------------------------------------------------------------------------------------------


def test_rule_behind_a_boost_is_named_in_the_decision(tmp_path: Path) -> None:
    """Row 87: the score said `boost 8.00` and not whose."""
    folder = workspace(tmp_path, "name: auth\nthen: {boost: [{entity: AuthService, weight: 8}]}\n", **GRAPH)
    assert "boost 8.00 (rule auth)" in inside("explain", "-w", folder, "-p", "query").out
    decisions = {decision["fragment"]: decision for decision in explained(folder, "-p", "query")["decisions"]}
    assert decisions["AuthService"]["boosted_by"] == ["auth"]
    assert decisions["Other"]["boosted_by"] == []


@pytest.mark.parametrize(
    ("target", "words"),
    [
        pytest.param("path: agents/a/KNOWLEDGE.md", "no such fragment is ranked by a score here", id="a text layer"),
        pytest.param("path: nosuch/**", "no layer found such a fragment", id="nothing"),
        pytest.param("entity: Nobody", "no layer found such a fragment", id="no such entity"),
    ],
)
def test_boost_that_changes_nothing_is_told_by_explain(tmp_path: Path, target: str, words: str) -> None:
    """Row 75: it was said to fire, and no more."""
    folder = workspace(tmp_path, f"name: up\nthen: {{boost: [{{{target}, weight: 2}}]}}\n")
    told = inside("explain", "-w", folder, "-a", "a").out
    assert "fires; boost" in told
    assert words in told
    assert words in inside("build", "-w", folder, "-a", "a", "-v").err
    assert words not in inside("build", "-w", folder, "-a", "a").err


# --- Caps and ranks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["L7", "Knowledge Base", "knowledge base"])
def test_cap_names_a_layer_by_id_or_by_heading(tmp_path: Path, name: str) -> None:
    """002-10 accepts either; a heading was swallowed."""
    folder = workspace(tmp_path, f"then: {{cap: {{'{name}': 8}}}}\n")
    assert [row["limit"] for row in explained(folder, "-a", "a")["allowances"] if row["layer"] == "L7"] == [8]


def test_cap_names_layers_by_their_source(tmp_path: Path) -> None:
    folder = workspace(tmp_path, "then: {cap: {daily: 9, search: 7}}\n")
    limits = {row["layer"]: row["limit"] for row in explained(folder, "-a", "a")["allowances"]}
    assert (limits["L3"], limits["L4"], limits["L5"]) == (9, 7, 7)


def test_caps_of_one_layer_by_two_names_are_one_and_the_smaller_wins(tmp_path: Path) -> None:
    rules = "- {name: wide, then: {cap: {daily: 90}}}\n- {name: narrow, then: {cap: {L3: 30}}}\n"
    folder = workspace(tmp_path, rules)
    told = explained(folder, "-a", "a")
    assert [row["limit"] for row in told["allowances"] if row["layer"] == "L3"] == [30]
    assert "cap layer L3 lost to rule narrow" in inside("explain", "-w", folder, "-a", "a").out


# --- Pins ------------------------------------------------------------------------------------------------------------


def test_section_included_beside_its_file_shows_once(tmp_path: Path) -> None:
    files = {"docs/a.md": "# A\n\nIntro.\n\n## B\n\nThe part.\n\n## C\n\nMore.\n"}
    for paths in ("[docs/a.md, 'docs/a.md#B']", "['docs/a.md#B', docs/a.md]"):
        folder = workspace(tmp_path, f"then: {{always_include: {paths}}}\n", **files)
        out = inside("build", "-w", folder, "-a", "a").out
        assert out.endswith("## Pinned\n### A\n\nIntro.\n\n### B\n\nThe part.\n\n### C\n\nMore.\n")


SECTIONS = "# A\n\nIntro.\n\n## B\n\nThe part.\n\n### C\n\nWithin.\n\n## D\n\nMore.\n"


@pytest.mark.parametrize("path", ["docs/a.md", "agents/a/KNOWLEDGE.md"], ids=["outside", "in a layer"])
@pytest.mark.parametrize("sections", [("B", "C"), ("C", "B")], ids=" in ".join)
def test_section_included_with_a_section_within_it_shows_once(
    tmp_path: Path, path: str, sections: tuple[str, str]
) -> None:
    targets = ", ".join(f"'{path}#{title}'" for title in sections)
    folder = workspace(tmp_path, f"then: {{always_include: [{targets}]}}\n", **{path: SECTIONS})
    out = inside("build", "-w", folder, "-a", "a").out
    assert "### B\n\nThe part.\n\n### C\n\nWithin.\n" in out
    assert out.count("Within.") == 1


@pytest.mark.parametrize("path", ["docs/a.md", "agents/a/KNOWLEDGE.md"], ids=["outside", "in a layer"])
def test_section_that_an_included_file_lacks_is_a_problem(tmp_path: Path, path: str) -> None:
    folder = workspace(tmp_path, f"then: {{always_include: [{path}, '{path}#Z']}}\n", **{path: SECTIONS})
    result = inside("build", "-w", folder, "-a", "a")
    assert f"path {path}#Z: rule" in result.err
    assert "[pin-missing]" in result.err
    assert result.out.count("Within.") == 1


# --- Order and stability ---------------------------------------------------------------------------------------------


def test_rules_are_listed_in_the_order_in_which_they_are_heard(tmp_path: Path) -> None:
    """Row 78: the list was in the order of the files."""
    rules = "- {name: low, then: {exclude: [x/**]}}\n- {name: high, priority: 9, then: {exclude: [y/**]}}\n"
    config = "rules:\n  - {name: mid, then: {exclude: [z/**]}}\n"
    folder = workspace(tmp_path, rules, **{"ctxasm.yaml": config})
    listed = [row["rule"] for row in json.loads(inside("rules", "-w", folder, "--json").out)["rules"]]
    evaluated = json.loads(inside("rules", "eval", "-w", folder, "-a", "a", "--json").out)
    heard = [row["rule"] for row in evaluated["rules"]]
    assert listed == heard == ["high", "mid", "low"]


STABLE = AGENT | {
    "teams/t/GOALS.md": "Ship it.\n",
    "agents/a/daily/2025-03-14.md": "A day.\n",
    "ctxasm.yaml": "date: 2025-03-14\n",
}


@pytest.mark.parametrize(
    ("then", "stable"),
    [
        pytest.param("cap: {L3: 500}", {"Identity", "Instructions", "Team Goals"}, id="a cap behind the prefix"),
        pytest.param("cap: {L7: 500}", {"Identity", "Instructions", "Team Goals"}, id="a cap of the last layer"),
        pytest.param(
            "exclude: [nosuch/**]", {"Identity", "Instructions", "Team Goals", "Knowledge Base"}, id="nothing"
        ),
        pytest.param("cap: {L2: 500}", {"Identity", "Instructions"}, id="a cap in the prefix"),
        pytest.param("set_priority: {L7: 9}", {"Identity", "Instructions"}, id="a rank"),
        pytest.param("always_include: [agents/a/KNOWLEDGE.md]", {"Identity", "Instructions"}, id="a pin"),
    ],
)
def test_rule_makes_only_the_layers_unstable_that_it_can_change(tmp_path: Path, then: str, stable: set[str]) -> None:
    folder = fill(tmp_path, STABLE | {"rules/r.yaml": f"then: {{{then}}}\n"})
    sections = explained(folder, "-a", "a", "-t", "t")["sections"]
    assert {section["heading"] for section in sections if section["stable"]} == stable
