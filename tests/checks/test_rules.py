"""What `ctxasm check` says of rules: conditions that no build can meet, and targets that are nothing."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection
from contextasm.checks.registry import run_checks
from contextasm.config.input.options import Options, ProcessEnvironment
from tests.command import fill, inside
from tests.tables import column, rows

AGENTS, TEAMS = ("luna", "max-2"), ("q1",)

BASE = {
    "ctxasm.yaml": "date: 2025-03-14\nenv: [STAGE]\n",
    "teams/q1/RULES.md": "Be kind.\n",
    **{f"agents/{agent}/{file}.md": "Text.\n" for agent in AGENTS for file in ("IDENTITY", "INSTRUCTIONS")},
}


def all_found(folder: Path, files: Mapping[str, str]) -> list[Finding]:
    """The findings of a workspace with two agents, a team and these files."""
    fill(folder, {**BASE, **files}, base={})
    return run_checks(Inspection(Options(workspace=str(folder)), ProcessEnvironment({}, str(folder), lambda: 0.0)))


def found(folder: Path, rules: str, files: Mapping[str, str] | None = None) -> list[Finding]:
    """The findings about the rules of a workspace with two agents and a team."""
    findings = all_found(folder, {**(files or {}), "rules/r.yaml": rules})
    return [finding for finding in findings if finding.id in {"rule-condition", "rule-target"}]


def conditions_found(folder: Path, *conditions: str) -> list[Finding]:
    """The findings about a rule with these conditions, the first of which stands in line 3."""
    when = "".join(f"    - {{{condition}}}\n" for condition in conditions)
    return found(folder, f"- name: r\n  when:\n{when}  then: {{exclude: [teams/**]}}\n")


@pytest.mark.parametrize(("condition", "hint"), rows("rules/never"), ids=str)
def test_a_value_that_no_build_can_have_is_a_finding(tmp_path: Path, condition: str, hint: str) -> None:
    (finding,) = conditions_found(tmp_path, "field: team, op: eq, value: q1", condition)
    place = (finding.id, finding.severity, finding.path, finding.line)
    assert place == ("rule-condition", "warning", "rules/r.yaml", 4)
    assert hint in finding.hint


@pytest.mark.parametrize("condition", column("rules/sometimes"))
def test_a_condition_that_only_does_not_hold_today_is_none(tmp_path: Path, condition: str) -> None:
    assert conditions_found(tmp_path, condition) == []


def test_a_rule_that_is_switched_off_may_ask_for_anything(tmp_path: Path) -> None:
    when = "when: {field: agent, op: eq, value: nobody}"
    assert found(tmp_path, f"- name: r\n  enabled: false\n  {when}\n  then: {{exclude: [teams/**]}}\n") == []


@pytest.mark.parametrize(
    ("action", "meant"),
    [
        ("boost: [{tag: sefety, weight: 2}]", "did you mean safety?"),
        ("boost: [{type: desicion, weight: 2}]", "did you mean decision?"),
        ("exclude: [agents/luna/IDENTTY.md]", "did you mean agents/luna/IDENTITY.md?"),
    ],
)
def test_a_target_that_is_nothing_comes_with_the_nearest_name(tmp_path: Path, action: str, meant: str) -> None:
    memory = "- [decision] Lock the door. {tags=safety}\n"
    (finding,) = found(tmp_path, f"- then: {{{action}}}\n", {"agents/luna/memories/m.md": memory})
    assert (finding.id, finding.hint) == ("rule-target", meant)


def test_a_heading_that_is_not_there_comes_with_the_nearest_one(tmp_path: Path) -> None:
    rule = "- when: {field: weekday, op: eq, value: sunday}\n  then: {always_include: ['teams/q1/RULES.md#The deno']}\n"
    (finding,) = found(tmp_path, rule, {"teams/q1/RULES.md": "# The demo\nNow.\n"})
    assert (finding.id, finding.hint) == ("rule-target", "did you mean The demo?")


# --- Caps ------------------------------------------------------------------------------------------------------------

LONG = "A line of words to read.\n\n" * 60
CAP = "- name: short\n  when: {{field: agent, op: eq, value: {}}}\n  then: {{cap: {{{}: {}}}}}\n"


@pytest.mark.parametrize(("tokens", "check"), [(60, "cut"), (3, "starved"), (410, "near-budget")])
def test_advice_knows_the_cap_of_a_rule(tmp_path: Path, tokens: int, check: str) -> None:
    files = {"agents/max-2/KNOWLEDGE.md": LONG, "rules/r.yaml": CAP.format("max-2", "L7", tokens)}
    (finding,) = all_found(tmp_path, files)
    assert (finding.id, finding.path) == (check, "agents/max-2/KNOWLEDGE.md")
    assert "set the cap of rule short to" in finding.hint
    assert "(rules/r.yaml:1)" in finding.hint
    assert (f"of {tokens} tokens" if check == "near-budget" else f"may take {tokens} (") in finding.hint


def test_advice_leaves_a_rule_alone_that_caps_another_agent(tmp_path: Path) -> None:
    files = {"agents/max-2/KNOWLEDGE.md": LONG, "rules/r.yaml": CAP.format("luna", "L7", 60)}
    assert all_found(tmp_path, files) == []


def test_what_another_profile_reads_is_a_note_and_an_exclusion_may_have_nothing_to_exclude(tmp_path: Path) -> None:
    rule = (
        "when: {task_contains: [auth]}\n"
        "then:\n"
        "  boost: [{kg_entity: AuthService, weight: 2.0}, {path: 'generated/**', weight: 2.0}]\n"
        "  exclude: [{path: 'generated/**'}, {path: 'built/**'}, {tag: nowhere}]\n"
    )
    files = {"generated/x.md": "x\n", "graph/entities.yaml": "- {name: AuthService}\n", "rules/r.yaml": rule}
    fill(tmp_path, files)
    told = inside("check", "-w", tmp_path, "--strict")
    assert told.code == 0
    assert told.out == (
        "rules/r.yaml:1: note: rule rules/r.yaml#1: boost entity AuthService: it is in graph/entities.yaml,"
        " which no layer of this profile reads: ignore this if the rule is for another profile [rule-target]\n"
        "1 finding: 1 note\n"
    )
    assert inside("check", "-w", tmp_path, "--strict", "-p", "query").out == "no findings\n"
    fill(tmp_path, {"rules/r.yaml": rule.replace("AuthService", "AuthServise")}, base={})
    assert "boost entity AuthServise: nothing in the workspace matches" in inside("check", "-w", tmp_path).out
