"""Duplicates: which copy stays, what is left of a text of which a paragraph stands elsewhere, and who is named."""

from pathlib import Path
from typing import Any

import pytest

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
    shown = build(files, load_profile("brain", "", Path())).text
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


# --- Paragraphs ------------------------------------------------------------------------------------------------------


def test_paragraph_that_stands_in_a_text_and_a_memory_shows_once() -> None:
    files: dict[str, Content] = {"rules.md": f"# Rules\n\n{OTHER}\n\n{RULE}\n", "notes/m.md": f"- {RULE} {{id=m}}\n"}
    context = build(files, profile(text("rules"), memories("notes")))
    assert context.text.count(RULE) == 1
    assert outcomes(context) == {"rules.md": "included", "m": "merged"}


def test_text_is_shown_without_its_paragraph_that_stands_elsewhere() -> None:
    files: dict[str, Content] = {
        "first.md": f"{RULE}\n\n{OTHER}\n",
        "second.md": f"# Second\n\nBefore it stands this.\n\n{RULE}\n\nAfter it stands that.\n",
    }
    context = build(files, profile(text("first"), text("second")))
    assert context.text.endswith("## Second\n### Second\n\nBefore it stands this.\n\nAfter it stands that.\n")
    assert outcomes(context) == {
        "first.md": "included",
        "second.md": "included",
        "second.md:5": "merged",
        "second.md:7": "included",
    }


def test_heading_goes_with_its_only_paragraph() -> None:
    files: dict[str, Content] = {
        "first.md": f"{RULE}\n\n{OTHER}\n",
        "second.md": f"## Releases\n\n{RULE}\n\n## Boats\n\nThey are blue.\n",
    }
    assert build(files, profile(text("first"), text("second"))).text.endswith(
        "## Second\n### Boats\n\nThey are blue.\n"
    )


def test_text_all_of_whose_paragraphs_stand_elsewhere_is_left_out_whole() -> None:
    files: dict[str, Content] = {"first.md": f"{RULE}\n\n{OTHER}\n", "second.md": f"# Title\n\n{RULE}\n"}
    assert outcomes(build(files, profile(text("first"), text("second")))) == {
        "first.md": "included",
        "second.md": "merged",
    }


@pytest.mark.parametrize(
    "part", ["- Every release is tagged.\n- The gates open at six.", "```\nmake release now\n```", "Short."]
)
def test_list_items_code_and_a_few_words_are_never_taken_out_of_a_text(part: str) -> None:
    files: dict[str, Content] = {"first.md": f"{part}\n\n{OTHER}\n", "second.md": f"Another text.\n\n{part}\n"}
    assert build(files, profile(text("first"), text("second"))).text.count(part) == 2


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
    assert "stands for low/b.md:1, third/c.md:1" in words["high/a.md:1"]
    assert "the same as sure in high/a.md (content)" in words["low/b.md:1"]


def test_twin_in_a_paragraph_is_named_with_its_line() -> None:
    files: dict[str, Content] = {"rules.md": f"{OTHER}\n\n{RULE}\n", "notes/m.md": f"- {RULE} {{id=m}}\n"}
    _, rows, _ = decision_table(build(files, profile(text("rules"), memories("notes"))).decisions, every=True)
    words = {row[4]: row[5] for row in rows}
    assert "stands for notes/m.md:1" in words["rules.md:1"]
    assert "the same as line 3 of rules.md (content)" in words["notes/m.md:1"]


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
