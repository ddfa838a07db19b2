"""What `ctxasm check` says of rules: conditions that no build can meet, and targets that are nothing."""

from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection
from contextasm.checks.registry import run_checks
from contextasm.checks.rules import field_domains
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.rules.facts import FIELDS, WEEKDAYS
from contextasm.model import Condition
from contextasm.retrieval.reading.query_signals import intent
from contextasm.rules.evaluate import NEGATIONS, OPERATORS
from contextasm.rules.satisfiable import COMPARISONS, can_hold, values_out_of_reach
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


@pytest.mark.parametrize("conditions", rows("rules/contradictions"), ids=str)
def test_conditions_that_exclude_each_other_are_a_finding(tmp_path: Path, conditions: tuple[str, ...]) -> None:
    (finding,) = conditions_found(tmp_path, *conditions)
    assert (finding.id, finding.line) == ("rule-condition", 3)
    assert "can never hold" in finding.message


@pytest.mark.parametrize("conditions", rows("rules/compatible"), ids=str)
def test_conditions_that_some_value_meets_are_none(tmp_path: Path, conditions: tuple[str, ...]) -> None:
    assert conditions_found(tmp_path, *conditions) == []


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
    assert f"{tokens:,} token" in finding.hint


def test_advice_leaves_a_rule_alone_that_caps_another_agent(tmp_path: Path) -> None:
    files = {"agents/max-2/KNOWLEDGE.md": LONG, "rules/r.yaml": CAP.format("luna", "L7", 60)}
    assert all_found(tmp_path, files) == []


# --- Laws ------------------------------------------------------------------------------------------------------------

WORDS = (
    "luna",
    "max-2",
    "q1",
    "main",
    "fix",
    "sunday",
    "a/b.md",
    "5",
    "5.7",
    "6.5",
    "80",
    "2025-03-14",
    "-03-",
    "un",
    "x y",
)


@st.composite
def builds(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """The values of all fields in one build."""
    day = date(2000, 1, 1) + timedelta(draw(st.integers(0, 36_000)))
    topic = draw(st.sampled_from(("", *WORDS)))
    facts = {
        "task.text": topic,
        "task.intent": intent(topic),
        "agent": draw(st.sampled_from(("", *AGENTS))),
        "team": draw(st.sampled_from(("", *TEAMS))),
        "date": day.isoformat(),
        "weekday": WEEKDAYS[day.weekday()],
        "git.branch": draw(st.sampled_from(("", "main", "5", "2025-03-14"))),
        "var.x": draw(st.sampled_from(("", *SIZES, *WORDS))),
    }
    values = {field: (value,) if value else () for field, value in facts.items()}
    return {
        **values,
        "changed": tuple(draw(st.lists(st.sampled_from(("a/b.md", "5", "80", "main")), unique=True, max_size=4))),
    }


SIZES = ("5", "5.7", "6.5", "80", "2025-03-14", "2060-01-01")


@st.composite
def conditions(draw: st.DrawFn, values: tuple[str, ...]) -> tuple[str, str | tuple[str, ...]]:
    """Operator and operand: what the field has in a build, a part of that, or another word."""
    op = draw(st.one_of(st.sampled_from(sorted(COMPARISONS)), st.sampled_from(sorted(OPERATORS))))
    if op in {"exists", "not_exists"}:
        return op, ""
    parts = [part for value in values for part in (value, value[:4], value[4:])]
    word = st.sampled_from(SIZES if op in COMPARISONS else [*filter(None, parts), *WORDS])
    return op, tuple(draw(st.lists(word, min_size=1, max_size=3))) if op in {"in", "not_in", "any_word"} else draw(word)


@given(st.data(), builds(), st.sampled_from((*FIELDS, "var.x", "var.x")))
def test_conditions_that_a_build_meets_can_hold(
    data: st.DataObject, build: dict[str, tuple[str, ...]], field: str
) -> None:
    operands = data.draw(st.lists(conditions(build[field]), min_size=1, max_size=6))
    drawn = [Condition(field, op, value, 1) for op, value in operands]

    def holds(condition: Condition) -> bool:
        expected = condition.value if isinstance(condition.value, tuple) else (condition.value,)
        return not OPERATORS[condition.op](build[field], expected)

    met = [condition for condition in drawn if holds(condition)]
    domain = field_domains(drawn, AGENTS, TEAMS)[field]
    assert can_hold(met, domain)
    for condition in met:
        if condition.op not in NEGATIONS and not isinstance(condition.value, tuple):
            assert values_out_of_reach(condition, domain) == ()


CLOSED = {
    "agent": AGENTS,
    "team": TEAMS,
    "weekday": WEEKDAYS,
    "task.intent": ("fix", "explain", "question", "action", "other"),
}


@given(
    st.sampled_from(sorted(CLOSED)),
    st.sampled_from(("eq", "neq", "in", "not_in")),
    st.one_of(st.text(min_size=1), st.sampled_from([name.title() for names in CLOSED.values() for name in names])),
    st.data(),
)
def test_a_value_outside_a_closed_set_is_always_found(field: str, op: str, other: str, data: st.DataObject) -> None:
    value = data.draw(st.sampled_from(CLOSED[field]))
    for text in (other, value):
        asked = Condition(field, op, (text,) if op.endswith("in") else text, 1)
        domain = field_domains([asked], AGENTS, TEAMS)[field]
        assert values_out_of_reach(asked, domain) == (() if text in CLOSED[field] else (text,))


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
        "rules/r.yaml:1: note: rule rules/r.yaml#1: boost entity AuthService: no layer of this profile reads"
        " graph/entities.yaml, where it is: leave it if the rule serves another profile [rule-target]\n"
        "1 finding: 1 note\n"
    )
    assert inside("check", "-w", tmp_path, "--strict", "-p", "query").out == "no findings\n"
    fill(tmp_path, {"rules/r.yaml": rule.replace("AuthService", "AuthServise")}, base={})
    assert "boost entity AuthServise: nothing in the workspace matches it" in inside("check", "-w", tmp_path).out
