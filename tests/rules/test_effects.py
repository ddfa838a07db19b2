"""Effects of rules on a build: each reaches what it names, and one that reaches nothing is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import fill, inside, refused

AGENT = {
    "agents/a/IDENTITY.md": "I am a.\n",
    "agents/a/INSTRUCTIONS.md": "Do it.\n",
    "agents/a/KNOWLEDGE.md": "# Handbook\n\nThe port opens at six.\n",
}
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


@pytest.mark.parametrize("target", ["entity: AuthService", "kg_entity: AuthService", "entity: SSO"])
def test_boost_by_entity_raises_the_entity_in_the_graph(tmp_path: Path, target: str) -> None:
    folder = workspace(tmp_path, f"name: auth\nthen: {{boost: [{{{target}, weight: 8}}]}}\n", **GRAPH)
    text = inside("build", "-w", folder, "-p", "query").out
    assert text.index("AuthService\n") < text.index("Other\n")


def test_boost_by_entity_raises_the_relations_of_the_entity(tmp_path: Path) -> None:
    folder = workspace(tmp_path, "then: {boost: [{entity: AuthService, weight: 8}]}\n", **GRAPH)
    text = inside("build", "-w", folder, "-p", "query").out
    assert text.index("AuthService --[calls]") < text.index("Other --[calls]")


def test_boosted_entity_is_looked_at_beyond_the_number_of_candidates(tmp_path: Path) -> None:
    many = "".join(f"- {{name: Part {number}, salience: 0.9}}\n" for number in range(12))
    graph = {"graph/entities.yaml": many + "- {name: AuthService, salience: 0.1}\n"}
    assert "AuthService" not in inside("build", "-w", workspace(tmp_path, "", **graph), "-p", "query").out
    (tmp_path / "rules/r.yaml").write_text("then: {boost: [{entity: AuthService, weight: 2}]}\n")
    assert "AuthService" in inside("build", "-w", tmp_path, "-p", "query").out


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


def test_boost_without_a_topic_says_that_nothing_is_ranked(tmp_path: Path) -> None:
    rules = "name: up\nthen: {boost: [{tag: sea, weight: 2}]}\n"
    folder = workspace(tmp_path, rules, **{"agents/a/memories/m.md": "- [fact] The bell rings {tags=sea}\n"})
    assert "no such fragment is ranked" in inside("explain", "-w", folder, "-a", "a").out
    assert "no such fragment is ranked" not in inside("explain", "-w", folder, "-a", "a", "--topic", "bell").out


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


@pytest.mark.parametrize(
    ("then", "parts"),
    [
        pytest.param("cap: {L77: 10}", ["cap", "unknown layer L77", "L7"], id="a cap"),
        pytest.param("set_priority: {Lx: 1}", ["set_priority", "unknown layer Lx"], id="a rank"),
        pytest.param("cap: {Recent Activty: 10}", ["did you mean Recent Activity?"], id="a heading"),
        pytest.param("cap: {dayly: 10}", ["did you mean daily?"], id="a source"),
        pytest.param("cap: {Team Rules: 10}", ["one of 3 sections of L2"], id="a section among several"),
    ],
)
def test_layer_that_no_profile_has_is_refused_with_the_nearest_name(
    tmp_path: Path, then: str, parts: list[str]
) -> None:
    folder = workspace(tmp_path, f"- name: typo\n  then: {{{then}}}\n")
    refused(inside("build", "-w", folder, "-a", "a"), "rules/r.yaml:1", "rule `typo`", *parts)
    assert inside("check", "-w", folder).code == 1


def test_layer_of_another_profile_is_no_error_and_is_told(tmp_path: Path) -> None:
    folder = workspace(tmp_path, "- name: ok\n  then: {cap: {experience: 10, mine: 5}}\n")
    (folder / "profiles").mkdir()
    (folder / "profiles/own.yaml").write_text(
        "layers:\n  - {id: mine, heading: Mine, source: document, path: PROJECT.md}\n"
    )
    result = inside("build", "-w", folder, "-a", "a")
    assert (result.code, "warning" in result.err) == (0, False)
    assert (
        "cap layer mine changes nothing: this build has no such layer" in inside("explain", "-w", folder, "-a", "a").out
    )


def test_scope_makes_no_layer_unknown(tmp_path: Path) -> None:
    folder = workspace(tmp_path, "- name: ok\n  then: {cap: {Knowledge Base: 10}}\n")
    assert inside("build", "-w", folder, "-a", "a", "--scope", "L3").code == 0


def test_rank_of_a_required_layer_is_told_as_lost(tmp_path: Path) -> None:
    folder = workspace(tmp_path, "then: {set_priority: {L1: 5}}\n")
    assert "set_priority layer L1 lost: its layer is required" in inside("explain", "-w", folder, "-a", "a").out


def test_exclusion_that_meets_nothing_is_told_by_explain(tmp_path: Path) -> None:
    folder = workspace(tmp_path, "then: {exclude: [nosuch/**]}\n")
    assert "exclude path nosuch/** changes nothing" in inside("explain", "-w", folder, "-a", "a").out
    assert "nosuch" not in inside("build", "-w", folder, "-a", "a").err


@pytest.mark.parametrize(
    "then",
    [
        "exclude: [nosuch/**]",
        "boost: [{tag: nosuch, weight: 2}]",
        "always_include: [nosuch]",
        "exclude: [{type: fcat}]",
    ],
)
@pytest.mark.parametrize("when", ["[]", "{task_contains: [auth]}"])
def test_target_that_nothing_in_the_workspace_can_be_is_a_finding(tmp_path: Path, then: str, when: str) -> None:
    files = {"agents/a/memories/m.md": "- [fact] The bell {tags=sea}\n"}
    folder = workspace(tmp_path, f"- name: typo\n  when: {when}\n  then: {{{then}}}\n", **files)
    result = inside("check", "-w", folder, "--strict")
    assert (result.code, "typo" in result.out) == (1, True), result.out


@pytest.mark.parametrize(
    "then",
    ["exclude: [agents/**]", "boost: [{tag: sea, weight: 2}]", "always_include: [m1]", "exclude: [{type: fact}]"],
)
def test_target_that_only_another_topic_would_meet_is_no_finding(tmp_path: Path, then: str) -> None:
    files = {"agents/a/memories/m.md": "- [fact] The bell {tags=sea id=m1}\n"}
    rules = f"- name: fine\n  when: {{task_contains: [auth]}}\n  then: {{{then}}}\n"
    assert "fine" not in inside("check", "-w", workspace(tmp_path, rules, **files)).out


# --- Pins ------------------------------------------------------------------------------------------------------------


def test_pins_give_way_in_the_order_of_their_rules(tmp_path: Path) -> None:
    files = {
        "docs/first.md": "The first pin, of some twenty words or so, that is wanted more than any other one here.\n",
        "agents/a/KNOWLEDGE.md": "The last pin, of some twenty words or so, that may be left out where room ends.\n",
    }
    rules = (
        "- {name: last, priority: 1, then: {always_include: [agents/a/KNOWLEDGE.md]}}\n"
        "- {name: first, priority: 100, then: {always_include: [docs/first.md]}}\n"
    )
    result = inside("build", "-w", workspace(tmp_path, rules, **files), "-a", "a", "-b", "50")
    assert "The first pin" in result.out
    assert "agents/a/KNOWLEDGE.md:1: rule last includes it" in result.err


def test_section_included_beside_its_file_shows_once(tmp_path: Path) -> None:
    files = {"docs/a.md": "# A\n\nIntro.\n\n## B\n\nThe part.\n\n## C\n\nMore.\n"}
    for paths in ("[docs/a.md, 'docs/a.md#B']", "['docs/a.md#B', docs/a.md]"):
        folder = workspace(tmp_path, f"then: {{always_include: {paths}}}\n", **files)
        out = inside("build", "-w", folder, "-a", "a").out
        assert out.endswith("## Pinned\n### A\n\nIntro.\n\n### B\n\nThe part.\n\n### C\n\nMore.\n")


def test_section_of_higher_priority_outlasts_its_file(tmp_path: Path) -> None:
    files = {"docs/a.md": "# A\n\n" + "Words and more words. " * 40 + "\n\n## B\n\nThe part.\n"}
    rules = (
        "- {name: part, priority: 9, then: {always_include: ['docs/a.md#B']}}\n"
        "- {name: all, then: {always_include: [docs/a.md]}}\n"
    )
    result = inside("build", "-w", workspace(tmp_path, rules, **files), "-a", "a", "-b", "60")
    assert "The part." in result.out
    assert "rule all includes it" in result.err


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        pytest.param("- [fact] Soon {id=m status=draft}\n", "its status is draft", id="a draft"),
        pytest.param("- [fact] Old {id=m}\n- [fact] New {id=n supersedes=m}\n", "n supersedes it", id="superseded"),
    ],
)
def test_pin_of_a_memory_that_may_not_be_shown_says_why(tmp_path: Path, memory: str, words: str) -> None:
    """Row 73: the message was `there is no such thing that may be shown`."""
    folder = workspace(tmp_path, "name: pin\nthen: {always_include: [m]}\n", **{"agents/a/memories/m.md": memory})
    assert f"id m: rule pin: {words}" in inside("build", "-w", folder, "-a", "a").err


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


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        ("exclude: [agents/a/IDENTITY.md]", "exclude path agents/a/IDENTITY.md"),
        ("cap: {L1: 10}", "cap layer L1"),
        ("set_priority: {L1: 5}", "set_priority layer L1"),
    ],
)
def test_effect_on_required_layers_alone_is_a_problem(tmp_path: Path, effect: str, words: str) -> None:
    folder = workspace(tmp_path, f"- name: out\n  then: {{{effect}}}\n")
    told = f"rules/r.yaml:1: rule out: {words} changes nothing: its layer is required [rule-protected]"
    result = inside("build", "-w", folder, "-a", "a")
    assert result.err.count("ctxasm: warning: ") == 1
    assert f"ctxasm: warning: {told}\n" in result.err
    assert "I am a." in result.out
    strict = inside("build", "-w", folder, "-a", "a", "--strict")
    assert (strict.code, strict.out) == (1, "")
    assert f"ctxasm: error: {told}\n" in strict.err
    assert "rule-protected" in inside("check", "-w", folder).out


def test_effect_that_also_reaches_other_layers_is_no_problem(tmp_path: Path) -> None:
    rules = "- name: out\n  then: {exclude: ['agents/a/*']}\n- name: no\n  when: {agent: b}\n  then: {cap: {L1: 9}}\n"
    result = inside("build", "-w", workspace(tmp_path, rules), "-a", "a")
    assert "The port" not in result.out
    assert "rule-protected" not in result.err
