"""Rules: what a file may say, which rules fire, and who wins. The rows are those of the digest's capability table."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.yaml_loader import YamlMapping, YamlSequence
from contextasm.config.rules.rule_files import parse_rules
from contextasm.model import Condition, ContextasmError, Effect, Rule, RuleEvaluation, Target
from contextasm.rules.evaluate import (
    ALIASES,
    LONGEST_SEARCHED,
    OPERATORS,
    boost_factor,
    effects_on,
    evaluate,
    is_target,
)
from contextasm.text.names.glob import glob_matches


def line_of(*keys: str | int) -> int:
    """A made-up line that tells the way: one for each key, and a hundred for each place in a list."""
    return 1 + sum(100 * (key + 1) if isinstance(key, int) else 1 for key in keys)


def as_yaml(data: object, path: str, *keys: str | int) -> object:
    """The data as it would be loaded, with a made-up line for each key and item."""
    if isinstance(data, dict):
        mapping = YamlMapping(path, line_of(*keys))
        for key, value in data.items():
            mapping[key] = as_yaml(value, path, *keys, key)
            mapping.lines[key] = line_of(*keys, key)
        return mapping
    if isinstance(data, list):
        items = YamlSequence()
        items += (as_yaml(item, path, *keys, number) for number, item in enumerate(data))
        items.lines += (line_of(*keys, number) for number in range(len(data)))
        return items
    return data


def read(data: object, path: str = "rules/a.yaml", env: tuple[str, ...] = ()) -> tuple[Rule, ...]:
    return parse_rules(as_yaml(data, path), path, env)


def rule(name: str = "r", *, when: object = None, priority: float = 0, path: str = "rules/a.yaml", **then: Any) -> Rule:
    """One rule as a file would say it; where it has no effect, a cap that nobody looks at."""
    data = {"name": name, "priority": priority, "when": when, "then": then or {"cap": {"L9": 1}}}
    return read([data], path)[0]


def condition(op: str, value: object = None, field: str = "var.x") -> list[dict[str, object]]:
    return [{"field": field, "op": op} | ({} if value is None else {"value": value})]


def codes(fired: RuleEvaluation) -> dict[str, str]:
    return {each.name: reason.code for each, reason in fired.verdicts}


def outcome(op: str, value: object, *have: str) -> str:
    """What becomes of a rule with this condition, for a field with these values."""
    return codes(evaluate([rule(when=condition(op, value))], {"var.x": have}))["r"]


def error(data: object, **more: Any) -> str:
    with pytest.raises(ContextasmError) as caught:
        read(data, **more)
    assert caught.value.code == 2
    return str(caught.value)


def winners(fired: RuleEvaluation, action: str) -> dict[str, tuple[float, tuple[str, ...], list[str]]]:
    return {str(s.target): (s.value, s.rules, [name for name, _ in s.lost]) for s in fired.of(action)}


# --- conditions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        ("Fix the LOGIN page", True),
        ("auth", True),
        ("author of the page", False),
        ("the auth_token", False),
        ("pre-auth checks", True),
        ("why is auth.py slow?", True),
        ("two\nfactor", True),
        ("cafe\u0301 menu", True),
        ("caf\u00e9s", False),
        ("日本語のログイン画面", True),
        ("C++ and more", True),
        ("", False),
    ],
)
def test_row_67_words_match_any_of_them_whole_and_without_regard_to_case(text: str, fires: bool) -> None:
    """Row 67: `auth` is not in `author`, but it is in `auth.py`; scripts without blanks have no word ends."""
    words = ["Auth", "login", "two factor", "café", "ログイン", "C++"]
    assert (codes(evaluate([rule(when={"task_contains": words})], {"task.text": text}))["r"] == "fired") is fires


TRUTH = [
    # operator, value, a field that meets it, one that does not, and what a missing field comes to
    ("exists", None, "x", None, False),
    ("not_exists", None, None, "x", True),
    ("eq", "Main", "Main", "main", False),
    ("neq", "Main", "main", "Main", True),
    ("in", ["a", "b"], "b", "B", False),
    ("not_in", ["a", "b"], "B", "b", True),
    ("contains", "AuTh", "the author", "the reader", False),
    ("not_contains", "AuTh", "the reader", "the author", True),
    ("starts_with", "Feat/", "feat/x", "x/feat/", False),
    ("ends_with", ".MD", "a.md", "a.md.bak", False),
    ("gt", 3, "3.5", "3", False),
    ("gte", 3, "3", "2.9", False),
    ("lt", "10", "9", "10", False),
    ("lte", 10, "10", "11", False),
    ("regex", r"^v\d+$", "v12", "V12", False),
]


def test_row_68_the_truth_table_names_every_operator() -> None:
    """Row 68: an operator that is added must come into the table."""
    assert {row[0] for row in TRUTH} | {"any_word"} == set(OPERATORS)
    assert len(TRUTH) == 15


@pytest.mark.parametrize(("op", "value", "met", "unmet", "missing"), TRUTH, ids=[row[0] for row in TRUTH])
def test_row_68_operators(op: str, value: object, met: str | None, unmet: str | None, missing: bool) -> None:
    """Row 68 and 002-5: absent and empty are both missing, and a missing field is named."""
    assert outcome(op, value, *([met] if met else [])) == "fired"
    assert outcome(op, value, *([unmet] if unmet else [])) in {"no-match", "missing-field"}
    for facts in ({}, {"var.x": ""}, {"var.x": ()}):
        fired = evaluate([rule(when=condition(op, value))], facts)
        assert codes(fired)["r"] == ("fired" if missing else "missing-field")
        assert fired.missing == ("var.x",)


@pytest.mark.parametrize(("op", "wants"), [("gt", "5"), ("lte", "5"), ("gt", "2025-01-01"), ("lt", "0.5")])
def test_002_6_what_is_no_number_never_matches_and_says_so(op: str, wants: str) -> None:
    """002-6: a day is no number."""
    assert outcome(op, wants, "soon") == "not-a-number"
    assert outcome("gt", "5", "2025-01-01") == "not-a-number"


def test_days_compare_as_days() -> None:
    assert outcome("gte", "2025-03-01", "2025-03-01") == "fired"
    assert outcome("lt", "2025-03-01", "2025-10-01") == "no-match"
    assert outcome("lt", "2025-03-01", "2025-02-30") == "not-a-number"


def test_a_field_of_many_values_needs_one_that_matches_and_for_a_negative_none() -> None:
    paths = "src/a.py", "docs/b.md"
    assert outcome("starts_with", "docs/", *paths) == "fired"
    assert outcome("regex", r"\.md$", *paths) == "fired"
    assert outcome("not_contains", "docs", *paths) == "no-match"
    assert outcome("not_in", ["x", "y"], *paths) == "fired"


@pytest.mark.parametrize(("alias", "op"), ALIASES.items())
def test_row_69_aliases_act_like_their_canonical_names(alias: str, op: str) -> None:
    """Row 69: the alias leaves no trace in the rule."""
    assert rule(when=condition(alias, "a")) == rule(when=condition(op, "a"))


def test_row_71_the_first_failing_condition_stops_the_rule() -> None:
    """Row 71: the third condition, whose field is missing, is not what is told."""
    when = [*condition("eq", "1"), *condition("eq", "2", "var.y"), *condition("eq", "3", "var.z")]
    (_, reason), *_ = evaluate([rule(when=when)], {"var.x": "1", "var.y": "no"}).verdicts
    assert reason.code == "no-match"
    facts = dict(reason.facts)
    assert facts == {"condition": 2, "line": line_of(0, "when", 1), "field": "var.y", "op": "eq", "value": "2"}


def test_a_verdict_never_holds_the_value_found() -> None:
    made = read({"when": condition("eq", "a", "env.KEY"), "then": {"cap": {"L3": 1}}}, env=("KEY",))
    assert "s3cret" not in repr(evaluate(made, {"env.KEY": "s3cret"}))


@pytest.mark.parametrize("when", [None, [], {}])
def test_row_72_no_conditions_always_fire(when: object) -> None:
    """Row 72: left out, the list is empty and an empty mapping are the same."""
    assert codes(evaluate([rule(when=when)], {})) == {"r": "fired"}


def test_002_13_a_pattern_without_end_is_a_reported_non_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """002-13: the reason says that time ran out, so that nobody takes it for a plain non-match."""
    monkeypatch.setattr("contextasm.rules.evaluate.PATTERN_SECONDS", 0.05)
    assert outcome("regex", r"(a|aa)+$", "a" * 5000 + "b") == "regex-timeout"
    assert outcome("regex", r"(?R)|x", "a" * 5000) in {"regex-timeout", "no-match"}
    assert outcome("regex", r"(.*a){25}$", "a" * (LONGEST_SEARCHED - 1) + "b") == "regex-timeout"


def test_002_13_a_text_too_long_for_a_pattern_is_a_reported_non_match() -> None:
    """002-13: a bound that is the same on every machine."""
    assert outcome("regex", "a", "a" * (LONGEST_SEARCHED + 1)) == "regex-too-long"
    assert outcome("regex", "a", "a" * LONGEST_SEARCHED) == "fired"


# --- order and conflicts ----------------------------------------------------------------------------------------


def test_row_78_order_is_priority_then_file_name_then_position() -> None:
    """Row 78: the name of a rule plays no part."""
    late = read([{"name": n, "then": {"cap": {"L3": 1}}} for n in ("z", "a")], "rules/b.yaml")
    early = rule("early", path="rules/a.yaml")
    high = rule("high", priority=1.5, path="rules/z.yaml")
    low = rule("low", priority=-1, path="ctxasm.yaml")
    fired = evaluate([low, *late, high, early], {})
    assert [each.name for each in fired.rules] == ["high", "early", "z", "a", "low"]


def test_row_78_a_tie_of_priority_falls_to_the_earlier_rule_and_the_other_is_shadowed() -> None:
    """Row 78 and 002-7: the loser is kept with what it wanted."""
    both = [rule("one", set_priority={"L3": 1}), rule("two", set_priority={"L3": 2})]
    fired = evaluate(both, {})
    assert winners(fired, "set_priority") == {"layer L3": (1, ("one",), ["two"])}
    ((_, reason),) = fired.of("set_priority")[0].lost
    assert reason.code == "shadowed"
    assert dict(reason.facts) == {"action": "set_priority", "target": "layer L3", "value": 2, "by": "one"}


def test_row_79_a_disabled_rule_never_fires_and_is_listed() -> None:
    """Row 79: nor is it asked what it would need."""
    made = read([{"name": "off", "enabled": False, "when": condition("eq", 1), "then": {"cap": {"L3": 1}}}])
    fired = evaluate(made, {"var.x": "1"})
    assert codes(fired) == {"off": "disabled"}
    assert (fired.rules, fired.effects, fired.missing) == ((), (), ())
    assert evaluate(made, {}).missing == ()


def test_row_80_a_dry_run_needs_only_rules_and_facts() -> None:
    """Row 80: a verdict for each rule, with nothing assembled."""
    fired = evaluate([rule("yes"), rule("no", when=condition("eq", "1"))], {"var.x": "2"})
    assert codes(fired) == {"yes": "fired", "no": "no-match"}


def test_row_73_the_first_to_include_a_file_is_the_one_named() -> None:
    """Row 73: one path in two spellings is one target."""
    fired = evaluate([rule("b", always_include=["d/a.md"]), rule("a", priority=1, always_include=["./d/a.md"])], {})
    assert winners(fired, "always_include") == {"path d/a.md": (1, ("a",), ["b"])}


def test_row_75_boosts_of_one_target_multiply() -> None:
    """Row 75: 2.0 and 1.5 make 3.0."""
    rules = [rule(n, boost=[{"path": "docs/**", "weight": w}]) for n, w in (("a", 2.0), ("b", 1.5))]
    fired = evaluate(rules, {})
    assert winners(fired, "boost") == {"path docs/**": (3.0, ("a", "b"), [])}
    assert boost_factor(effects_on(fired, {"path": "docs/x.md"})) == 3.0
    assert boost_factor(effects_on(fired, {"path": "src/x.md"})) == 1


def test_row_75_boosts_of_different_targets_multiply_too_but_never_to_infinity() -> None:
    """Row 75: an infinite score would make all of them equal."""
    tags = [{"tag": str(n), "weight": 1e6} for n in range(99)]
    fired = evaluate([rule(boost=tags)], {})
    assert boost_factor(effects_on(fired, {"tag": ("1", "2")})) == 1e6
    twice = evaluate([rule("a", boost=[{"tag": "x", "weight": 2}, {"type": "y", "weight": 3}])], {})
    assert boost_factor(effects_on(twice, {"tag": ("x",), "type": "y"})) == 6


def test_row_76_the_smallest_cap_wins_whatever_its_priority() -> None:
    """Row 76: nor does it lose to an equal one that comes later."""
    rules = [rule("high", priority=9, cap={"L3": "1.5k"}), rule("low", cap={"L3": 200}), rule("same", cap={"L3": 200})]
    fired = evaluate(rules, {})
    assert winners(fired, "cap") == {"layer L3": (200, ("low",), ["high", "same"])}


def test_row_77_the_first_rank_of_a_layer_wins() -> None:
    """Row 77: layers are settled one by one."""
    rules = [rule("low", set_priority={"L3": 9, "L4": 2}), rule("high", priority=1, set_priority={"L3": -1})]
    fired = evaluate(rules, {})
    assert winners(fired, "set_priority") == {"layer L3": (-1, ("high",), ["low"]), "layer L4": (2, ("low",), [])}


INCLUDES: dict[str, Any] = {"always_include": ["gen/keep.md"]}
EXCLUDES: dict[str, Any] = {"exclude": ["gen/**"]}


@pytest.mark.parametrize("include_first", [True, False])
def test_002_8_of_an_inclusion_and_an_exclusion_the_earlier_rule_wins(include_first: bool) -> None:
    """002-8: for the file that both mean; its neighbours stay excluded."""
    rules = [rule("in", priority=1 if include_first else -1, **INCLUDES), rule("out", **EXCLUDES)]
    fired = evaluate(rules, {})
    (won,) = effects_on(fired, {"path": "gen/keep.md"})
    assert won.action == ("always_include" if include_first else "exclude")
    assert [(name, reason.code) for name, reason in won.lost] == [("out" if include_first else "in", "shadowed")]
    assert [each.action for each in effects_on(fired, {"path": "gen/other.md"})] == ["exclude"]
    # Without the item only the inclusion can be known to have lost: the exclusion still holds for its neighbours.
    assert bool(fired.of("always_include")) is include_first


def test_002_8_one_rule_may_exclude_a_folder_and_spare_a_file_of_it() -> None:
    """002-8: inside one rule the inclusion is the exception."""
    fired = evaluate([rule(**INCLUDES, **EXCLUDES)], {})
    assert [each.action for each in effects_on(fired, {"path": "gen/keep.md"})] == ["always_include"]


def test_002_8_an_exclusion_of_the_very_file_that_is_included_is_gone() -> None:
    """002-8: nothing is left for it to exclude."""
    fired = evaluate([rule("in", priority=1, **INCLUDES), rule("out", exclude=["gen/keep.md"])], {})
    assert winners(fired, "always_include") == {"path gen/keep.md": (1, ("in",), ["out"])}
    assert not fired.of("exclude")


def test_002_8_an_exclusion_beats_any_boost() -> None:
    """002-8: even one of a higher priority."""
    rules = [rule("up", priority=9, boost=[{"tag": "x", "weight": 3}, {"path": "gen/a.md", "weight": 2}])]
    fired = evaluate([*rules, rule("out", **EXCLUDES)], {})
    (won,) = effects_on(fired, {"path": "gen/a.md", "tag": ("x",)})
    assert (won.action, won.rules, [name for name, _ in won.lost]) == ("exclude", ("out",), ["up", "up"])
    assert boost_factor((won,)) == 1
    assert [str(each.target) for each in fired.of("boost")] == ["tag x"]


def test_row_74_what_is_protected_cannot_be_excluded_and_the_rule_is_told() -> None:
    """Row 74: L1 stays."""
    fired = evaluate([rule("out", exclude=["agents/**"]), rule("too", exclude=["agents/**"])], {})
    (tried,) = effects_on(fired, {"path": "agents/a/IDENTITY.md"}, protected=True)
    assert tried.rules == ()
    assert [(name, reason.code) for name, reason in tried.lost] == [("too", "shadowed"), ("out", "protected")]


@pytest.mark.parametrize(
    ("target", "item", "hit"),
    [
        (Target("path", "a/*.md"), {"path": "a/b.md"}, True),
        (Target("heading-path", "a.md", "Set Up"), {"path": "a.md", "heading": ("Top", "set up")}, True),
        (Target("heading-path", "a.md", "Set Up"), {"path": "b.md", "heading": "Set Up"}, False),
        (Target("tag", "x"), {"tag": ("y", "x")}, True),
        (Target("type", "x"), {"type": "X"}, False),
        (Target("id", "m1"), {"id": "m1"}, True),
        (Target("entity", "Auth"), {}, False),
    ],
)
def test_what_a_target_hits(target: Target, item: dict[str, str | tuple[str, ...]], hit: bool) -> None:
    assert is_target(target, item) is hit


@pytest.mark.parametrize(
    ("pattern", "path", "same"),
    [
        ("*.md", "a.md", True),
        ("*.md", "d/a.md", False),
        ("**/*.md", "a.md", True),
        ("**/*.md", "d/e/a.md", True),
        ("d/**", "d/e/a.md", True),
        ("d/**", "dd/a.md", False),
        ("d/**/a.md", "d/a.md", True),
        ("d/*/a.md", "d/e/f/a.md", False),
        ("D/a.md", "d/a.md", False),
        ("a[b].md", "a[b].md", True),
        ("a*b*c", "aXbYbc", True),
        ("**/x/**/x/y", "x/x/x/y", True),
    ],
)
def test_row_74_patterns(pattern: str, path: str, same: bool) -> None:
    """Row 74: the whole path must match, and brackets are plain characters."""
    assert glob_matches(pattern, path) is same


def test_a_pattern_full_of_stars_ends() -> None:
    assert not glob_matches("*a" * 200 + "b", "a" * 5000)
    assert not glob_matches("**/a/" * 100 + "b", "a/" * 2000)


# --- rule files -------------------------------------------------------------------------------------------------


def test_002_1_the_form_of_the_source_document_is_taken_as_it_is() -> None:
    """002-1: a lone mapping, words as shorthand, `kg_entity`."""
    data = {
        "when": {"task_contains": ["auth", "login"]},
        "then": {
            "always_include": [{"path": "docs/security.md"}],
            "boost": [{"kg_entity": "AuthService", "weight": 2.0}],
            "exclude": [{"path": "generated/**"}],
        },
    }
    (made,) = read(data)
    assert made == Rule(
        "rules/a.yaml#1",
        "rules/a.yaml",
        1,
        when=(Condition("task.text", "any_word", ("auth", "login"), 2),),
        effects=(
            Effect("always_include", Target("path", "docs/security.md"), 1, ("rules/a.yaml#1",)),
            Effect("exclude", Target("path", "generated/**"), 1, ("rules/a.yaml#1",)),
            Effect("boost", Target("entity", "AuthService"), 2.0, ("rules/a.yaml#1",)),
        ),
    )


def test_every_target_in_every_spelling() -> None:
    include = ["a//b.md", "C#.md", "a.md#C# notes", {"path": "b.md#Top"}, {"id": "m1"}, {"tag": "x"}]
    made = rule(always_include=include, exclude=["gen/", {"type": "t"}], cap={"L3": "4k", "L4": 0})
    targets = [effect.target for effect in made.effects]
    kinds = [(each.kind, each.value, each.heading) for each in targets]
    assert kinds[:3] == [("path", "a/b.md", ""), ("path", "C#.md", ""), ("heading-path", "a.md", "C# notes")]
    assert kinds[3:6] == [("heading-path", "b.md", "Top"), ("id", "m1", ""), ("tag", "x", "")]
    assert targets[6:8] == [Target("path", "gen/**"), Target("type", "t")]
    assert [(each.action, str(each.target), each.value) for each in made.effects[8:]] == [
        ("cap", "layer L3", 4000),
        ("cap", "layer L4", 0),
    ]


@pytest.mark.parametrize("data", [None, []])
def test_an_empty_file_has_no_rules(data: object) -> None:
    assert read(data) == ()


def test_values_that_yaml_gave_as_numbers_are_text() -> None:
    (made,) = read([{"when": condition("in", [1, 2.5, True, "x"]), "then": {"cap": {"L3": 1}}}])
    assert made.when[0].value == ("1", "2.5", "true", "x")


THEN = {"cap": {"L3": 1}}


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(" * 400 + ")" * 400, "the pattern is not valid"),
        ("x" * 1001, "the pattern has 1001 characters"),
        ("(?:" + "a?" * 400 + "){1000}", "repeats too often"),
    ],
)
def test_row_88_a_long_bad_pattern_stops_the_run(pattern: str, says: str) -> None:
    """Row 88: with file, line and rule; `cases/commands/rule-files.md` has the other faults."""
    said = error([{"name": "r", "when": condition("regex", pattern), "then": THEN}])
    assert said.startswith("rules/a.yaml:")
    assert "rule `r`: " in said
    assert says in said


# --- laws -------------------------------------------------------------------------------------------------------

DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "when", "then", "field", "op", "value", "exclude", "cap", "path", "boost"]),
            inner,
            max_size=3,
        )
    ),
)


@given(DATA)
def test_any_data_is_either_rules_or_one_error(data: object) -> None:
    try:
        made = read(data)
    except ContextasmError:
        return
    assert all(isinstance(each, Rule) for each in made)


@given(st.text(alphabet="ab/*", max_size=12), st.text(alphabet="ab/", max_size=12))
def test_globs_agree_with_a_plain_definition(pattern: str, path: str) -> None:
    assert glob_matches(pattern, path) is _plainly(pattern.split("/"), path.split("/"))


def _plainly(parts: list[str], names: list[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_plainly(parts[1:], names[n:]) for n in range(len(names) + 1))
    return bool(names) and _name(parts[0], names[0]) and _plainly(parts[1:], names[1:])


def _name(part: str, name: str) -> bool:
    if not part:
        return not name
    if part[0] == "*":
        return any(_name(part[1:], name[n:]) for n in range(len(name) + 1))
    return name[:1] == part[0] and _name(part[1:], name[1:])


@pytest.mark.parametrize("swap", [False, True])
def test_the_order_in_which_files_come_in_makes_no_difference(swap: bool) -> None:
    pairs = product(["rules/a.yaml", "rules/b.yaml"], [0, 1])
    thens: list[dict[str, Any]] = [INCLUDES, EXCLUDES, {"cap": {"L3": 5}}, {"cap": {"L3": 4}}]
    rows = enumerate(zip(pairs, thens, strict=True))
    made = [rule(f"r{n}", path=path, priority=priority, **then) for n, ((path, priority), then) in rows]
    fired = evaluate(made[::-1] if swap else made, {})
    assert [each.name for each in fired.rules] == ["r1", "r3", "r0", "r2"]
    assert winners(fired, "cap") == {"layer L3": (4, ("r3",), ["r2"])}


@pytest.mark.parametrize("pattern", [r"[a-z]+(-[a-z]+)*", r"(,\w+)+", "(ab)+", r"\(a+\)+", "(a?)+", "(a{2})+"])
def test_other_repetitions_are_patterns(pattern: str) -> None:
    assert rule(when=condition("regex", pattern)).when


def test_p18_many_slow_patterns_share_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """P18: a file can hold any number of them; if each had the time of one, this would not end."""
    monkeypatch.setattr("contextasm.rules.evaluate.PATTERN_SECONDS", 3600.0)
    monkeypatch.setattr("contextasm.rules.evaluate.ALL_PATTERNS_SECONDS", 0.2)
    rules = [rule(f"r{n}", when=condition("regex", f"(a|aa)+{n}$")) for n in range(20)]
    verdicts = evaluate(rules, {"var.x": "a" * 5000}).verdicts
    assert {reason.code for _, reason in verdicts} == {"regex-timeout"}
