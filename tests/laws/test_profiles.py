"""The laws (docs/architecture.md, Laws) for every shipped profile and strategy, on random workspaces.

The profile `default` has the other modules of this folder to itself.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.yaml_loader import load_yaml
from contextasm.config.profiles.layers import with_layer_values
from contextasm.config.profiles.loader import load_profile, shipped
from contextasm.model import CONCATENATE, OUTCOME, Build, Context, Layer, Profile
from contextasm.model.build import INCOMPLETE
from contextasm.pipeline import assemble
from contextasm.rendering.formats import MARKER
from contextasm.retrieval.retrieve import retrieve, with_layers_for_topic
from contextasm.selection.tokens import ESTIMATE
from tests.laws.lines import lines_of
from tests.workspaces import (
    Content,
    Files,
    agent,
    ago,
    budgets,
    codes,
    limits,
    memory_lists,
    request,
    texts,
    workspaces,
)

SHIPPED = {name: load_profile(name, "tests", Path()) for name in shipped() if name != "default"}
VARIANTS = {
    **SHIPPED,
    **{f"{name}, {each}": own for name, profile in SHIPPED.items() for each, own in profile.strategies},
    **{
        f"{name}, across": load_profile(name, "tests", Path())._replace(select="across")
        for name in ("default", "librarian", "memory", "query")
    },
    "memory, assembled again": SHIPPED["memory"]._replace(min_coherence=0.9, fallback=CONCATENATE),
}

EVENTS = (
    '{"type": "turn", "time": "2025-03-12T10:00:00Z", "role": "user", "text": "Where is the harbour? It is far."}',
    '{"type": "file_read", "time": "2025-03-13T10:00:00Z", "path": "a.py"}',
    '{"type": "tool_result", "time": "2025-03-13T11:00:00Z", "tool": "grep", "output": "'
    + "line of output " * 60
    + '"}',
    '{"type": "error", "time": "2025-03-14T09:00:00Z", "message": "disk full"}',
    "no json at all",
    "{}",
)
GRAPH = """entities:
  - {name: Harbor, type: project, salience: 0.9}
  - {name: Luna, type: person}
  - {name: Kenji, type: person, salience: 0.2}
"""
RELATIONS = """relations:
  - {source: Luna, type: works_on, target: Harbor}
  - {source: Kenji, type: works_on, target: Harbor, weight: 0.9}
  - {source: Harbor, type: has, target: Luna}
"""
PATTERNS = "patterns:\n  - {name: Write a test, text: First of all, keywords: [harbour]}\n"
TASKS = """tasks:
  - {id: t1, goal: Ship the demo, status: active}
  - {id: t2, goal: Fix the fog, parent: t1, status: active}
"""
TOOLS = '{"tools": [{"name": "grep", "description": "Searches files", "inputSchema": {"type": "object"}}]}'
KEYED = """- [decision] Keep 3 copies {key=root/decisions confidence=0.9 dedup=copies id=k1 tier=2}
- [decision] Keep 5 copies {key=root/decisions confidence=0.4 dedup=copies id=k2}
- [fact] Postgres, with one replica. And a long story about it that nobody reads. {key=root/stack id=k3}
- [preference] Answers are short {key=root/style id=k4}
- [preference] Answers are long {key=root/style id=k5}
- [fact] A draft {status=draft id=k6}
"""

ROOT_FILES = ("SOUL.md", "AGENTS.md", "USER.md", "BOOTSTRAP.md", "MEMORY.md", "TOOLS.md")


@st.composite
def systems(draw: st.DrawFn) -> dict[str, Content]:
    """A workspace with what any of the profiles reads; each part may be missing."""
    files = draw(workspaces())
    own: dict[str, Content] = {
        "graph/entities.yaml": GRAPH,
        "graph/relations.yaml": RELATIONS,
        "patterns.yaml": PATTERNS,
        "tasks.yaml": TASKS,
        "tools/a.json": TOOLS,
        "memories/keyed.md": KEYED,
        "memories/drawn.md": draw(memory_lists),
        "sessions/s1.jsonl": "\n".join(draw(st.lists(st.sampled_from(EVENTS), max_size=6))) + "\n",
        "sessions/s2.jsonl": EVENTS[3] + "\n",
        "threads/t.md": "---\nstatus: active\n---\n" + draw(texts),
    }
    for name in ("PROJECT.md", "knowledge/a.md", "knowledge/b/c.md", "docs/d.md", *ROOT_FILES):
        own[name] = draw(texts)
    for folder, form in (("memory", "%Y-%m-%d"), ("", "%Y-%m-%d"), ("journals", "%Y_%m_%d")):
        own |= {str(Path(folder, f"{ago(days).strftime(form)}.md")): draw(texts) for days in (0, 2)}
    for name in draw(st.lists(st.sampled_from(sorted(own)), unique=True)):
        files[name] = own[name]
    return files


@st.composite
def variants(draw: st.DrawFn) -> Profile:
    """A shipped profile, or one of its strategies, some of its layers with other limits."""
    profile = VARIANTS[draw(st.sampled_from(sorted(VARIANTS)))]
    changes: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
        {key: each for key, each in limits.items() if key != "share"}
    )
    layers = (
        with_layer_values(each, draw(changes)) if not each.limits.required and draw(st.integers(0, 4)) == 0 else each
        for each in profile.layers
    )
    return profile._replace(layers=tuple(layers))


def build(files: Mapping[str, Content] | Files, profile: Profile, budget: int, topic: str, **more: Any) -> Context:
    asked = request(budget=budget, topic=topic, open=("docs/d.md",), additional="And this.", **more)
    return assemble(
        Build(
            files if isinstance(files, Files) else Files(files),
            profile,
            asked,
            ESTIMATE,
            parse_yaml=load_yaml,
            summarizer=lambda text: text[: len(text) // 2],
        )
    )


topics = st.sampled_from(("", "the harbour and three acts", "Luna"))


@pytest.mark.parametrize("half", [0, 1])
@given(files=systems(), profile=variants(), budget=budgets, topic=topics, seed=st.integers(0, 9))
def test_laws_hold_for_every_profile(
    half: int, files: dict[str, Content], profile: Profile, budget: int, topic: str, seed: int
) -> None:
    budget += half
    opened = Files(files)
    context = build(opened, profile, budget, topic)
    assert context.tokens == ESTIMATE.count(context.text)
    _keeps_to_the_budget(context, opened, profile, topic)
    _decides_once(context, opened, profile, topic)
    shuffled = [*files.items()]
    Random(seed).shuffle(shuffled)
    assert build(dict(shuffled), profile, budget, topic) == context
    present = with_layers_for_topic(profile, topic)
    for layer, allowance in zip(present.layers, context.allowances, strict=True):
        _keeps_to_its_limits(context, layer, allowance.used)
    _leaves_out_nothing_that_fits(context, present)


def _keeps_to_the_budget(context: Context, files: Files, profile: Profile, topic: str) -> None:
    """Unless what is required exceeds it: then that alone is shown."""
    least = build(
        files, profile._replace(layers=tuple(each for each in profile.layers if each.limits.required)), 10**9, topic
    )
    if least.tokens > context.request.budget:
        assert context.text == least.text
    else:
        assert context.tokens <= context.request.budget
    assert ("over-budget" in codes(context)) == (least.tokens > context.request.budget)


def _decides_once(context: Context, files: Files, profile: Profile, topic: str) -> None:
    """Each fragment that was found, and no other; what is out keeps nothing, and nothing gets longer."""
    asked = request(topic=topic, open=("docs/d.md",), additional="And this.")
    found = retrieve(Build(files, profile, asked, ESTIMATE, parse_yaml=load_yaml))
    there = sorted((layer, each.id) for layer, own in found.items() for each in own.fragments)
    # A section that stands elsewhere, too, has a decision of its own.
    further = [each for each in context.decisions if (each.layer, each.fragment) not in {*there}]
    assert all((each.layer, each.fragment.removesuffix(f":{each.lines[0]}")) in there for each in further)
    assert sorted((each.layer, each.fragment) for each in context.decisions if each not in further) == there
    assert len({*there}) == len(there)
    required = {layer.id for layer in profile.layers if layer.limits.required}
    for each in context.decisions:
        assert each.reason.code in OUTCOME
        assert bool(each.kept) == (each.outcome in {"included", "shortened", "truncated"})
        assert (each.tokens_before is None) == (each.outcome in {"excluded", "merged"})
        # The title of a short memory may be longer than its text.
        assert each.outcome == "named" or each.tokens_after <= (each.tokens_before or 0)
        first, last = each.lines
        assert all(first <= edge <= last for span in each.kept for edge in span)
        if each.layer in required:
            assert each.outcome in {"included", "excluded"}


def _keeps_to_its_limits(context: Context, layer: Layer, used: int) -> None:
    if not layer.limits.required:
        assert used <= context.request.budget
        max_tokens, share = _walls(layer)
        assert max_tokens is None or used <= max_tokens
        assert share is None or used <= context.request.budget * share / 100 + 1
    own = [each for each in context.decisions if each.layer == layer.id]
    lacking = any(each.outcome in INCOMPLETE or each.reason.code == "named" for each in own)
    cut = [each for each in context.sections if each.layer == layer.id and each.truncated]
    assert lacking or not cut
    assert cut or not lacking or not any(each.layer == layer.id for each in context.sections) or len(layer.heading) > 1
    for each in cut:
        markers = [line for line in each.text.split("\n") if line.startswith(MARKER)]
        assert markers
        assert len({*markers}) == len(markers) or MARKER in markers, "one omission has one marker"


def _walls(layer: Layer) -> tuple[int | None, float | None]:
    """The limits that the layer may not pass whatever others leave."""
    limits = layer.limits
    return (
        None if limits.grow and limits.share is None else limits.max_tokens,
        None if limits.grow else limits.share,
    )


def _leaves_out_nothing_that_fits(context: Context, profile: Profile) -> None:
    """In the room that a layer's own limits leave of what nobody uses, but for running text."""
    budget, used = context.request.budget, [allowance.used for allowance in context.allowances]
    for number, layer in enumerate(profile.layers):
        shares_room = layer.limits.within or any(other.limits.within == layer.id for other in profile.layers)
        if layer.limits.required or shares_room or is_text(layer):
            continue
        max_tokens, share = _walls(layer)
        rooms = [budget - context.tokens]
        if max_tokens is not None:
            rooms.append(max_tokens - used[number])
        if share is not None:
            rooms.append(int(budget * share / 100) - used[number])
        for last, other in enumerate(profile.layers[number:], number):
            if other.limits.ceiling is not None and (last == number or used[last]):
                rooms.append(int(budget * other.limits.ceiling / 100) - sum(used[: last + 1]))
        for each in context.decisions:
            if each.layer == layer.id and each.outcome == "dropped":
                assert (each.tokens_before or 0) + AROUND > min(rooms), (each, rooms)


AROUND = 40
"""Tokens that a fragment may need besides its text: heading, group, blank lines, marker, and rounding."""


MERGING = [name for name in sorted(VARIANTS) if VARIANTS[name].merge]


@given(files=systems(), name=st.sampled_from(MERGING), budget=budgets, topic=topics)
def test_whatever_is_merged_is_shown_elsewhere(files: dict[str, Content], name: str, budget: int, topic: str) -> None:
    context = build(files, VARIANTS[name], budget, topic)
    places = {place for each in context.decisions if each.tokens_after for place in each.stands_for}
    for each in context.decisions:
        if each.reason.code in {"merged", "same-text"} and dict(each.reason.facts)["by"] != "key":
            first, last = each.lines
            assert places & {f"{each.path}:{line}" for line in range(first, last + 1)}, each


def is_text(layer: Layer) -> bool:
    running = {*layer.query.sources} <= {"document", "daily"}
    return running and not layer.limits.required and {*layer.overflow.steps} <= {"truncate"}


@given(
    files=systems(), name=st.sampled_from(sorted(VARIANTS)), budget=budgets, more=st.integers(1, 2_000), topic=topics
)
def test_larger_budget_never_loses_a_line_of_text_in_any_profile(
    files: dict[str, Content], name: str, budget: int, more: int, topic: str
) -> None:
    opened = Files(files)
    small, large = (build(opened, VARIANTS[name], size, topic) for size in (budget, budget + more))
    _loses_no_line(VARIANTS[name], small, large)


def _loses_no_line(profile: Profile, small: Context, large: Context) -> None:
    running = {layer.id for layer in profile.layers if is_text(layer)}
    for before, after in zip(small.decisions, large.decisions, strict=True):
        if before.layer in running:
            assert lines_of(before.kept) <= lines_of(after.kept), (before, after)


def _long_files(seed: int) -> dict[str, Content]:
    """Files of different lengths for the layers of running text of every profile, and for some others."""
    random = Random(seed)

    def text() -> str:
        rows = (f"{number}. {'word ' * random.randrange(30)}harbour" for number in range(random.randrange(2, 60)))
        return random.choice(("\n", "\n\n")).join(rows) + "\n"

    day = "memory/2025-03-14.md", "2025-03-13.md", "journals/2025_03_13.md", "agents/luna/daily/2025-03-13.md"
    knowledge = "agents/luna/KNOWLEDGE.md", "teams/writers/RULES.md", "knowledge/a.md", "pages/b.md", "notes/c.md"
    memories = "".join(f"- [fact] Harbour {n} {'has acts ' * random.randrange(40)}\n" for n in range(9))
    return (
        agent()
        | {name: text() for name in (*day, *knowledge, *ROOT_FILES, "memory/2025-03-12.md", "2025-03-12.md")}
        | dict.fromkeys(("agents/luna/memories/m.md", "teams/writers/memories/m.md"), memories)
    )


@pytest.mark.parametrize("topic", ["", "the harbour and three acts"])
@pytest.mark.parametrize("name", sorted(name for name in SHIPPED if any(map(is_text, SHIPPED[name].layers))))
def test_larger_budget_never_loses_a_line_of_long_files_in_any_profile(name: str, topic: str) -> None:
    # Limits in characters bind, too: these files are shorter than what a host shows.
    profile = SHIPPED[name]
    limited = profile._replace(
        max_chars=profile.max_chars // 20,
        layers=tuple(
            with_layer_values(layer, {"max_chars": None if most is None else most // 20})
            for layer in profile.layers
            for most in [layer.limits.max_chars]
        ),
    )
    for seed in range(3):
        files, random = Files(_long_files(seed)), Random(seed)
        budgets = sorted(random.sample(range(20, 9_000), 40))
        contexts = [build(files, limited, budget, topic) for budget in budgets]
        for small, large in pairwise(contexts):
            _loses_no_line(limited, small, large)


def test_every_shipped_profile_is_drawn() -> None:
    assert {*shipped()} == {*SHIPPED, "default"}
    assert {*SHIPPED} < {*VARIANTS}
