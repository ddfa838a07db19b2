"""Levels of detail, and the ladder's steps that shorten: `detail` and `summarize`."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.profiles.layers import with_layer_values
from contextasm.model import Build, Context, Layer, Overflow, Problem, Profile, Query, Summarizer
from contextasm.pipeline import assemble
from contextasm.selection.sections import LEVELS, at_detail, detail_levels
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.markdown.blocks import heading
from contextasm.text.markdown.outline import nest
from tests.command import ends, fill, inside
from tests.workspaces import BLOCKS, OPEN_FENCES, Content, Files, budgets, codes, memory_files, request

PAGE = """# Title

The first paragraph has one sentence. And a second,
e.g. this one, over two lines.

## Part

- An item. It goes on.
  - A nested one! And more.
- Version 1.5 is no end of a sentence, nor is Dr. Who.

```python
print("a. b")
```

日本語の文。もう一つ。"""

MICRO = """# Title

The first paragraph has one sentence.

## Part

- An item.
  - A nested one!
- Version 1.5 is no end of a sentence, nor is Dr. Who.

日本語の文。"""

MACRO = """# Title

The first paragraph has one sentence. And a second,
e.g. this one, over two lines."""

documents = (
    st.lists(st.sampled_from((*BLOCKS, *OPEN_FENCES)), min_size=1, max_size=8)
    .map("\n\n".join)
    .map(str.strip)
    .filter(bool)
)


def test_levels_of_a_page_are_what_they_are_called() -> None:
    assert at_detail(PAGE, "atomic").text == PAGE
    assert at_detail(PAGE, "micro").text == MICRO
    assert at_detail(PAGE, "macro").text == MACRO


@pytest.mark.parametrize(
    "text", ["Short.", "```\ncode\n```", "| a | b |\n|---|---|\n| 1 | 2 |", "- [note] one sentence"]
)
def test_text_without_anything_to_spare_has_one_level(text: str) -> None:
    assert [form.text for form in detail_levels(text)] == [text]


@given(documents)
def test_row_91_macro_is_no_longer_than_micro_and_micro_than_the_whole(text: str) -> None:
    atomic, micro, macro = (at_detail(text, level) for level in LEVELS)
    assert ESTIMATE.units(macro.text) <= ESTIMATE.units(micro.text) <= ESTIMATE.units(atomic.text)
    lines = text.split("\n")
    for form in (micro, macro):
        shown = [line for line in form.text.split("\n") if line.strip()]
        assert len(shown) == len(form.lines)
        assert [*form.lines] == sorted(set(form.lines))
        assert all(lines[n].startswith(line) for n, line in zip(form.lines, shown, strict=True))
        assert any(line.strip() for line in shown)


def notes(*texts: str) -> dict[str, Content]:
    """Memories of one list, the first being the newest and so the most valuable."""
    lines = [f"- [note] {text} {{id=m{n} created=2025-02-{28 - n:02}}}" for n, text in enumerate(texts, 1)]
    return {"memories/a.md": "\n".join(lines) + "\n"}


def profile(budget: int = 16_000, fill_to: float = 0, **layer: Any) -> Profile:
    values = {
        "source": ("recent",),
        "path": ("memories/*.md",),
        "item": "- [{type}] {text}",
        "order": "best",
        **layer,
    }
    notes = with_layer_values(Layer("N", ("Notes",)), values)
    return Profile("notes", "", budget, "plain", (notes,), fill=fill_to)


def build(files: Mapping[str, Content], own: Profile, budget: int, summarizer: Summarizer | None = None) -> Context:
    return assemble(Build(Files(files), own, request(budget=budget), ESTIMATE, summarizer=summarizer))


def outcomes(context: Context) -> dict[str, str]:
    return {each.fragment: each.outcome for each in context.decisions}


LONG = "One sentence. " + "Another sentence that says more of it. " * 5


def test_row_60_detail_takes_the_least_valuable_first_and_stops_when_all_fit() -> None:
    files = notes(LONG, LONG, LONG)
    assert outcomes(build(files, profile(overflow=("detail",)), 124)) == {
        "m1": "included",
        "m2": "included",
        "m3": "shortened",
    }
    context = build(files, profile(overflow=("detail",)), 74)
    assert outcomes(context) == {"m1": "included", "m2": "shortened", "m3": "shortened"}
    assert context.text.count("- [note] One sentence.\n") == 2
    assert context.tokens <= 74
    assert context.truncated
    assert all(each.tokens_after <= (each.tokens_before or 0) for each in context.decisions)
    assert {each.reason.code for each in context.decisions} == {"fits", "detail"}


def test_detail_behind_drop_brings_back_what_was_dropped() -> None:
    files = notes(LONG, LONG, LONG)
    context = build(files, profile(overflow=("drop", "detail")), 90)
    assert outcomes(context) == {"m1": "included", "m2": "shortened", "m3": "shortened"}
    assert outcomes(build(files, profile(overflow=("drop",)), 90)) == {
        "m1": "included",
        "m2": "dropped",
        "m3": "dropped",
    }


def test_row_82_ladder_drops_before_it_shortens_and_shortens_before_it_cuts() -> None:
    ladder = ("drop", "detail", "truncate")
    assert outcomes(build(notes("Small.", LONG), profile(overflow=ladder), 17)) == {"m1": "included", "m2": "shortened"}
    assert outcomes(build(notes("Small.", LONG), profile(overflow=ladder), 50)) == {"m1": "included", "m2": "truncated"}
    long_sentence = "word " * 60
    assert outcomes(build(notes(long_sentence), profile(overflow=ladder), 40)) == {"m1": "truncated"}


def test_row_92_adaptive_takes_the_fullest_level_that_fits() -> None:
    files = notes(LONG, LONG, "Small.")
    context = build(files, profile(detail="adaptive"), 80)
    assert outcomes(context) == {"m1": "included", "m2": "shortened", "m3": "included"}


def test_layer_shows_its_level_of_detail_even_where_more_would_fit() -> None:
    context = build(notes(LONG), profile(detail="micro"), 16_000)
    assert [(each.outcome, each.reason.code) for each in context.decisions] == [("shortened", "level")]
    assert context.text == "## Notes\n- [note] One sentence.\n... [truncated]\n"


@given(files=memory_files, budget=budgets, level=st.sampled_from(("macro", "micro", "adaptive")))
def test_row_93_detail_is_added_up_to_90_per_cent_and_never_past_the_budget(
    files: Mapping[str, str], budget: int, level: str
) -> None:
    workspace: dict[str, Content] = {f"memories/{name}.md": text for name, text in files.items()}
    bare = build(workspace, profile(detail=level, overflow=("drop",)), budget)
    filled = build(workspace, profile(detail=level, overflow=("drop",), fill_to=90.0), budget)
    assert bare.tokens <= filled.tokens <= budget or not filled.text
    assert all(
        one.tokens_after <= other.tokens_after for one, other in zip(bare.decisions, filled.decisions, strict=True)
    )
    if filled.tokens < budget * 0.9 - 1:
        room = budget - filled.tokens
        for each in filled.decisions:
            assert each.outcome != "shortened" or (each.tokens_before or 0) - each.tokens_after >= room - 2


def test_fill_stops_at_90_per_cent() -> None:
    files = notes(*[LONG] * 6)
    context = build(files, profile(detail="micro", fill_to=90.0), 200)
    assert context.decisions[0].outcome == "included"
    assert "shortened" in outcomes(context).values()
    assert 150 <= context.tokens <= 200


def test_summary_is_shown_only_where_it_is_shorter() -> None:
    files = notes(LONG, LONG)
    short = build(files, profile(overflow=("summarize", "drop")), 90, lambda text: text[:3])
    assert outcomes(short) == {"m1": "included", "m2": "shortened"}
    assert "- [note] One" in short.text
    assert [each.reason.code for each in short.decisions] == ["fits", "summarized"]
    longer = build(files, profile(overflow=("summarize", "drop")), 90, lambda text: text + "!")
    assert outcomes(longer) == {"m1": "included", "m2": "dropped"}


def test_summarizer_that_fails_is_a_problem_and_the_next_step_is_taken() -> None:
    problem = Problem("summarizer", "ctxasm.yaml", 1, "is out of order")
    context = build(notes(LONG, LONG), profile(overflow=("summarize", "drop")), 90, lambda _text: problem)
    assert outcomes(context) == {"m1": "included", "m2": "dropped"}
    assert codes(context) == ["summarizer"]
    assert outcomes(build(notes(LONG, LONG), profile(overflow=("summarize", "drop")), 90)) == {
        "m1": "included",
        "m2": "dropped",
    }


def test_shortened_document_is_a_whole_level_and_not_a_cut() -> None:
    page = Layer(
        "P",
        ("Page",),
        query=Query(sources=("document",), paths=("page.md",)),
        overflow=Overflow(steps=("detail", "truncate")),
    )
    own = Profile("page", "", 0, "plain", (page,))
    context = build({"page.md": PAGE}, own, 50)
    micro, macro = nest(MICRO, 2)[0], nest(MACRO, 2)[0]
    assert context.text == f"## Page\n{micro}\n... [truncated]\n"
    assert [title for line in micro.split("\n") if (title := heading(line))] == [(3, "Title"), (4, "Part")]
    assert build({"page.md": PAGE}, own, 30).text == f"## Page\n{macro}\n... [truncated]\n"
    assert build({"page.md": PAGE}, own, 14).truncated


# The command, as a process.

YAML = """summarizer:
  command: [sh, -c, "cat >> asked; echo In short."]
layers:
  - id: L5
    max_tokens: 30
    overflow: [summarize, drop]
"""


def workspace(root: Path, yaml: str) -> Path:
    lines = "".join(f"- [note] {LONG} {{created=2025-03-{n:02}}}\n" for n in (12, 11))
    return fill(root, {"ctxasm.yaml": yaml, "agents/a/memories/a.md": lines})


def run(root: Path, *, allowed: bool, cache: Path) -> Any:
    env = {"XDG_CACHE_HOME": str(cache)}
    if allowed:
        env["CTXASM_TRUST"] = os.path.realpath(root)
    return inside("build", "--date", "2025-03-14", cwd=root, env=env)


def test_command_of_a_workspace_is_run_only_where_the_person_has_named_the_workspace(tmp_path: Path) -> None:
    root = workspace(tmp_path / "w", YAML)
    refused = run(root, allowed=False, cache=tmp_path / "c")
    assert refused.code == 0
    assert "In short." not in refused.out
    assert f"to trust this workspace, set CTXASM_TRUST={os.path.realpath(root)} [" in refused.err
    assert not (root / "asked").exists()
    done = run(root, allowed=True, cache=tmp_path / "c")
    assert done.code == 0
    assert done.out.count("- [note] In short.\n") == 2


def test_summaries_are_remembered_by_their_text(tmp_path: Path) -> None:
    root = workspace(tmp_path / "w", YAML)
    first = run(root, allowed=True, cache=tmp_path / "c")
    asked = (root / "asked").read_text()
    assert run(root, allowed=True, cache=tmp_path / "c").out == first.out
    assert (root / "asked").read_text() == asked


def test_words_of_a_summarizer_are_as_clean_as_a_file(tmp_path: Path) -> None:
    token = "ghp_" + "a8Kd93jfLq02mZx7Tb5Vc1Yw6Re4Su9Pn0Qi"
    root = workspace(tmp_path / "w", YAML.replace("cat >> asked; echo In short.", "cat words"))
    (root / "words").write_text(f"In short\u202e \x1b[31m {token} <!-- open\n", encoding="utf-8")
    done = run(root, allowed=True, cache=tmp_path / "c")
    assert "In short" in done.out
    assert not {"\u202e", "\x1b"} & {*done.out}
    assert token not in done.out
    assert token.encode() not in b"".join(file.read_bytes() for file in (tmp_path / "c").rglob("*") if file.is_file())


def test_child_that_a_command_leaves_behind_is_killed_and_not_waited_for(tmp_path: Path) -> None:
    yaml = YAML.replace("cat >> asked; echo In short.", "sleep 600 & echo $! > pid; echo In short.")
    root = workspace(tmp_path / "w", yaml)
    assert run(root, allowed=True, cache=tmp_path / "c").out.count("- [note] In short.\n") == 2
    assert ends(int((root / "pid").read_text()))


@pytest.mark.parametrize(
    ("command", "what"),
    [
        pytest.param("[sleep, '60']\n  timeout: 0.2", "took longer than 0.2 s", id="too slow"),
        pytest.param("[sh, -c, 'exit 3']", "exit code 3", id="failing"),
        pytest.param("[no-such-program]", "can't be run", id="not there"),
        pytest.param("'true'", "printed nothing", id="silent"),
        pytest.param("'yes'", "gave an endless output", id="endless"),
        pytest.param("[sh, -c, 'echo no model here >&2; exit 1']", "exit code 1 (no model here)", id="telling why"),
        pytest.param("[printf, '\\377']", "not UTF-8: byte 0", id="no text"),
    ],
)
def test_command_that_fails_is_a_warning(tmp_path: Path, command: str, what: str) -> None:
    root = workspace(tmp_path / "w", YAML.replace('[sh, -c, "cat >> asked; echo In short."]', command))
    done = run(root, allowed=True, cache=tmp_path / "c")
    assert done.code == 0
    assert what in done.err
    assert "In short." not in done.out
