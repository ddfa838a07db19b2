"""Options and weights that match nothing are problems of the build, which `--strict` and `check` see."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.build import unused_variables
from contextasm.config.input.options import Options
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.config.profiles.layers import with_layer_values
from contextasm.model import SCORE_PARTS, SOURCE_TRAITS, Build, Context, Filters, Profile, Request
from contextasm.pipeline import assemble
from contextasm.retrieval.retrieve import retrieve
from contextasm.selection.tokens import ESTIMATE
from tests.command import fill, inside
from tests.laws.test_profiles import SHIPPED, VARIANTS, systems
from tests.workspaces import DEFAULT, Content, Files, agent, log, request

PROFILES = {"default": DEFAULT, **SHIPPED}
EVENTS = "".join(
    f'{{"type": "{kind}", "time": "2025-03-{day:02}T10:00:00Z", "text": "{kind} of day {day}"}}\n'
    for kind, day in (("turn", 10), ("error", 11), ("turn", 12), ("tool_result", 13))
)
EVERYTHING: dict[str, Content] = {
    **agent(KNOWLEDGE="Known."),
    **log("2025-03-13", "A log."),
    "agents/luna/memories/m.md": "- [fact] Pears are green {id=m1 key=root/pears files=src/pear.py}\n",
    "memories/m.md": "- [fact] Pears are green {id=m1 key=root/pears files=src/pear.py}\n- [fact] No key {id=m2}\n",
    "sessions/s1.jsonl": EVENTS,
    "sessions/s2.jsonl": EVENTS.replace("2025-03", "2025-02"),
    "graph/entities.yaml": "entities:\n  - {name: Pear, type: fruit}\n",
    "PROJECT.md": "A project.",
    "SOUL.md": "A soul.",
    "AGENTS.md": "Rules.",
    "journals/2025_03_13.md": "- A day.",
    "src/pear.py": "pear = 1\n",
}


def context(profile: Profile, files: dict[str, Content] | None = None, **asked: Any) -> Context:
    """The build of a workspace that holds something for every option."""
    whole = EVERYTHING if files is None else files
    build = Build(Files(whole), profile, request(topic="pears", **asked), ESTIMATE, parse_yaml=load_yaml)
    return assemble(build)


def told(built: Context) -> list[str]:
    """What the build says is without effect."""
    return [f"{each.path}: {each.advice}" for each in built.problems if each.code == "no-effect"]


NOTHING: dict[str, tuple[dict[str, Any], str]] = {
    "exclude": ({"filters": Filters(exclude=("nothing-such",))}, "--exclude nothing-such: leaves nothing out"),
    "session": ({"session": "zzz"}, "zzz"),
    "event-type": ({"filters": Filters(event_types=("q",))}, "--event-type"),
    "entity-type": ({"filters": Filters(entity_types=("r",))}, "--entity-type"),
    "task": ({"filters": Filters(task="t")}, "--task"),
    "prefer": ({"prefer": ("nobody",)}, "--prefer"),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("option", NOTHING)
def test_an_option_that_matches_nothing_is_a_problem_in_every_profile(profile: str, option: str) -> None:
    asked, part = NOTHING[option]
    problems = [f"{each.path}: {each.advice}" for each in context(PROFILES[profile], **asked).problems]
    assert [text for text in problems if part in text or f"--{option}" in text], problems


@pytest.mark.parametrize("profile", PROFILES)
def test_additional_text_is_shown_or_a_problem(profile: str) -> None:
    built = context(PROFILES[profile], additional="MUST APPEAR")
    assert ("MUST APPEAR" in built.text) == (told(built) == [])


MATCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "exclude a file": ("default", {"filters": Filters(exclude=("agents/luna/KNOWLEDGE.md",))}),
    "exclude an id": ("default", {"filters": Filters(exclude=("m1",))}),
    "exclude files": ("default", {"filters": Filters(exclude=("*/daily/*",))}),
    "session": ("query", {"session": "s2"}),
    "event type": ("query", {"filters": Filters(event_types=("error", "turn"))}),
    "entity type": ("query", {"filters": Filters(entity_types=("fruit",))}),
    "prefer": ("memory", {"prefer": ("m1",)}),
    "open file": ("librarian", {"open": ("src/pear.py",)}),
    "open file of a memory": ("brain", {"open": ("src/pear.py",)}),
}


@pytest.mark.parametrize("name", MATCHES)
def test_an_option_that_matches_is_no_problem(name: str) -> None:
    profile, asked = MATCHES[name]
    assert told(context(PROFILES[profile], **asked)) == []


def test_a_profile_that_finds_nothing_says_so() -> None:
    (problem,) = context(PROFILES["openclaw"], {"NOTES.txt": "Text."}).problems
    assert (problem.code, problem.path) == ("no-effect", "profile openclaw")
    assert "empty" in problem.message


@pytest.mark.parametrize("profile", VARIANTS)
def test_a_shipped_profile_has_no_weight_without_effect(profile: str) -> None:
    assert told(context(VARIANTS[profile])) == []


def test_a_slip_is_told_with_the_nearest_name() -> None:
    (path,) = told(context(DEFAULT, filters=Filters(exclude=("agents/luna/KNOWLEGDE.md",))))
    assert path.endswith("did you mean agents/luna/KNOWLEDGE.md?")
    (kind,) = told(context(PROFILES["query"], filters=Filters(event_types=("eror",))))
    assert kind == "--event-type eror: nothing has this type; did you mean error?"


def test_excluding_a_required_file_is_told() -> None:
    (problem,) = told(context(DEFAULT, filters=Filters(exclude=("agents/luna/IDENTITY.md",))))
    assert problem == "--exclude agents/luna/IDENTITY.md: matches only required layers, which are always shown"


def test_preferring_what_can_be_in_no_conflict_is_told() -> None:
    assert told(context(PROFILES["memory"], prefer=("m2",))) == ["--prefer m2: has no `key`, so it can't conflict"]


def weighing(order: str, **weights: float) -> Profile:
    """The profile `query` with weights for its events."""
    profile = PROFILES["query"]
    pairs = tuple(weights.items())
    layers = (
        with_layer_values(layer, {"weights": pairs, "order": order}) if layer.id == "recent" else layer
        for layer in profile.layers
    )
    return profile._replace(layers=tuple(layers))


def test_a_weight_that_the_source_does_not_give_is_a_problem() -> None:
    (problem,) = told(context(weighing("best", recency=0.5, salience=0.5)))
    parts = "coherence, credibility, importance, intent, recency"
    assert problem.startswith(f"recent: gives a weight to salience, but the source events has only {parts}")
    (problem,) = told(context(weighing("given", recency=1.0)))
    assert problem == "recent: has weights that have no effect; set `order: best`"
    assert told(context(weighing("best", recency=0.5, importance=0.5))) == []
    profile = weighing("best", recency=0.5, intent=0.5)
    assert told(context(profile)) == []
    layers = [each._replace(query=each.query._replace(intents=())) for each in profile.layers]
    (problem,) = told(context(profile._replace(layers=tuple(layers))))
    assert problem == "recent: gives a weight to intent, but names no types of events; add `intents:`"


@given(
    files=systems(), source=st.sampled_from([*SOURCE_TRAITS]), topic=st.sampled_from(("", "harbour three acts Luna"))
)
def test_the_table_of_score_parts_has_all_that_a_source_gives(
    files: dict[str, Content], source: str, topic: str
) -> None:
    layers = [layer for profile in VARIANTS.values() for layer in profile.layers if source in layer.query.sources]
    for layer in layers:
        alone = layer._replace(query=layer.query._replace(sources=(source,), start_from=()))
        profile = Profile("one", "", 4000, "plain", (alone,))
        found = retrieve(
            Build(Files(files), profile, request(topic=topic, open=("docs/d.md",)), ESTIMATE, parse_yaml=load_yaml)
        )
        parts = {name for fragment in found[layer.id].fragments for name, _ in fragment.score}
        assert parts & {*SCORE_PARTS} <= {*SOURCE_TRAITS[source].score_parts}


def test_a_variable_that_no_rule_tests_is_a_problem(tmp_path: Path) -> None:
    rule = "- name: r\n  when: [{field: var.phase, op: eq, value: beta}]\n  then: {exclude: [agents/**]}\n"
    root = fill(tmp_path, {"rules/r.yaml": rule})
    assert "no-effect" not in inside("build", "-w", root, "--var", "phase=beta").err
    assert "--var phaes: no rule tests this variable [no-effect]" in inside("build", "-w", root, "--var", "phaes=x").err
    assert len(unused_variables(Options(variables=("a=1", "b=2")), None)) == 2


IDLE_FLAGS: dict[str, tuple[str, ...]] = {
    "session": ("--session", "zzz"),
    "open": ("--open", "zzz.py"),
    "event_types": ("--event-type", "zzz"),
    "task": ("--task", "zzz"),
    "detail": ("--detail", "zzz"),
    "entity_types": ("--entity-type", "zzz"),
    "exclude": ("--exclude", "zzz"),
    "prefer": ("--prefer", "zzz"),
    "additional": ("--additional", "zzz"),
    "variables": ("--var", "zzz=1"),
    "team": ("--team", "zzz"),
    "agent": ("--agent", "zzz"),
    "strategy": ("--strategy", "zzz"),
    "scope": ("--scope", "zzz"),
    "layers": ("--layer", "zzz=1"),
    "profile": ("--profile", "zzz"),
    "tokenizer": ("--tokenizer", "zzz"),
    "format": ("--format", "zzz"),
    "privacy": ("--privacy", "zzz"),
    "workspace": ("--workspace", "/zzz"),
}
ALWAYS_USED = {
    *("topic", "entities", "budget", "date", "tz", "since", "deadline", "min_score", "audience", "offline"),
    *("show_expired", "request_id", "history"),
}
"""Flags whose value is a text, a number, a day, an audience or none, or name nothing of the workspace."""


def test_every_flag_that_names_something_is_in_the_law() -> None:
    assert {*Options._fields} == {*IDLE_FLAGS} | ALWAYS_USED


@given(
    profile=st.sampled_from(sorted(PROFILES)),
    flags=st.lists(st.sampled_from(sorted(IDLE_FLAGS)), min_size=1, max_size=3, unique=True),
)
def test_no_flag_that_names_nothing_is_silent(
    tmp_path_factory: pytest.TempPathFactory, profile: str, flags: list[str]
) -> None:
    root = fill(tmp_path_factory.mktemp("w"), {"ctxasm.yaml": f"date: 2025-03-14\nprofile: {profile}\n"})
    fill(root, {"PROJECT.md": "P.\n", "SOUL.md": "S.\n", "IDENTITY.md": "I.\n", "sessions/s.jsonl": EVENTS})
    given_words = [word for flag in flags for word in IDLE_FLAGS[flag]]
    words = [*(() if "workspace" in flags else ("-w", str(root))), *given_words]
    built = inside("build", *words)
    if built.code == 2:
        return
    named = [flag for flag in flags if flag != "additional" or profile != "query"]
    for flag in named:
        option, value = IDLE_FLAGS[flag]
        assert option in built.err or value in built.err, (flag, built.err)
    assert inside("build", "--strict", *words).code == int(bool(named))
    if "format" not in flags and named:
        assert (
            "no-effect" in inside("check", *words).out
            or "no-session" in inside("check", *words).out
            or ("no-file" in inside("check", *words).out)
        )


def test_a_filter_that_matches_for_one_agent_alone_is_no_finding(tmp_path: Path) -> None:
    other = {f"agents/b/{name}.md": "B.\n" for name in ("IDENTITY", "INSTRUCTIONS")}
    root = fill(tmp_path, {**other, "agents/b/KNOWLEDGE.md": "Known.\n"})
    assert inside("check", "-w", root, "--exclude", "agents/b/KNOWLEDGE.md").out == "no findings\n"
    assert "no-effect" in inside("check", "-w", root, "--exclude", "agents/b/KNOWN.md").out


def test_a_filter_of_ids_is_not_lost_in_a_large_pool(tmp_path: Path) -> None:
    bullets = "".join(f"- [fact] Pear {number} {{id=p{number}}}\n" for number in range(1_200))
    root = fill(tmp_path, {"agents/a/memories/m.md": bullets})
    built = inside("build", "-w", root, "--exclude", "p3", "--exclude", "p1199", "--date", "2025-03-14")
    assert "no-effect" not in built.err
    assert [f"Pear {number}\n" in built.out for number in (1199, 1198, 1194, 1193)] == [False, True, True, False]


def test_a_late_layer_is_not_said_to_match_nothing() -> None:
    late = Build(
        Files(EVERYTHING),
        DEFAULT,
        Request(**{**request()._asdict(), "filters": Filters(exclude=("m1",))}),
        ESTIMATE,
        run_sources=lambda tasks: [None for _ in tasks],
    )
    assert told(assemble(late)) == []


@given(
    files=systems(),
    profile=st.sampled_from(sorted(PROFILES)),
    types=st.lists(st.sampled_from(("turn", "error", "file_read", "tool_result", "zzz")), min_size=1, unique=True),
)
def test_a_filter_of_types_loses_no_decision_in_any_profile(
    files: dict[str, Content], profile: str, types: list[str]
) -> None:
    plain = context(PROFILES[profile], files)
    filtered = context(PROFILES[profile], files, filters=Filters(event_types=tuple(types), entity_types=("person",)))
    places = [(each.layer, each.path, each.lines[0]) for each in filtered.decisions]
    assert {(each.layer, each.path, each.lines[0]) for each in plain.decisions} <= {*places}
    fragments = [(each.layer, each.fragment) for each in filtered.decisions]
    assert len({*fragments}) == len(fragments)


def test_an_event_of_another_type_is_told_with_the_filter() -> None:
    built = context(PROFILES["query"], filters=Filters(event_types=("error",)))
    events = {
        (each.path.rpartition("/")[2], each.lines[0]): (each.outcome, dict(each.reason.facts).get("by"))
        for each in built.decisions
        if each.layer == "recent"
    }
    left_out = ("excluded", "--event-type")
    assert events == {
        **{("s1.jsonl", line): left_out for line in (1, 3, 4)},
        **{("s2.jsonl", line): left_out for line in (1, 3, 4)},
        ("s1.jsonl", 2): ("included", None),
        ("s2.jsonl", 2): ("included", None),
    }
