"""Source `log-search`: lines of all logs that match the topic, under their days."""

import gzip
import zlib
from pathlib import Path

import pytest

from contextasm.config.profiles.layers import in_scope
from contextasm.config.profiles.loader import load_profile
from contextasm.model import MAX_FILE, Context
from tests.command import fill, inside
from tests.workspaces import DAY, Content, agent, ago, build, codes, limited, log, section

OLD = ago(100)
HARBOUR = "# Day\n\n- We ate soup\n- The harbour was dredged\n\nKenji saw it. Nobody else did.\n"


def archived(name: str, content: bytes) -> dict[str, Content]:
    """A compressed log of agent luna, in the folder of those that were set aside."""
    return {f"agents/luna/daily/archive/2024/{name}.md.gz": content}


def related(context: Context) -> str:
    """What is shown of logs by topic."""
    return section(context, "Related Activity")


def test_lines_of_any_day_are_shown_under_it_in_the_order_of_the_file() -> None:
    files = agent() | log(OLD, "- Nothing\n- harbour one\n- Anything\n- harbour two\n- a\n- b\n- c\n- d\n- e\n")
    context = build(files, topic="harbour")
    lines = related(context).split("\n")
    assert lines[0] == f"### {OLD}"
    assert lines.index("- harbour one") < lines.index("- harbour two")
    assert "- e" not in lines


@pytest.mark.parametrize("topic", ["lighthouse", "foghorn"])
def test_a_list_item_is_shown_with_the_items_below_it_and_they_with_it(topic: str) -> None:
    item = "- Plan for the lighthouse\n  - Start at nine\n  - Call Kenji about the foghorn\n    - His number\n"
    context = build(agent() | log(OLD, f"{item}- Bread\n- Soup\n"), topic=topic)
    assert related(context).startswith(f"### {OLD}\n{item}")


def test_nothing_is_there_without_a_topic() -> None:
    context = build(agent() | log(OLD, HARBOUR))
    assert "harbour" not in context.text
    assert "related" not in {usage.layer for usage in context.allowances}


def test_archived_log_is_searched_and_not_shown_as_recent() -> None:
    files = agent() | archived(str(ago(1)), gzip.compress(b"- The harbour was dredged\n"))
    files["agents/luna/daily/archive/2025-03-12.md"] = "- The harbour was paid\n"
    context = build(files, topic="harbour")
    assert related(context) == f"### {ago(1)}\n- The harbour was dredged\n\n### 2025-03-12\n- The harbour was paid"
    assert "harbour" not in build(files).text


def test_gzip_file_of_several_members_is_read_whole() -> None:
    data = gzip.compress(b"- The harbour\n") + gzip.compress(b"- Its harbour master\n") + b"\0" * 9000
    assert related(build(agent() | archived(str(OLD), data), topic="harbour")).count("harbour") == 2


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(gzip.compress(b"- The harbour\n" * 50)[:-12], "not-text", id="cut off"),
        pytest.param(b"- The harbour\n", "not-text", id="not compressed"),
        pytest.param(gzip.compress(b"\xff\xfe\xff"), "not-text", id="no text"),
    ],
)
def test_damaged_archive_is_a_problem_and_the_rest_is_searched(data: bytes, code: str) -> None:
    context = build(agent() | log(OLD, HARBOUR) | archived("2024-01-01", data), topic="harbour")
    assert code in codes(context)
    assert "The harbour was dredged" in related(context)


def test_gzip_bomb_is_not_read() -> None:
    packer = zlib.compressobj(wbits=31)
    data = b"".join(packer.compress(b"\0" * 1_000_000) for _ in range(MAX_FILE // 1_000_000 + 1)) + packer.flush()
    context = build(agent() | archived("2024-01-01", data), topic="harbour")
    assert "too-large" in codes(context)


def test_log_of_a_later_day_is_left_out() -> None:
    context = build(agent() | log(ago(-1), HARBOUR), topic="harbour")
    assert "dredged" not in context.text
    assert [each.reason.code for each in context.decisions if each.layer == "related"] == ["future"]


def test_each_line_has_its_place_and_its_score() -> None:
    context = build(agent() | log(OLD, HARBOUR), topic="harbour")
    (decision,) = (each for each in context.decisions if each.lines == (4, 4))
    assert (decision.outcome, decision.layer) == ("included", "related")
    assert dict(decision.score) == {"similarity": 1.0, "total": 1.0}


@pytest.mark.parametrize("others", [5, 1500], ids=["read", "stored"])
def test_a_long_line_loses_to_a_short_one_and_a_long_memory_wins_by_its_matches(others: int) -> None:
    lines = (
        "- The harbour was dredged",
        "- The harbour " + "with many boats at its old quays " * 5 + "has a harbour master",
    )
    soup = "\n".join(f"- soup {number} {'cooked slowly ' * 4}" for number in range(others))
    files = agent() | log(OLD, f"{lines[0]}\n\n{soup}\n\n{lines[1]}\n")
    files["agents/luna/memories/facts.md"] = f"{lines[0]}\n{lines[1]}\n{soup}\n"
    context = build(files, topic="harbour")
    scored = [(each.layer, each.lines[0]) for each in context.decisions if dict(each.score).get("similarity") == 1.0]
    assert scored == [("related", 1), ("L5", 2)]


def test_lines_below_a_heading_share_its_matches_and_are_shown_under_it() -> None:
    text = "## Harbour\n\n- It was dredged\n- Paid\n\n" + "\n\n".join(f"## Part {n}\n\n- Soup {n}" for n in range(9))
    shown = related(build(agent() | log(OLD, text), topic="harbour"))
    assert "- It was dredged" in shown
    assert f"### {OLD}: Harbour\n- It was dredged" in shown
    assert "Soup 5" not in shown


def test_many_lines_are_counted() -> None:
    files = agent() | log(
        OLD, "\n".join([f"- The harbour {n}" for n in range(20)] + [f"- soup {n}" for n in range(1500)])
    )
    context = build(files, limited(related={"max_candidates": 5}), topic="harbour")
    own = [each for each in context.decisions if each.layer == "related"]
    counts = {each.reason.code: dict(each.reason.facts)["count"] for each in own if each.lines == (0, 0)}
    assert set(counts) == {"no-match", "not-in-pool"}
    assert len(own) == 5 + len(counts)
    assert sum(map(int, counts.values())) == 1515


def test_equal_lines_of_a_day_are_one() -> None:
    text = "- The harbour was dredged\n"
    files = agent() | log(OLD, text * 3) | archived(str(OLD), gzip.compress(text.encode()))
    files[f"agents/luna/daily/archive/{OLD}.md"] = text
    context = build(files, topic="harbour")
    assert related(context).count("dredged") == 1
    kept = f"agents/luna/daily/{OLD}.md"
    facts = [dict(each.reason.facts) for each in context.decisions if each.reason.code == "merged"]
    assert [fact["path"] for fact in facts] == [kept] * 4
    assert (
        build(log(DAY, text) | archived(str(DAY), gzip.compress(text.encode())) | agent(), topic="harbour").text.count(
            "dredged"
        )
        == 1
    )


def test_equal_lines_of_several_days_are_the_newest_unless_the_topic_names_a_date() -> None:
    days = [OLD, ago(90), ago(80)]
    files = agent()
    for day in days:
        files |= log(day, "- The harbour was dredged\n")
    context = build(files, topic="harbour")
    assert related(context) == f"### {ago(80)}\n- The harbour was dredged"
    merged = [dict(each.reason.facts) for each in context.decisions if each.reason.code == "merged"]
    assert [facts["path"] for facts in merged] == [f"agents/luna/daily/{ago(80)}.md"] * 2
    assert related(build(files, topic=f"harbour on {OLD}")) == f"### {OLD}\n- The harbour was dredged"


def test_copies_take_no_place_from_other_lines() -> None:
    files = agent() | log(OLD, "- harbour\n" * 3000 + "- The harbour was paid for by the town\n")
    context = build(files, limited(related={"max_candidates": 2}), topic="harbour")
    assert related(context) == f"### {OLD}\n- harbour\n- The harbour was paid for by the town"
    counts = {each.reason.code: dict(each.reason.facts) for each in context.decisions if each.lines == (0, 0)}
    assert counts["merged"]["count"] == 2999


def test_long_log_is_searched_in_its_beginning() -> None:
    files = agent() | log(OLD, "- The harbour was dredged\n" + "\n" * 20_000 + "- The harbour was paid\n")
    context = build(files, topic="harbour")
    assert related(context) == f"### {OLD}\n- The harbour was dredged"
    assert [(each.code, each.line) for each in context.problems if each.code == "too-large"] == [("too-large", 20_001)]
    assert "too-large" not in codes(build(agent() | log(OLD, "- The harbour\n" + "\n" * 30_000), topic="harbour"))


@pytest.mark.parametrize("topic", ["lamp", "lamps", "lapm"])
def test_a_line_that_only_stands_beside_a_match_says_so(topic: str) -> None:
    files = agent() | log(OLD, "- The lamp is green\n- We had soup\n- Rope\n- Boats\n- Tar\n")
    decisions = build(files, topic=topic).decisions
    reasons = {each.lines[0]: each.reason.code for each in decisions if each.layer == "related"}
    assert (reasons[1], reasons[2]) == ("fits", "beside")


def test_rows_are_shown_with_the_head_of_their_table_and_within_their_fence() -> None:
    table = "| Place | State |\n|---|---|\n| harbour | dredged |\n| {} | open |\n"
    text = f"{table.format('quay')}\n{table.format('mill').replace('State', 'Cost')}\n```sh\nls\n  rm harbour\n```\n"
    context = build(agent() | log(OLD, text), limited(related={"min_match": 0.9}), topic="harbour")
    assert related(context).split("\n- ")[1:] == [
        "| Place | State |\n  |---|---|\n  | harbour | dredged |",
        "| Place | Cost |\n  |---|---|\n  | harbour | dredged |",
        "```sh\n    rm harbour\n  ```",
    ]
    assert sorted(
        each.lines for each in context.decisions if (each.layer, each.outcome) == ("related", "included")
    ) == [(3, 3), (8, 8), (13, 13)]


def test_row_that_recent_activity_shows_is_not_shown_again() -> None:
    text = "| Place |\n|---|\n| harbour |\n"
    context = build(agent() | log(ago(1), text), topic="harbour")
    assert context.text.count("harbour") == 1


OPENCLAW = load_profile("openclaw", "tests", Path())


def test_lines_of_the_file_of_memories_answer_under_its_name_except_for_ones_that_do_not_hold() -> None:
    files = {
        "SOUL.md": "Be kind.",
        "MEMORY.md": "- The harbour is deep\n- [fact] harbour shut\n  - inner harbour {id=a status=superseded}\n"
        "- [fact] harbour master {id=b writer=mcp}\n"
        "\n## Fees\n\n- The harbour is dear\n",
        f"memory/{OLD}.md": "- The harbour was dredged\n- The harbour is dear\n",
    }
    assert "Related Notes" not in build({"MEMORY.md": files["MEMORY.md"]}, OPENCLAW, topic="harbour").text
    searched = OPENCLAW._replace(layers=in_scope(OPENCLAW.layers, "recent,related"))
    context = build(files, searched, topic="harbour")
    assert section(context, "Related Notes").split("\n") == [
        *(
            f"### {OLD}",
            "- The harbour was dredged",
            "- The harbour is dear",
            "",
            "### MEMORY.md",
            "- The harbour is deep",
        )
    ]
    assert not codes(context)
    assert not codes(build({"SOUL.md": "Be kind."}, OPENCLAW, topic="harbour"))


def test_a_note_without_a_date_answers_under_its_name() -> None:
    files = {"SOUL.md": "Be kind.", "memory/ports.md": "- The harbour listens on 3002\n", "memory/a.json": '"harbour"'}
    notes = {f"memory/{OLD}.md": "- The harbour was dredged\n", "memory/2025-13-40.md": "- No harbour\n"}
    context = build({**files, **notes}, OPENCLAW, topic="harbour")
    assert section(context, "Related Notes").split("\n") == [
        *(f"### {OLD}", "- The harbour was dredged", "", "### memory/ports.md", "- The harbour listens on 3002"),
    ]
    assert codes(context) == ["bad-log-name"]
    assert "3002" not in build(files, OPENCLAW).text


def test_the_index_has_rows_and_the_file_of_memories(tmp_path: Path) -> None:
    row = "| {} |\n|---|\n| harbour {} |\n\n```\nharbour row {}\n```\n\n"
    text = "".join(row.format(n, n, n) for n in range(600))
    root = fill(tmp_path / "w", {"SOUL.md": "Be kind.", "MEMORY.md": "- deep harbour 7\n", f"memory/{OLD}.md": text})
    line = (
        "build",
        "-w",
        root,
        "-p",
        "openclaw",
        "--date",
        str(DAY),
        "--topic",
        "deep harbour 7",
        "--scope",
        "related",
    )
    bare, *others = (inside(*line, env={"XDG_CACHE_HOME": str(tmp_path / "c"), **env}) for env in (NO_CACHE, {}, {}))
    assert others == [bare, bare]
    assert [*tmp_path.rglob("*.sqlite")]
    assert all(words in bare.out for words in ("### MEMORY.md", "  | harbour 7 |", "  harbour row 7\n  ```"))


NO_CACHE = {"CTXASM_NO_CACHE": "1"}
