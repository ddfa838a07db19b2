"""A layer with `max_chars` that keeps both ends shows each line that a host with the same limit shows."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from contextasm.checks.hosts.cuts import kept_runs
from contextasm.config.hosts.loader import Cut
from contextasm.model import Context, TokenCounter
from tests.laws.lines import lines_of
from tests.workspaces import BLOCKS, agent, build, counters, limited, team

long_texts = st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=40).map("\n\n".join)


def shown(context: Context, layer: str) -> set[int]:
    return {line for each in context.decisions if each.layer == layer for line in lines_of(each.kept)}


def host_lines(text: str, chars: int) -> set[int]:
    """The lines, from 1, of which a host that shows so many characters shows a part."""
    cut = Cut(chars=chars, head=75, tail=25, trimmed="end")
    runs = kept_runs(text, cut)
    numbers = (range(text.count("\n", 0, start) + 1, text.count("\n", 0, stop) + 2) for start, stop in runs)
    touched = {number for each in numbers for number in each}
    lines: Sequence[str] = text.split("\n")
    return {number for number in touched if lines[number - 1].strip()}


@given(counter=counters, text=long_texts, chars=st.integers(40, 3_000), others=st.booleans())
def test_each_line_of_the_host_is_shown(counter: TokenCounter, text: str, chars: int, others: bool) -> None:
    wide = {"max_tokens": None, "max_chars": chars, "keep": "ends"}
    profile = limited(L2=wide if others else {}, L7=wide)._replace(max_chars=2 * chars)
    files = agent(KNOWLEDGE=text) | (team(GOALS=text) if others else {})
    context = build(files, profile, counter, budget=10**6)
    # The first and the last line of a run may be cut, and then be blank as far as the host shows it.
    missing = host_lines(text, chars) - shown(context, "L7")
    assert not missing, sorted(missing)


@given(text=long_texts, chars=st.integers(40, 3_000))
def test_all_layers_together_show_no_more_than_their_total_and_two_blocks_each(text: str, chars: int) -> None:
    wide = {"max_tokens": None, "max_chars": chars, "keep": "ends", "headings": "keep"}
    profile = limited(L2=wide, L7=wide)._replace(max_chars=2 * chars)
    context = build(agent(KNOWLEDGE=text) | team(GOALS=text), profile, budget=10**6)
    lines = text.split("\n")
    used = sum(len(lines[number - 1]) for layer in ("L2", "L7") for number in shown(context, layer))
    assert used <= 2 * chars + 4 * max(map(len, BLOCKS))
