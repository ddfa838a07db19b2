"""Memories that may not be shown change nothing: a build and a search are the same with an index and without."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from contextasm.model import (
    PERSONAL,
    SHARED,
    Build,
    Context,
    EntryPool,
    Filters,
    IndexedPools,
    Layer,
    Memory,
    Profile,
    Request,
    SourceQuery,
    Target,
)
from contextasm.pipeline import assemble
from contextasm.retrieval.pool import MEMORIES, TopicHits, read_pool, topic_hits
from contextasm.retrieval.reading.audience import for_audience
from contextasm.retrieval.reading.files import query_paths
from contextasm.rules.evaluate import evaluate
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.folder import Folder
from tests.command import fill
from tests.retrieval.memory_index.test_memory_index import NO_INDEXES, indexes, pools_above, same
from tests.workspaces import DAY, DEFAULT, rule

FOLDER = "agents/a/memories"
PATHS = tuple(f"{FOLDER}/{number}.md" for number in range(4))
TODAYS = tuple(DAY - timedelta(days=days) for days in (0, 1, 30))
"""Days of builds that one index answers for."""

WORDS = ("harbor", "lantern", "winch", "Ana", "Ana:", "keeper", "when", "日本語")
ALIKE = ("harbour", "arbor", "harbo", "harper", "harbot", "barbor", "harbur")
"""More words than a mistyped one is corrected to."""
TOPICS = (
    "harbor",
    "lantern winch",
    "night at the quay",
    "harbur lantrn",
    "did Ana see the keeper",
    "when winch",
    "灯",
    "zzzz",
    "14 March 2025",
)
SYLLABLES = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("nga", "rto", "skel")]
"""Words that tell memories apart, so that none is taken for a copy."""

DATES = st.sampled_from([None, *(DAY - timedelta(days=days) for days in (-20, 0, 2, 2, 40))])
DAYS = [f"{name}={DAY - timedelta(days=days)}" for name in ("expires", "valid_from") for days in (0, 1, 2, 31)]
BOUNDS = st.sampled_from(["", "", *DAYS, "repositories=here/*", "repositories=there/*,here/two"])
STATES = st.sampled_from(["", "", "", "status=draft", "status=superseded", "supersedes=x1", "private=true", "pin=true"])


@st.composite
def memory(draw: st.DrawFn) -> str:
    own = draw(st.lists(st.sampled_from(SYLLABLES), min_size=5, max_size=8))
    shared = draw(st.lists(st.sampled_from([*WORDS, *WORDS, *ALIKE]), max_size=3))
    created = draw(DATES)
    stated = [
        f"created={created}" if created else "",
        draw(STATES),
        draw(BOUNDS),
        draw(st.sampled_from(["", "", "id=x1", "id=lantern-quay"])),
        draw(st.sampled_from(["", "tags=night", "key=root/harbor-night", "writer=mcp"])),
        draw(st.sampled_from(["", "importance=0.9"])),
    ]
    attributes = " ".join(filter(None, stated))
    bullet = f"- [{draw(st.sampled_from(['fact', 'decision']))}] {' '.join((*shared, *own))}"
    return f"{bullet} {{{attributes}}}\n" if attributes else f"{bullet}\n"


@st.composite
def page(draw: st.DrawFn) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        if day := draw(DATES):
            parts.append(f"\n## {day}\n\n")
        parts += draw(st.lists(memory(), min_size=1, max_size=9))
    return "".join(parts)


class Asked(NamedTuple):
    """What a build or a search is asked on some days."""

    topic: str
    top: int
    audience: str
    exclude: tuple[str, ...]
    except_paths: tuple[str, ...]
    targets: tuple[Target, ...]
    """What a rule excludes."""
    show_expired: bool
    repository: str
    locked: bool

    @property
    def layer(self) -> Layer:
        """The layer of an agent's memories with this `top`, without these files."""
        layer = next(layer for layer in DEFAULT.layers if layer.id == "L5")
        return layer._replace(
            ranking=layer.ranking._replace(top=self.top, fallback_top=self.top),
            query=layer.query._replace(except_paths=self.except_paths),
            locked=self.locked,
        )

    @property
    def profile(self) -> Profile:
        """The default profile with that layer."""
        return DEFAULT._replace(layers=tuple(self.layer if each.id == "L5" else each for each in DEFAULT.layers))

    def build(self, folder: Path, today: date, used: IndexedPools | None) -> Build:
        """The build of a day; None lists every memory."""
        request = Request("a", "", self.topic, today, 16_000, "estimate", "markdown")
        request = request._replace(
            audience=self.audience, filters=Filters(exclude=self.exclude), show_expired=self.show_expired
        )
        rules = evaluate([rule(exclude=self.targets)] if self.targets else [], {})
        here = (self.repository,)
        return Build(
            Folder(folder), self.profile, request, ESTIMATE, rules=rules, repository=lambda: here, memory_index=used
        )


SOME_PATHS = st.lists(st.sampled_from([PATHS[0], f"{FOLDER}/[12].md"]), max_size=1).map(tuple)
ASKED = st.builds(
    Asked,
    topic=st.sampled_from(["", *TOPICS, *TOPICS]),
    top=st.sampled_from([0, 0, 1, 3, 8]),
    audience=st.sampled_from([PERSONAL, PERSONAL, PERSONAL, SHARED]),
    exclude=st.one_of(st.just(()), st.just(()), SOME_PATHS),
    except_paths=st.one_of(st.just(()), st.just(()), SOME_PATHS),
    targets=st.one_of(
        st.just(()),
        st.just(()),
        st.sampled_from(
            [Target("type", "fact"), Target("tag", "night"), Target("id", "x1"), Target("path", PATHS[1])]
        ).map(lambda target: (target,)),
    ),
    show_expired=st.sampled_from([False, False, True]),
    repository=st.sampled_from(["here/one", "here/two", ""]),
    locked=st.booleans(),
)


def searched(asked: Asked, folder: Path, today: date, used: IndexedPools | None) -> TopicHits:
    return topic_hits(SourceQuery(for_audience(asked.build(folder, today, used)), asked.layer))


def ranked(context: Context) -> Sequence[tuple[str, object]]:
    """The memories that a build may show for its topic, best first, each with its score."""
    return [
        (each.fragment, each.score)
        for each in context.decisions
        if each.layer == "L5" and each.score and each.reason.code not in {"not-in-top", "pinned", "pin"}
    ]


@pytest.fixture(autouse=True)
def _every_pool_is_large() -> Iterator[None]:
    with pools_above(0):
        yield


@given(pages=st.lists(page(), min_size=2, max_size=4), changed=page(), asked=st.lists(ASKED, min_size=1, max_size=2))
def test_an_index_changes_nothing_on_any_day(pages: Sequence[str], changed: str, asked: Sequence[Asked]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = fill(Path(name), dict(zip(PATHS, pages, strict=False)))
        for files in ({}, {PATHS[0]: changed}):
            fill(folder, files, base={})
            for each in asked:
                for today in TODAYS:
                    hold_equal(each, folder, today)


def answers(asked: Asked, folder: Path, today: date) -> bool:
    home = Folder(folder)
    build = asked.build(folder, today, None)
    paths = [*query_paths(SourceQuery(build, asked.layer))]

    def use(pool: EntryPool[Memory]) -> bool:
        return len(pool.entries([*pool.similar(SourceQuery(build, asked.layer), 0.0)])) <= pool.rows

    return not paths or bool(indexes(home).query(MEMORIES, [f"{FOLDER}/*.md"], paths, use))


def hold_equal(asked: Asked, folder: Path, today: date) -> None:
    """Compare what is built and found on a day with an index, with every memory read, and with every memory listed."""
    kept, read, listed = (
        assemble(asked.build(folder, today, used)) for used in (indexes(Folder(folder)), NO_INDEXES, None)
    )
    assert same(kept) == same(read)
    assert (kept.text, kept.problems, kept.rule_traces) == (listed.text, listed.problems, listed.rule_traces)
    if not asked.topic:
        return
    hits = searched(asked, folder, today, indexes(Folder(folder)))
    assert hits == searched(asked, folder, today, NO_INDEXES) == searched(asked, folder, today, None)
    event("found" if hits[0] else "nothing found")
    if asked.audience == PERSONAL:
        assert answers(asked, folder, today), "the index was not used"
    if not (asked.exclude or asked.targets):
        assert [(memory.id, score) for memory, score in hits[0] if not memory.pin] == ranked(listed)


@given(pages=st.lists(page(), min_size=1, max_size=3), asked=ASKED, back=st.integers(0, 40))
def test_a_new_day_changes_only_what_begins_or_ends(pages: Sequence[str], asked: Asked, back: int) -> None:
    asked = asked._replace(topic="", top=0)
    today, yesterday = (DAY - timedelta(days=days) for days in (back, back + 1))
    with tempfile.TemporaryDirectory() as name:
        folder = fill(Path(name), dict(zip(PATHS, pages, strict=False)))
        memories = read_pool(Folder(folder), MEMORIES, PATHS).all_entries
        before, after = (_shown(asked, folder, day) for day in (yesterday, today))
    event("something changes" if before != after else "nothing changes")
    bounds = {
        (each.path, each.line): (max(each.created, each.valid_from), each.expires or "9999")
        if not asked.show_expired
        else (each.created, "9999")
        for each in memories
    }
    assert all(bounds[place][0] == str(today) or bounds[place][1] == str(yesterday) for place in before ^ after)
    assert all(first <= str(today) <= last for first, last in map(bounds.__getitem__, after))


def _shown(asked: Asked, folder: Path, today: date) -> set[tuple[str, int]]:
    """Path and line of each memory that a build of a day shows."""
    decisions = assemble(asked.build(folder, today, indexes(Folder(folder)))).decisions
    return {(each.path, each.lines[0]) for each in decisions if each.kept and each.layer == "L5"}
