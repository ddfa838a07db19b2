"""Rules on memories of a large pool: a build is the same as one that lists every memory."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import Build, Context, Decision, IndexedPools, Profile, Request, Rule, Target
from contextasm.pipeline import assemble
from contextasm.retrieval.pool import MEMORIES, read_pool
from contextasm.retrieval.sources import log_search
from contextasm.rules.evaluate import evaluate
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.folder import Folder
from tests.command import fill
from tests.retrieval.memory_index.test_memory_index import NO_INDEXES, indexes, pools, pools_above, same
from tests.workspaces import DAY, DEFAULT, rule

SYLLABLES = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("nga", "rto", "skel")]
TOPIC_WORDS = ("harbor", "lantern", "winch")
TYPES = ("fact", "decision", "preference")
TAGS = ("tide", "night", "crew")
FOLDER = "agents/a/memories"
PATHS = (f"{FOLDER}/1.md", f"{FOLDER}/2.md", f"{FOLDER}/3.md", f"{FOLDER}/archive/4.md")

PLACES = st.sampled_from([*PATHS, f"{FOLDER}/4.md", f"{FOLDER}/[12].md", f"{FOLDER}/archive/*", "agents/a/**/3.md"])
TARGETS = st.one_of(
    PLACES.map(lambda path: Target("path", path)),
    st.sampled_from([*TYPES, "none"]).map(lambda name: Target("type", name)),
    st.sampled_from([*TAGS, "none"]).map(lambda name: Target("tag", name)),
    st.integers(0, 14).map(lambda number: Target("id", f"x{number}")),
    st.sampled_from(["x3~2", f"{FOLDER}/4.md-x", f"{FOLDER}/archive/4.md-x", "\ud800"]).map(
        lambda name: Target("id", name)
    ),
    st.just(Target("heading-path", PATHS[0], "Tides")),
    st.just(Target("entity", "crew")),
)


@st.composite
def rules(draw: st.DrawFn) -> Sequence[Rule]:
    """One to four rules that always fire, of different priorities."""

    def targets() -> tuple[Target, ...]:
        return tuple(draw(st.lists(TARGETS, max_size=2)))

    return [
        rule(
            f"r{number}",
            draw(st.integers(0, 2)),
            include=targets(),
            exclude=targets(),
            boost=tuple((target, draw(st.sampled_from([0.0, 0.2, 2.0, 30.0]))) for target in targets()),
        )
        for number in range(draw(st.integers(1, 4)))
    ]


def memory(chance: Random) -> str:
    """A bullet, some of them with a state, a tag, or an id that others may have, too."""
    words = chance.choices(SYLLABLES, k=chance.choice((3, 3, 3, 7, 9, 11)))
    words += [word for word in TOPIC_WORDS for _ in range(chance.choice((0, 0, 0, 1, 2)))]
    chance.shuffle(words)
    stated = [f"importance=0.{chance.randrange(10)}"]
    for share, attribute in (
        (0.2, f"id=x{chance.randrange(15)}"),
        (0.1, f"supersedes=x{chance.randrange(15)}"),
        (0.06, "status=draft"),
        (0.06, "status=superseded"),
        (0.03, "pin=true"),
        (0.3, f"tags={chance.choice(TAGS)}"),
    ):
        if chance.random() < share:
            stated.append(attribute)
    return f"- [{chance.choice(TYPES)}] {' '.join(words)} {{{' '.join(stated)}}}\n"


def page(chance: Random, future: int) -> str:
    """Memories under dates, up to so many days ahead, and a heading that a rule may name."""
    days = sorted(DAY - timedelta(days=chance.randrange(-future, 200)) for _ in range(4))
    parts = (f"## {day}\n\n" + "".join(memory(chance) for _ in range(chance.randrange(1, 9))) for day in days)
    return "\n".join(parts) + "\n## Tides\n\n" + memory(chance)


class Setting(NamedTuple):
    """What a build is asked."""

    topic: str
    top: int
    min_score: float
    budget: int
    merge: tuple[str, ...] = ()
    required: bool = False

    @property
    def profile(self) -> Profile:
        """The default profile with this `top` and least score of the layer of memories, whose archive it reads, too."""
        layers = (
            layer._replace(
                ranking=layer.ranking._replace(top=self.top, fallback_top=self.top, min_score=self.min_score),
                query=layer.query._replace(paths=(f"{FOLDER}/*.md", f"{FOLDER}/archive/*.md"), min_match=0.0),
                limits=layer.limits._replace(required=self.required),
            )
            if layer.id == "L5"
            else layer
            for layer in DEFAULT.layers
        )
        return DEFAULT._replace(layers=tuple(layers), merge=self.merge)


SETTINGS = st.builds(
    Setting,
    st.sampled_from(["", "harbor", "lantern winch", "zzzz", "harbor lantern bango"]),
    st.sampled_from([0, 1, 3, 8]),
    st.sampled_from([0.0, 0.0, 0.5]),
    st.sampled_from([300, 16_000]),
    st.sampled_from([(), (), (), ("content",)]),
)


def built(folder: Path, setting: Setting, fired: Sequence[Rule], used: IndexedPools | None) -> Context:
    """What is built under rules; None lists every memory."""
    request = Request("a", "", setting.topic, DAY, setting.budget, "estimate", "markdown")
    build = Build(Folder(folder), setting.profile, request, ESTIMATE, rules=evaluate(fired, {}), memory_index=used)
    return assemble(build)


def told(context: Context) -> dict[tuple[str, str], Decision]:
    """The decisions on single fragments, but for those by rank: an index ranks fewer."""
    return {
        (each.layer, each.fragment): each
        for each in context.decisions
        if each.reason.code not in {"not-in-top", "no-match"} and not dict(each.reason.facts).get("count")
    }


def agreed(folder: Path, files: Mapping[str, str], setting: Setting, *fired: Rule) -> Context:
    """What is built of these files with an index, held against what is built of all memories."""
    fill(folder, files)
    found, listed = (built(folder, setting, fired, used) for used in (indexes(Folder(folder)), None))
    assert (found.text, found.problems, found.rule_traces) == (listed.text, listed.problems, listed.rule_traces)
    return found


@pytest.fixture(autouse=True)
def _every_pool_is_large() -> Iterator[None]:
    with pools_above(0):
        yield


@given(seed=st.integers(0, 10**6), fired=rules(), setting=SETTINGS)
def test_a_build_under_rules_is_that_of_all_memories(seed: int, fired: Sequence[Rule], setting: Setting) -> None:
    chance = Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = fill(Path(name), {path: page(chance, 0) for path in PATHS})
        for _ in range(2):
            listed = built(folder, setting, fired, None)
            found = built(folder, setting, fired, indexes(Folder(folder)))
            assert (found.text, found.problems, found.rule_traces) == (listed.text, listed.problems, listed.rule_traces)
            every = told(listed)
            assert all(every.get(key) == decision for key, decision in told(found).items())
            fill(folder, {chance.choice(PATHS): page(chance, 0)}, base={})


@given(seed=st.integers(0, 10**6), fired=st.one_of(rules(), st.just(())), setting=SETTINGS)
def test_what_is_counted_is_the_same_with_and_without_an_index(
    seed: int, fired: Sequence[Rule], setting: Setting
) -> None:
    chance = Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = fill(Path(name), {path: page(chance, 40) for path in PATHS})
        for _ in range(2):
            found, read = (built(folder, setting, fired, used) for used in (indexes(Folder(folder)), NO_INDEXES))
            assert same(found) == same(read)
            assert found.rule_traces == read.rule_traces
            counts = [int(dict(each.reason.facts).get("count", 1)) for each in found.decisions if each.layer == "L5"]
            assert sum(counts) == len(read_pool(Folder(folder), MEMORIES, PATHS).all_entries)
            path = chance.choice(PATHS)
            text = (folder / path).read_text(encoding="utf-8")
            fill(folder, {path: text + memory(chance)}, base={})


def test_an_archived_memory_is_known_by_its_earlier_id(tmp_path: Path) -> None:
    chance = Random(6)
    pages = {path: page(chance, 0) for path in PATHS}
    pages[PATHS[3]] += f"- [fact] oars are dry {{id={PATHS[3]}-x}}\n"
    included = rule(include=(Target("id", f"{FOLDER}/4.md-x"),))
    assert "oars are dry" in agreed(tmp_path, pages, Setting("", 3, 0.0, 16_000), included).text


HARBOR = Setting("harbor", 2, 0.0, 16_000)


def test_an_included_memory_raises_what_a_candidate_needs(tmp_path: Path) -> None:
    pages = {
        PATHS[0]: "- [fact] harbor lantern winch\n",
        PATHS[1]: (
            "- [fact] lantern harbor cedar gamma bravo delta alpha cedar fjord hotel gamma {importance=0.9}\n"
            "- [fact] lantern harbor cedar gamma bravo delta alpha cedar fjord hotel gamma {importance=0.9}\n"
            "- [fact] lantern alpha cedar fjord gamma gamma cedar cedar gamma hotel {importance=0.1}\n"
            "- [fact] lantern harbor cedar gamma bravo delta alpha cedar fjord kite gamma {importance=0.1}\n"
            "- [fact] lantern alpha cedar fjord gamma gamma cedar cedar gamma hotel {importance=0.9}\n"
            "- [fact] winch delta hotel cedar fjord ember delta {importance=0.1 id=kept}\n"
        ),
    }
    fired = rule(include=(Target("id", "kept"),), exclude=(Target("path", PATHS[0]),))
    found = agreed(tmp_path, pages, HARBOR._replace(topic="harbor lantern winch"), fired)
    assert found.text.endswith(
        "- [fact] winch delta hotel cedar fjord ember delta\n"
        "- [fact] lantern harbor cedar gamma bravo delta alpha cedar fjord kite gamma\n"
    )


@pytest.mark.parametrize("topic", ["", "harbor"])
def test_places_of_merged_memories_go_to_the_next_ones(tmp_path: Path, topic: str) -> None:
    copies = "- [fact] harbor same\n" * 6
    others = "".join(f"- [fact] harbor {number}\n" for number in range(9))
    pages = {PATHS[0]: f"## 2025-03-01\n\n{others}\n## 2025-03-10\n\n{copies}"}
    found = agreed(tmp_path, pages, Setting(topic, 3, 0.0, 16_000, ("content",)))
    assert found.text.endswith("- [fact] harbor same\n- [fact] harbor 8\n- [fact] harbor 7\n")


def test_a_memory_that_reaches_the_least_score_is_shown(tmp_path: Path) -> None:
    old = "".join(f"- [fact] harbor lantern {number} {{importance=0.0}}\n" for number in range(4))
    new = "- [fact] harbor and so many other words about the long quay wall {importance=1.0}\n"
    pages = {PATHS[0]: f"## 2020-01-01\n\n{old}", PATHS[1]: f"## {DAY}\n\n{new}"}
    assert "the long quay wall" in agreed(tmp_path, pages, Setting("harbor lantern", 2, 0.5001, 16_000)).text


@pytest.mark.parametrize("topic", ["", "harbor"])
@pytest.mark.parametrize("action", ["exclude", "boost"])
def test_a_rule_means_a_memory_of_the_type_section(tmp_path: Path, topic: str, action: str) -> None:
    pages = {PATHS[0]: "- [section] harbor one {tags=tide}\n- [fact] harbor two\n"}
    kind, tag = Target("type", "section"), Target("tag", "tide")
    boosting = action == "boost"
    fired = rule(boost=((kind, 2.0), (tag, 3))) if boosting else rule(exclude=(kind, tag))
    context = agreed(tmp_path, pages, Setting(topic, 3, 0.0, 16_000), fired)
    assert ("harbor one" in context.text) == boosting
    (decision,) = (each for each in context.decisions if each.layer == "L5" and each.lines == (1, 1))
    assert not (boosting and topic) or dict(decision.score)["boost"] == 6


def test_a_boost_of_many_memories_that_are_not_shown_has_an_effect(tmp_path: Path) -> None:
    facts = "".join(f"- [fact] harbor and many other words {number} {{importance=0.1}}\n" for number in range(5))
    notes = "".join(f"- [note] harbor {number} {{importance=0.9}}\n" for number in range(3))
    pages = {PATHS[0]: f"## 2025-01-01\n\n{facts}{notes}", PATHS[1]: f"## {DAY}\n\n- [fact] winch\n"}
    found = agreed(tmp_path, pages, HARBOR, rule(boost=((Target("type", "fact"), 0.5),)))
    assert [trace.lost for trace in found.rule_traces] == [()]


@pytest.mark.parametrize("topic", ["", "harbor"])
def test_memories_that_a_boost_and_an_exclusion_mean_take_no_place(tmp_path: Path, topic: str) -> None:
    tagged = "".join(f"- [fact] harbor {number} {{importance=0.9 tags=tide}}\n" for number in range(5))
    others = "".join(f"- [fact] harbor {number} {{importance=0.1}}\n" for number in range(5, 9))
    pages = {PATHS[0]: f"## 2025-01-01\n\n{others}\n## 2025-03-01\n\n{tagged}"}
    fired = rule(boost=((Target("type", "fact"), 2.0),), exclude=(Target("tag", "tide"),))
    found = agreed(tmp_path, pages, HARBOR._replace(topic=topic), fired)
    assert found.text.endswith("- [fact] harbor 8\n- [fact] harbor 7\n")


def test_the_first_memory_of_a_tag_says_why_none_is_included(tmp_path: Path) -> None:
    later = f"## {DAY + timedelta(days=1)}\n\n- [fact] harbor later {{tags=tide}}\n"
    draft = "- [fact] harbor draft {status=draft tags=tide}\n"
    pages = {PATHS[0]: draft, PATHS[1]: later, PATHS[2]: "- [fact] harbor\n"}
    fired = rule(include=(Target("tag", "tide"),))
    found = agreed(tmp_path, pages, Setting("", 3, 0.0, 16_000), fired)
    assert [problem.message for problem in found.problems] == ["rule one does nothing: its status is draft"]


@pytest.mark.parametrize("topic", ["", "harbor"])
def test_a_required_layer_keeps_what_a_rule_excludes(tmp_path: Path, topic: str) -> None:
    pages = {PATHS[0]: "".join(f"- [fact] harbor {number}\n" for number in range(5))}
    fired = rule(exclude=(Target("type", "fact"),))
    found = agreed(tmp_path, pages, Setting(topic, 2, 0.9, 16_000, required=True), fired)
    assert found.text.endswith("- [fact] harbor 4\n- [fact] harbor 3\n")
    assert [problem.code for problem in found.problems] == ["rule-protected"]


FACTS_AND_NOTES = {
    PATHS[0]: "".join(f"- [fact] harbor {number} {{importance=0.1}}\n" for number in range(5)),
    PATHS[1]: "".join(f"- [note] harbor {number} {{importance=0.9}}\n" for number in range(5)),
}


def test_a_boost_of_a_section_means_no_memory_of_its_file(tmp_path: Path) -> None:
    fired = rule(boost=((Target("heading-path", PATHS[0], "Tides"), 30.0),))
    found = agreed(tmp_path, FACTS_AND_NOTES, HARBOR, fired)
    assert found.text.endswith("- [note] harbor 4\n- [note] harbor 3\n")


@pytest.mark.parametrize("min_score", [0.0, 0.6])
def test_boosted_memories_come_before_more_important_ones(tmp_path: Path, min_score: float) -> None:
    fired = rule(boost=((Target("type", "fact"), 3.0),))
    found = agreed(tmp_path, FACTS_AND_NOTES, HARBOR._replace(min_score=min_score), fired)
    assert found.text.endswith("- [fact] harbor 4\n- [fact] harbor 3\n")


def test_a_layer_without_a_memory_of_the_least_score_says_so(tmp_path: Path) -> None:
    found = agreed(tmp_path, FACTS_AND_NOTES, HARBOR._replace(min_score=0.99))
    assert [problem.code for problem in found.problems] == ["low-quality"]


def test_a_rule_means_no_count_of_what_is_not_listed(tmp_path: Path) -> None:
    fired = rule(exclude=(Target("path", "agents/**/archive/*"),))
    found = agreed(tmp_path, FACTS_AND_NOTES, HARBOR, fired)
    assert any(each.reason.is_count for each in found.decisions)
    assert [reason.code for reason in found.rule_traces[0].lost] == ["no-match-found"]


OLD_LOG = f"agents/a/daily/{DAY - timedelta(days=40)}.md"


@pytest.mark.parametrize("many", [0, 1000])
@pytest.mark.parametrize("action", ["include", "exclude", "boost"])
@pytest.mark.parametrize(
    "target", [Target("path", OLD_LOG), Target("path", "**/daily/*"), Target("id", f"{OLD_LOG}:2")]
)
def test_rules_on_logs_leave_the_index_in_use(tmp_path: Path, target: Target, action: str, many: int) -> None:
    logs = {
        f"agents/a/daily/{DAY - timedelta(days=age)}.md": f"- harbor {age}\n- crew {age}\n" for age in range(30, 50)
    }
    meant: tuple[object, ...] = ((target, 3.0),) if action == "boost" else (target,)
    fired = rule(**{action: meant})  # type: ignore[arg-type]
    with patch.object(log_search, "MANY", many):
        found = agreed(tmp_path, {**FACTS_AND_NOTES, **logs, OLD_LOG: "- quay\n- winch\n"}, HARBOR, fired)
    counts = {each.layer for each in found.decisions if each.reason.is_count}
    means_memories = target.kind == "id"
    assert counts == (set() if means_memories else {"L5"}) | (set() if many else {"related"})
    assert len(pools(tmp_path)) == (1 if means_memories else 2)
