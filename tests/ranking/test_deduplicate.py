"""Duplicates: which copy stays, what is left of a text of which sections stand elsewhere, and who is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.profiles.layers import with_layer_values
from contextasm.config.profiles.loader import load_profile
from contextasm.model import Context, Layer, Profile
from contextasm.rendering.tables import decision_table
from contextasm.selection.select import select
from tests import workspaces
from tests.workspaces import Content

RULE = "Every release is tagged by two people before the gates open."
OTHER = "Nothing else in this text is said anywhere but here."


def memories(layer: str, **values: Any) -> Layer:
    base = {"source": ("recent",), "path": (f"{layer}/*.md",), "item": "- {text}", "order": "best"}
    return with_layer_values(Layer(layer, (layer.title(),)), base | {"overflow": ("drop",)} | values)


def text(layer: str, **values: Any) -> Layer:
    base = {"source": ("document",), "path": (f"{layer}.md",), "overflow": ("truncate",)}
    return with_layer_values(Layer(layer, (layer.title(),)), base | values)


def profile(*layers: Layer, merge: tuple[str, ...] = ("content", "dedup")) -> Profile:
    return Profile("test", "", 16_000, "plain", layers, merge=merge)


def build(files: dict[str, Content], used: Profile, **fields: Any) -> Context:
    return workspaces.build(files, used, agent="", team="", **fields)


def outcomes(context: Context) -> dict[str, str]:
    return {decision.fragment: decision.outcome for decision in context.decisions}


# --- Which copy stays ------------------------------------------------------------------------------------------------


def test_surest_copy_stays_whatever_its_layer() -> None:
    files: dict[str, Content] = {
        "high/a.md": "- Less {id=less confidence=0.5 dedup=x}\n",
        "low/b.md": "- Sure {id=sure confidence=0.95 dedup=x}\n",
    }
    context = build(files, profile(memories("high"), memories("low")))
    assert outcomes(context) == {"less": "merged", "sure": "included"}


@pytest.mark.parametrize(("one", "other"), [("decisions", "conventions"), ("conventions", "decisions")])
def test_brief_of_the_brain_shows_the_surer_of_two_twins_alone(one: str, other: str) -> None:
    files: dict[str, Content] = {
        "PROJECT.md": "P\n",
        "memories/m.md": f"- Sure {{key=root/{one} confidence=0.95 dedup=a}}\n"
        f"- Less {{key=root/{other} confidence=0.5 dedup=a}}\n",
    }
    shown = build(files, dict(load_profile("brain", "", Path()).strategies)["brief"]).text
    assert ("## In Brief\n- Sure\n\n" in shown, "Less" in shown) == (True, False)


def test_required_copy_stays_beside_a_surer_one() -> None:
    files: dict[str, Content] = {
        "high/a.md": "- Same {id=sure confidence=1}\n",
        "low/b.md": "- Same {id=required confidence=0.1}\n",
    }
    context = build(files, profile(memories("high"), memories("low", required=True)))
    assert outcomes(context) == {"sure": "merged", "required": "included"}


def test_near_copy_that_is_surer_stays() -> None:
    files: dict[str, Content] = {
        "high/a.md": "- The ferry leaves the old harbour every morning at dawn {id=less confidence=0.2}\n",
        "low/b.md": "- The ferry leaves the old harbor every morning at dawn {id=sure confidence=0.9}\n",
    }
    context = build(files, profile(memories("high"), memories("low"), merge=("near",)))
    assert outcomes(context) == {"less": "merged", "sure": "included"}


@pytest.mark.parametrize("form", ["markdown", "chat-openai", "chat-anthropic"])
def test_equal_turns_are_all_shown(form: str) -> None:
    said = ["Delete the old pages?", "No.", "Ask Mia about every one of the new pages first?", "Yes."] * 2
    turns = [json.dumps({"type": "turn", "role": ("user", "assistant")[n % 2], "text": t}) for n, t in enumerate(said)]
    base = {"source": ("events",), "path": ("s.jsonl",), "item": "- {text}", "order": "best"}
    layer = with_layer_values(Layer("turns", ("Turns",)), base)
    files: dict[str, Content] = {"s.jsonl": "\n".join(turns), "notes/m.md": "- No. {confidence=1}\n"}
    used = profile(layer, memories("notes"), merge=("content", "dedup", "near"))
    context = build(files, used, format=form)
    assert [each.outcome for each in context.decisions if each.layer == "turns"] == ["included"] * len(said)


# --- Sections of texts -----------------------------------------------------------------------------------------------

CHECKLIST = "Each time, before you push:\n\n- Run the tests.\n- Ask Mia.\n\n```sh\nmake check\n```\n"
SETUP = "You need Python.\n\n### Linux\n\n- Use apt.\n\n### Windows\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
BOTH = f"# AGENTS.md\n\nOnly here.\n\n## Setup\n\n{SETUP}\n## Checklist\n\n{CHECKLIST}"


def shown_of_second(first: str, second: str) -> str:
    files: dict[str, Content] = {"first.md": first, "second.md": second}
    return build(files, profile(text("first"), text("second", headings="keep"))).text.partition("## Second\n")[2]


def test_paragraph_that_stands_in_a_text_and_a_memory_shows_once() -> None:
    files: dict[str, Content] = {"rules.md": f"# Rules\n\n{OTHER}\n\n{RULE}\n", "notes/m.md": f"- {RULE} {{id=m}}\n"}
    context = build(files, profile(text("rules"), memories("notes")))
    assert context.text.count(RULE) == 1
    assert outcomes(context) == {"rules.md": "included", "m": "merged"}


def test_sections_of_another_text_go_with_headings_lists_code_and_tables() -> None:
    second = f"# Rules for Gemini\n\nA note.\n\n## Setup\n\n{SETUP}\n## New\n\n- This.\n\n## Checklist\n\n{CHECKLIST}"
    assert shown_of_second(BOTH, second) == "# Rules for Gemini\n\nA note.\n\n## New\n\n- This.\n"
    assert shown_of_second(BOTH, f"# Checklist\n\n{CHECKLIST}") == ""
    assert shown_of_second(BOTH, BOTH.replace("# AGENTS.md\n\nOnly here.", "# CLAUDE.md")) == ""


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(f"# Claude Code\n\n## Checklist\n\n{CHECKLIST}\n- Sleep on it.\n", id="one item more"),
        pytest.param(f"# Claude Code\n\n## Never do this\n\n{CHECKLIST}", id="another heading"),
        pytest.param(
            f"# Claude Code\n\n## Old\n\n### Checklist\n\n{CHECKLIST}\n## End\n\nBye.\n", id="a heading above"
        ),
        pytest.param(
            f"# Claude Code\n\n## Setup\n\n{SETUP.replace('2', '3').replace('apt', 'dnf')}", id="another text below"
        ),
        pytest.param(
            f"# Claude Code\n\n## Checklist\n\n{CHECKLIST.replace('make check', 'make CHECK')}", id="other code"
        ),
        pytest.param("# AGENTS.md\n\nShort.\n\n## Setup\n\nNot that.\n", id="few words"),
    ],
)
def test_a_section_that_says_more_or_stands_elsewhere_is_shown_whole(second: str) -> None:
    assert shown_of_second(f"{BOTH}\n## Short\n\nShort.\n", second) == second


FENCE = "```py\nif dry_run:\n    log()\ndelete()\n```"
CHUNKS = (
    *("## Tests", "## Release", "Always do all of this:", "Never do any of this:", "Sleep a night over it."),
    *("- The tests of the day:", "- The gates that open:", "  - Ask two people.", "- Ask two people."),
    *(FENCE, FENCE.replace("delete", "    delete"), "  ```py\n  log()\n  ```"),
)
TITLES = st.sampled_from(["# CLAUDE.md", "# Cursor rules", "# Backend", "# Frontend"])


def lines_with_parents(written: str) -> set[tuple[str, ...]]:
    """Each line but headings with what it is under: headings, a line that ends in a colon, items less indented."""
    found, titles, items, lead, code = set[tuple[str, ...]](), list[str](), list[str](), "", ""
    for line in written.split("\n"):
        marks = len(line) - len(line.lstrip("#"))
        if marks and not code:
            above = [each for each in titles if each.index(" ") < marks]
            titles, items, lead = [*above, line.replace("CLAUDE.md", "Cursor rules")], [], ""
        elif line:
            indent = len(line) - len(line.lstrip())
            items = [each for each in items if code or len(each) - len(each.lstrip()) < indent]
            is_fence = line.lstrip().startswith("```")
            lead = lead if code or is_fence or line.lstrip().startswith("- ") else ""
            found.add((*titles, lead, *items, code, line))
            code = code + line if is_fence or code else ""
            code = "" if is_fence and code != line else code
            items += [line] if line.lstrip().startswith("- ") else []
            lead = line if line[0] not in " -`" else lead
    return found


@given(st.lists(st.sampled_from(CHUNKS), min_size=2, max_size=6), TITLES, TITLES, st.data())
def test_no_line_of_a_text_goes_that_is_not_elsewhere_under_the_same_lines(
    chunks: list[str], title: str, other_title: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(chunks) - 1))
    changed = st.sampled_from(CHUNKS).map(lambda chunk: [*chunks[:at], chunk, *chunks[at + 1 :]])
    fewer = st.sets(st.integers(0, 5)).map(lambda gone: [chunk for n, chunk in enumerate(chunks) if n not in gone])
    others = data.draw(st.one_of(st.permutations(chunks), changed, fewer))
    first, second = ("\n\n".join(each) + "\n" for each in ([title, *chunks], [other_title, *others]))
    assert lines_with_parents(second) <= lines_with_parents(first) | lines_with_parents(shown_of_second(first, second))


def test_a_section_shows_where_the_other_one_is_cut() -> None:
    files: dict[str, Content] = {"first.md": BOTH, "notes.md": f"## Checklist\n\n{CHECKLIST}"}
    context = build(files, profile(text("first", max_tokens=40), text("notes")))
    assert context.text.count("Ask Mia.") == context.text.count("make check") == 1
    assert outcomes(context) == {"first.md": "truncated", "notes.md": "included"}


def test_profile_that_merges_nothing_shows_every_copy() -> None:
    files: dict[str, Content] = {"first.md": f"{RULE}\n\n{OTHER}\n", "second.md": f"{RULE}\n"}
    assert build(files, profile(text("first"), text("second"), merge=())).text.count(RULE) == 2
    assert load_profile("default", "", Path()).merge == ()


# --- The next copy stands in -----------------------------------------------------------------------------------------

TWINS: dict[str, Content] = {
    "high/a.md": f"- {RULE} {{id=sure confidence=0.9}}\n",
    "low/b.md": f"- {RULE} {{id=less confidence=0.5}}\n",
    "third/c.md": f"- {RULE} {{id=least confidence=0.1}}\n",
}


def test_copy_without_room_is_replaced_by_the_next_one() -> None:
    layers = memories("high", max_tokens=5), memories("low"), memories("third")
    context = build(TWINS, profile(*layers))
    assert outcomes(context) == {"sure": "dropped", "less": "included", "least": "merged"}
    layers = memories("high", max_tokens=5), memories("low", max_tokens=5), memories("third")
    assert outcomes(build(TWINS, profile(*layers))) == {"sure": "dropped", "less": "dropped", "least": "included"}


def test_copy_beyond_the_top_is_replaced_by_the_next_one() -> None:
    files = TWINS | {"high/new.md": "- Newer {id=new created=2025-03-13}\n"}
    context = build(files, profile(memories("high", top=1), memories("low"), memories("third")))
    assert outcomes(context) == {"new": "included", "sure": "excluded", "less": "included", "least": "merged"}


def test_paragraph_that_is_cut_away_is_shown_elsewhere() -> None:
    files: dict[str, Content] = {"rules.md": f"{OTHER}\n\n{RULE}\n", "notes/m.md": f"- {RULE} {{id=m}}\n"}
    context = build(files, profile(text("rules", max_tokens=20), memories("notes")))
    assert outcomes(context) == {"rules.md": "truncated", "m": "included"}


# --- Provenance ------------------------------------------------------------------------------------------------------


def test_explain_names_the_twin_on_both_sides() -> None:
    context = build(TWINS, profile(memories("high"), memories("low"), memories("third")))
    _, rows, _ = decision_table(context.decisions, every=True)
    words = {row[4]: row[5] for row in rows}
    assert "in place of low/b.md:1, third/c.md:1" in words["high/a.md:1"]
    assert "the same as sure in high/a.md (content)" in words["low/b.md:1"]


def test_twin_in_a_paragraph_is_named_with_its_line() -> None:
    files: dict[str, Content] = {"rules.md": f"{OTHER}\n\n{RULE}\n", "notes/m.md": f"- {RULE} {{id=m}}\n"}
    _, rows, _ = decision_table(build(files, profile(text("rules"), memories("notes"))).decisions, every=True)
    words = {row[4]: row[5] for row in rows}
    assert "in place of notes/m.md:1" in words["rules.md:1"]
    assert "the same as in rules.md from line 1 on (content)" in words["notes/m.md:1"]


def test_many_copies_that_do_not_fit_are_tried_in_few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = []

    def count(*given: Any) -> Any:
        turns.append(given)
        return select(*given)

    monkeypatch.setattr("contextasm.pipeline.select", count)
    files: dict[str, Content] = {"m/a.md": "".join(f"- {RULE} {{id=m{n}}}\n" for n in range(100))}
    context = build(files, profile(memories("m")), budget=1)
    assert {*outcomes(context).values()} == {"dropped"}
    assert len(turns) < 20
