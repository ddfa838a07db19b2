"""What a policy of retention chooses: laws on random items, and the rows of the digest (100 to 102)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.keys.upkeep import KILOBYTE, CompressPolicy, EvictPolicy, PinPolicy
from contextasm.records.uses import ItemUses
from contextasm.upkeep.retention import RetainedItem, choose_evictions, eviction_scores, is_little_used, pinned_ids

UNKNOWN = ItemUses(0, None, 0)
SEEN = ItemUses(0, None, 5)


def item(name: str, **values: object) -> RetainedItem:
    """An item of one kilobyte that nobody used in ten days."""
    given_item = RetainedItem(name, name, KILOBYTE, 10, 10, SEEN, 0.5)
    return given_item._replace(**values)  # type: ignore[arg-type]


USES = st.builds(lambda times, more: ItemUses(times, None, times + more), st.integers(0, 3), st.integers(0, 3))
ITEMS = st.lists(
    st.builds(
        RetainedItem,
        id=st.sampled_from([f"docs/{letter}.md" for letter in "abcdefghij"]),
        path=st.just(""),
        size=st.integers(0, 3 * KILOBYTE),
        age=st.integers(0, 50),
        idle=st.integers(0, 50),
        uses=USES,
        quality=st.floats(0, 1),
        is_fixed=st.booleans(),
    ),
    max_size=10,
    unique_by=lambda each: each.id,
).map(lambda items: [each._replace(path=each.id) for each in items])
PINS = st.builds(
    PinPolicy,
    st.lists(st.sampled_from(["docs/a*", "docs/*.md", "docs/[b-d].md", "other/*"]), min_size=1).map(tuple),
    st.none() | st.floats(0, 5),
    st.none() | st.integers(0, 50),
)
EVICTS = st.builds(lambda size, lru: EvictPolicy(size, lru, 1 - lru), st.floats(0, 10), st.sampled_from([0, 0.4, 1]))


@given(ITEMS, st.none() | PINS, EVICTS)
def test_pinned_items_are_never_evicted(items: list[RetainedItem], pin: PinPolicy | None, evict: EvictPolicy) -> None:
    """Row 100."""
    pinned = pinned_ids(items, pin)
    assert {each.id for each in items if each.is_fixed} <= pinned
    assert not pinned & {each.id for each, _ in choose_evictions(items, pinned, {}, evict)}


@given(ITEMS, PINS)
def test_pins_keep_to_their_room_and_age(items: list[RetainedItem], pin: PinPolicy) -> None:
    """Row 100; fixed items take no room of the policy."""
    by_pattern = [each for each in items if each.id in pinned_ids(items, pin) and not each.is_fixed]
    assert pin.max_kb is None or sum(each.size for each in by_pattern) <= pin.max_kb * KILOBYTE
    assert pin.days is None or all(each.age <= pin.days for each in by_pattern)


@given(ITEMS, st.none() | PINS, EVICTS)
def test_what_stays_keeps_to_the_limit_if_what_may_go_suffices(
    items: list[RetainedItem], pin: PinPolicy | None, evict: EvictPolicy
) -> None:
    """Row 102; nothing goes beyond need: without the last one chosen, the limit is not kept."""
    pinned = pinned_ids(items, pin)
    chosen = [each for each, _ in choose_evictions(items, pinned, {}, evict)]
    left = [each for each in items if each not in chosen]
    total = sum(each.size for each in left)
    may_go = [each for each in left if each.id not in pinned and (each.uses.builds or not evict.lru)]
    assert total <= evict.max_kb * KILOBYTE or not may_go
    if chosen:
        assert total + chosen[-1].size > evict.max_kb * KILOBYTE
    assert not choose_evictions(left, pinned_ids(left, pin), {}, evict)


@given(ITEMS, EVICTS)
def test_the_highest_score_goes_first_and_equal_ones_by_id(items: list[RetainedItem], evict: EvictPolicy) -> None:
    """Row 102."""
    choices = choose_evictions(items, pinned_ids(items, None), {}, evict)
    assert all(0 <= score <= 1 + 1e-9 for _, score in choices)
    assert [(-score, each.id) for each, score in choices] == sorted((-score, each.id) for each, score in choices)


@given(ITEMS, st.builds(CompressPolicy, st.integers(0, 50), st.integers(1, 4)))
def test_nothing_is_chosen_for_a_lack_of_unknown_uses(items: list[RetainedItem], compress: CompressPolicy) -> None:
    """Neither to be shortened (row 101) nor to be evicted (row 102)."""
    unknown = [each._replace(uses=UNKNOWN) for each in items]
    assert not any(is_little_used(each, compress) for each in unknown)
    assert not choose_evictions(unknown, (), {}, EvictPolicy(0, 0.4, 0.6))


@pytest.mark.parametrize(
    ("age", "times", "builds", "is_chosen"),
    [
        (13, 1, 5, True),
        pytest.param(12, 1, 5, False, id="not old enough"),
        pytest.param(13, 2, 5, False, id="used often enough"),
        pytest.param(13, 1, 1, False, id="too few builds for two uses"),
    ],
)
def test_compression_needs_both_age_and_few_uses(age: int, times: int, builds: int, *, is_chosen: bool) -> None:
    """Row 101, with the figures of the digest for documentation: after 12, fewer than 2."""
    chosen = is_little_used(item("a", age=age, uses=ItemUses(times, None, builds)), CompressPolicy(12, 2, 0.8))
    assert chosen is is_chosen


def test_the_score_is_that_of_the_formula() -> None:
    """Row 102: 0.4 x idle / longest idle + 0.6 x (1 - quality)."""
    items = [item("a", idle=20, quality=0.25), item("b", idle=5, quality=1.0), item("c", idle=0, quality=0.0)]
    scores = eviction_scores(items, EvictPolicy(1, 0.4, 0.6))
    assert scores == pytest.approx({"a": 0.85, "b": 0.1, "c": 0.6})


def test_a_policy_that_weighs_no_uses_needs_to_know_none() -> None:
    items = [item("a", quality=0.9, uses=UNKNOWN), item("b", quality=0.1, uses=UNKNOWN)]
    assert [each.id for each, _ in choose_evictions(items, (), {}, EvictPolicy(1, 0, 1))] == ["b"]


def test_the_first_pattern_of_a_pin_has_the_first_right_to_its_room() -> None:
    items = [item("a.md"), item("b.md", size=3 * KILOBYTE), item("z.md")]
    assert pinned_ids(items, PinPolicy(("z*", "*.md"), max_kb=2)) == {"z.md", "a.md"}


def test_shortening_counts_before_eviction() -> None:
    items = [item("a"), item("b")]
    assert not choose_evictions(items, (), {"a": 10}, EvictPolicy(1.5))
    assert choose_evictions(items, (), {}, EvictPolicy(1.5))
