"""Search: which memories answer a topic, how their scores are made, and what `ctxasm search` shows of them."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from contextasm.model import Fragment, FragmentDisplay, Layer, Location, Query, Ranking, memory_score, recency
from contextasm.ranking.order import rank
from tests.command import LUNA, SAMPLE, fill, inside, python, refused
from tests.tables import rows
from tests.workspaces import DAY, agent, ago, build, outcomes, section, team


def remembered(*bullets: str, name: str = "m", owner: str = "agents/luna") -> dict[str, str]:
    """A file of memories."""
    return {f"{owner}/memories/{name}.md": "".join(f"- {bullet}\n" for bullet in bullets)}


def shown(topic: str, *bullets: str) -> list[str]:
    """The texts that a build shows of these memories, best first."""
    context = build(agent() | remembered(*bullets), topic=topic)
    return [line.removeprefix("- [note] ") for line in section(context, "Personal Memories").split("\n") if line]


def scores(topic: str, *bullets: str) -> dict[str, float]:
    """The parts of the best memory's score, with its total."""
    decisions = build(agent() | remembered(*bullets), topic=topic).decisions
    return dict(max((each.score for each in decisions if each.score), key=lambda score: dict(score)["total"]))


# Scores.


@pytest.mark.parametrize(
    ("similarity", "importance", "days", "total"),
    [
        (1.0, 1.0, 0, 1.0),
        (0.0, 0.0, 10_000, 0.0),
        (0.8, 0.5, 7, 0.4 + 0.15 + 0.2 * math.exp(-0.35)),
        (0.25, 0.9, 30, 0.125 + 0.27 + 0.2 * math.exp(-1.5)),
    ],
)
def test_row_27_score_is_half_similarity_three_tenths_importance_a_fifth_recency(
    similarity: float, importance: float, days: int, total: float
) -> None:
    score = memory_score(similarity, importance, ago(days).isoformat() if days < 10_000 else "", DAY)
    fragment = Fragment("m", Location("m.md", 1), "text", FragmentDisplay("Heading"), score=score)
    layer = Layer("L5", ("Heading",), query=Query(sources=("search",), paths=("m.md",)), ranking=Ranking(order="best"))
    (ranked,) = rank([fragment], layer)
    assert dict(ranked.score)["total"] == pytest.approx(total, abs=1e-9)
    (other,) = rank([fragment], layer._replace(ranking=layer.ranking._replace(weights=(("importance", 1.0),))))
    assert dict(other.score)["total"] == pytest.approx(importance, abs=1e-9)


def test_row_27_a_build_has_that_score() -> None:
    found = scores("wall", "paint the wall {importance=0.9 created=2025-03-07}")
    assert found == pytest.approx(
        {
            "similarity": 1.0,
            "importance": 0.9,
            "recency": math.exp(-0.35),
            "total": 0.5 + 0.27 + 0.2 * math.exp(-0.35),
        },
        abs=1e-9,
    )


@pytest.mark.parametrize(
    ("days", "left"), [(0, 1.0), (1, 0.951), (7, 0.705), (14, 0.497), (30, 0.223), (60, 0.050), (-3, 1.0)]
)
def test_row_28_recency_fades_by_the_day(days: int, left: float) -> None:
    assert recency(ago(days).isoformat(), DAY) == pytest.approx(left, abs=5e-4)


def test_row_28_recency_is_since_the_last_access() -> None:
    assert scores("wall", "the wall {created=2025-01-01 accessed=2025-03-14}")["recency"] == 1.0
    assert scores("wall", "the wall {created=2025-03-14}")["recency"] == 1.0
    assert scores("wall", "the wall {created=2025-03-14 accessed=2025-01-01}")["recency"] == 1.0
    assert scores("wall", "the wall")["recency"] == 0.0


def test_row_29_identical_text_is_1_and_no_shared_word_0() -> None:
    assert scores("Paint the garden wall!", "paint the garden wall", "paint the fence")["similarity"] == 1.0
    context = build(agent() | remembered("paint the garden wall"), topic="xylophone")
    assert [each.score for each in context.decisions if each.layer == "L5"] == [()]


@pytest.mark.parametrize("attribute", ["id=wall-paint", "key=walls/paint", "tags=wall,paint", "id=paint~2 tags=wall"])
def test_words_of_id_key_and_tags_find_a_memory_and_words_of_its_text_count_once(attribute: str) -> None:
    best, *_ = shown("paint of the walls", "the wall", f"white it is {{{attribute}}}", "some paint")
    assert best == "white it is"
    assert scores("paint the wall", f"paint the wall {{{attribute}}}", "a wall to paint white")["similarity"] == 1.0
    made = build(agent() | remembered("the wall {id=m-2129d99274bb}"), topic="2129d99274bb")
    assert {each.score for each in made.decisions} == {()}


def test_row_29_search_opens_no_socket() -> None:
    script = (
        "import socket, sys\n"
        "def refuse(*_a, **_k): raise SystemExit('a socket was opened')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from contextasm.cli.app import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    result = python(script, "search", *LUNA, "foghorn")
    assert result.code == 0, result.err


def test_row_30_topic_that_nothing_matches_shows_the_five_newest_and_says_so() -> None:
    bullets = [f"number {n} {{created={ago(n)}}}" for n in range(7)]
    context = build(agent() | remembered(*bullets), topic="xylophone")
    expected = "".join(f"- [note] number {n}\n" for n in range(5))
    assert section(context, "Personal Memories") == expected.rstrip("\n")
    reasons = [each.reason.code for each in context.decisions if each.layer == "L5"]
    assert reasons == ["fallback"] * 5 + ["not-in-top"] * 2


def test_row_30_one_layer_may_fall_back_and_another_not() -> None:
    files = agent() | remembered("paint the wall") | remembered("feed the cat", owner="teams/writers") | team(GOALS="x")
    context = build(files, topic="wall")
    assert outcomes(context, "L5") == {"agents/luna/memories/m.md": "included: fits"}
    assert outcomes(context, "L4") == {"teams/writers/memories/m.md": "included: fallback"}


@pytest.mark.parametrize("topic", ["", "  \n"])
def test_row_31_without_a_topic_the_newest_five_show_and_no_search_is_told(topic: str) -> None:
    bullets = [f"number {n} {{created={ago(n)}}}" for n in range(7)]
    context = build(agent() | remembered(*bullets[::-1]), topic=topic)
    own = [each for each in context.decisions if each.layer == "L5"]
    assert [each.reason.code for each in own] == ["fits"] * 5 + ["not-in-top"] * 2
    assert all(each.score == () for each in own)
    assert section(context, "Personal Memories").startswith("- [note] number 0\n- [note] number 1\n")


@pytest.mark.parametrize("topic", ["", "wall"])
@pytest.mark.parametrize("status", ["consolidated", "completed", "draft", "archived", "expired"])
def test_row_32_only_memories_that_count_are_shown(status: str, topic: str) -> None:
    files = agent() | remembered(
        f"the wall is old {{status={status}}}", "a wall {status=approved}", "my wall {status=active}", "the wall"
    )
    context = build(files, topic=topic)
    assert "old" not in context.text
    assert [dict(each.reason.facts) for each in context.decisions if each.reason.code == "status"] == [
        {"status": status}
    ]
    assert len(section(context, "Personal Memories").split("\n")) == 3


def test_row_32_a_superseded_memory_is_not_shown_and_says_by_whom() -> None:
    old = remembered("the wall is white {id=w1}", name="a")
    files = agent() | old | remembered("the wall is blue {id=w2 supersedes=w1}", name="b")
    context = build(files, topic="wall")
    assert outcomes(context, "L5")["agents/luna/memories/a.md"] == "excluded: superseded"
    assert shown("wall", "white wall {id=w1}", "blue wall {supersedes=w1 status=draft}") == ["white wall"]


def test_a_match_is_at_least_three_tenths_as_good_as_the_best() -> None:
    files = agent()
    for number, text in enumerate(("red green blue white", "green blue sea", "red car", "the sky")):
        files |= remembered(text, name=f"m{number}")
    context = build(files, topic="red green blue white")
    reasons = {each.path[-5:]: each.reason.code for each in context.decisions if each.layer == "L5"}
    assert reasons == {"m0.md": "fits", "m1.md": "fits", "m2.md": "no-match", "m3.md": "no-match"}


def test_importance_lifts_no_memory_that_is_out_of_reach() -> None:
    words = ["holder", "trimmer", "spare", "order", "length", "wax", "oil", "glove", "box", "drawer"]
    near = [f"lantern wick {word} {{importance=0}}" for word in words]
    far = f"lantern glass {{importance=1 created={DAY}}}"
    others = remembered(*(f"boat {number} is blue" for number in range(20)), name="boats")
    for candidates, is_shown in ((near, False), (near[1:], True)):
        context = build(agent() | others | remembered(far, *candidates), topic="lantern wick")
        assert ("lantern glass" in section(context, "Personal Memories")) == is_shown


# The example workspace: what a person would ask, and the memory that answers.


@pytest.mark.parametrize(("who", "topic", "expected"), rows("questions/memories"), ids=str)
def test_the_memory_that_answers_is_shown(who: str, topic: str, expected: str) -> None:
    request = LUNA if who == "luna" else ("-w", SAMPLE, "-a", "kenji", "-t", "platform")
    result = inside("build", "-q", *request, "--topic", topic)
    memories = re.findall(r"## (?:Team Knowledge|Personal Memories)\n(.*?)(?:\n\n|\Z)", result.out, re.DOTALL)
    assert [own for own in memories if expected in own], result.out


def test_topic_that_nothing_in_the_example_matches_falls_back() -> None:
    data = json.loads(inside("explain", *LUNA, "--topic", "mortgage refinancing", "--json").out)
    own = [each["reason"]["code"] for each in data["decisions"] if each["layer"] in {"L4", "L5"}]
    assert own.count("fallback") == 10
    assert "fits" not in own
    assert "nothing matches the topic" in inside("explain", *LUNA, "--topic", "mortgage refinancing").out


# The command.


def found(*words: str | Path) -> list[dict[str, Any]]:
    """What `ctxasm search --json` prints."""
    result = inside("search", *words, "--json")
    assert (result.code, result.err) == (0, "")
    hits: list[dict[str, Any]] = json.loads(result.out)["hits"]
    return hits


def test_search_has_the_scores_of_a_build() -> None:
    topic = "the foghorn at speech"
    data = json.loads(inside("explain", *LUNA, "--topic", topic, "--json").out)
    memories = [each for each in data["decisions"] if each["layer"] in {"L4", "L5"}]
    built = {each["fragment"]: each["score"] for each in memories if each["score"]}
    searched = {each["id"]: {**each["parts"], "total": each["score"]} for each in found(*LUNA, topic, "--top", "50")}
    assert searched == built
    assert len(built) > 1


def test_a_memory_of_a_later_day_takes_no_place_in_a_search(tmp_path: Path) -> None:
    later = f"## {ago(-6)}\n- lighthouse opening ceremony speech\n- lighthouse opening ceremony budget speech\n"
    files = {"agents/a/memories/z.md": "- the lighthouse keeper's budget is tight\n\n" + later}
    words = ("-w", fill(tmp_path, files), "-a", "a", "--date", DAY.isoformat(), "lighthouse opening ceremony speech")
    (hit,) = found(*words)
    assert (hit["line"], hit["parts"]["similarity"]) == (1, 1.0)
    nothing = inside("search", *words[:-1], "xylophone")
    assert (nothing.code, nothing.err) == (1, "ctxasm: none of 1 memories matches\n")


def test_search_gives_the_whole_memory() -> None:
    (first, *_) = found(*LUNA, "foghorn", "--top", "1")
    assert {key: first[key] for key in ("id", "path", "line", "type", "text")} == {
        "id": "harbor-foghorn",
        "path": "teams/q1/memories/decisions.md",
        "line": 32,
        "type": "decision",
        "text": "The foghorn is lowered from 9 to 4 decibels above speech and muffled inside the lamp room",
    }
    assert list(first["parts"]) == ["similarity", "importance", "recency"]
    line = (SAMPLE / first["path"]).read_text(encoding="utf-8").split("\n")[first["line"] - 1]
    assert first["text"] in line


def test_search_is_a_table_for_people() -> None:
    lines = inside("search", *LUNA, "lantern reflections", "--top", "2").out.split("\n")
    assert lines[0].split() == ["score", "similarity", "importance", "recency", "id", "where", "type", "text"]
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("words", "owners"),
    [
        pytest.param(("-a", "kenji"), {"agents/kenji"}, id="an agent"),
        pytest.param(("-t", "platform"), {"teams/platform"}, id="a team, without any agent"),
        pytest.param(("-a", "kenji", "-t", "platform"), {"agents/kenji", "teams/platform"}, id="both"),
        pytest.param(("--all",), {"agents/kenji", "teams/platform", "agents/luna", "teams/q1"}, id="all"),
    ],
)
def test_search_looks_where_it_is_told_to(words: tuple[str, ...], owners: set[str]) -> None:
    hits = found("-w", str(SAMPLE), *words, "saves save laptop lantern Teodor keys reports private", "--top", "99")
    assert {each["path"].split("/memories/")[0] for each in hits} <= owners
    if len(words) > 1:
        assert {each["path"].split("/memories/")[0] for each in hits} == owners


def test_search_all_finds_the_project_too(tmp_path: Path) -> None:
    fill(tmp_path, {"memories/2025.md": "- the wall is white\n", "agents/a/memories/x.md": "- the wall is blue\n"})
    hits = found("-w", tmp_path, "--all", "wall")
    assert [each["path"] for each in hits] == ["agents/a/memories/x.md", "memories/2025.md"]


def test_search_reads_the_text_from_standard_input() -> None:
    result = inside("search", *LUNA, "-", stdin="the foghorn\nand speech\n")
    assert (result.code, result.err) == (0, "")
    assert "harbor-foghorn" in result.out


def test_search_without_a_match_ends_with_1() -> None:
    result = inside("search", *LUNA, "xylophone")
    assert (result.code, result.out) == (1, "")
    assert re.fullmatch(r"ctxasm: none of \d+ memories matches\n", result.err)
    nothing = inside("search", *LUNA, "xylophone", "--json")
    assert (nothing.code, json.loads(nothing.out)["hits"]) == (1, [])


def test_search_in_a_workspace_without_memories_says_so(tmp_path: Path) -> None:
    result = inside("search", "-w", fill(tmp_path, {}), "wall")
    assert result == (1, "", "ctxasm: no memory to search was found\n")


def test_search_tells_of_files_that_can_not_be_read(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/a/memories/x.md": b"- caf\xe9\n", "agents/a/memories/y.md": "- the wall\n"})
    result = inside("search", "-w", tmp_path, "wall")
    assert result.code == 0
    assert "agents/a/memories/x.md" in result.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param((*LUNA, "  "), "blank", id="blank text"),
        pytest.param((*LUNA, "--all", "wall"), "--all", id="all and one"),
        pytest.param(("-w", str(SAMPLE), "-a", "lana", "wall"), "luna", id="unknown agent"),
        pytest.param(("-w", str(SAMPLE), "-t", "q2", "wall"), "q1", id="unknown team"),
        pytest.param(("-w", str(SAMPLE), "wall"), "luna", id="several agents"),
        pytest.param((*LUNA, "--top", "0", "wall"), "--top", id="none wanted"),
    ],
)
def test_search_refuses_what_it_can_not_do(words: tuple[str, ...], said: str) -> None:
    refused(inside("search", *words), said)
