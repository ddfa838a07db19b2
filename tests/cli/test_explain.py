"""Nothing is lost in silence: every fragment has a decision, and every line of a file has a fate."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.resolve import prepare_build
from contextasm.model import Document
from contextasm.records.trace import trace_line
from contextasm.retrieval.retrieve import retrieve
from contextasm.text.markdown.blocks import list_mark
from contextasm.text.markdown.front_matter import attributes
from tests.command import LUNA, SAMPLE, fill, inside, lines_of

MARKER = "... [truncated]"

_TYPE = re.compile(r"\[[^\[\]()]+\][ \t]+")


def luna(budget: str = "16k") -> PreparedBuild:
    flags = Options(workspace=str(SAMPLE), agent="luna", team="q1", budget=budget)
    return prepare_build(flags, ProcessEnvironment({}, "/", lambda: 0.0))


@pytest.mark.parametrize("budget", ["0", "700", "2k", "4k", "16k"])
def test_every_fragment_has_one_decision(budget: str) -> None:
    job = luna(budget)
    found = retrieve(job.in_full)
    fragments = {(layer, fragment.id) for layer, each in found.items() for fragment in each.fragments}
    decisions = [(decision.layer, decision.fragment) for decision in job.run().decisions]
    assert len(decisions) == len(set(decisions))
    assert set(decisions) == fragments


@pytest.mark.parametrize("budget", ["700", "2k", "4k", "16k"])
def test_every_file_of_the_request_is_accounted_for(budget: str) -> None:
    context = luna(budget).run()
    told = {decision.path for decision in context.decisions}
    for folder in ("agents/luna", "teams/q1"):
        files = {path.relative_to(SAMPLE).as_posix() for path in (SAMPLE / folder).rglob("*.md")}
        assert files <= told


def test_table_has_a_row_for_every_decision_when_asked_for_all() -> None:
    rows = inside("explain", *LUNA, "-v").out.partition("\n\n")[0].split("\n")[1:]
    assert len(rows) == len(luna().run().decisions)
    assert [row.split()[0] for row in rows] == sorted(row.split()[0] for row in rows)


def test_table_folds_logs_that_were_never_opened() -> None:
    folded, every = inside("explain", *LUNA).out, inside("explain", *LUNA, "-v").out
    decisions = luna().run().decisions
    unopened = [decision for decision in decisions if decision.lines == (0, 0)]
    counts = [int(found[1]) for found in re.finditer(r"(\d+) files: older than the 7 days", folded)]
    assert len(unopened) > 5
    assert sum(counts) == len(unopened)
    rows = [int(found[1]) for found in re.finditer(r"(\d+) (?:files: older|fragments: )", folded)]
    assert folded.count("\n") == every.count("\n") - sum(rows) + len(rows)
    assert unopened[0].path not in folded or ".." in folded
    assert all(decision.path in every for decision in unopened)


def bare(line: str) -> str:
    """A line without what a memory does not show of it: list mark, type and attributes."""
    text = attributes(line)[0]
    text = text[list_mark(text) :]
    return _TYPE.sub("", text, count=1).strip() if _TYPE.match(text) else text.strip()


def sample_lines(seed: int, count: int) -> list[tuple[str, int]]:
    files = sorted(path for path in SAMPLE.rglob("*.md"))
    every = [(file.relative_to(SAMPLE).as_posix(), n) for file in files for n, _ in enumerate(lines_of(file)[:-1], 1)]
    return Random(seed).sample(every, count)


@pytest.mark.parametrize("budget", ["1200", "2500", "16k"])
def test_fate_of_a_line_agrees_with_the_document(budget: str) -> None:
    job = luna(budget)
    context = job.run()
    # A heading stands below that of its section: its marks are more than in the file.
    lines = {bare(line) for line in context.text.split("\n")}
    shown = {line.lstrip("# ") for line in lines}
    wrong = []
    for path, number in sample_lines(14, 200):
        text = bare(lines_of(SAMPLE / path)[number - 1])
        words = text.lstrip("# ")
        if len(text) < 12 or words == "Postcards" or not words.strip("0123456789-"):
            continue  # a blank line, a rule or a heading of two logs may well stand there for another reason
        fate = trace_line(job.workspace, context, path, number)
        cut = any(len(line) > 11 and text.startswith(line) for line in lines)
        if fate.shown != (words in shown or cut):
            wrong.append((path, number, fate.shown, text))
    assert wrong == []


def test_fate_of_every_line_is_told() -> None:
    job = luna("2500")
    context = job.run()
    for file in sorted(SAMPLE.rglob("*.md")):
        path = file.relative_to(SAMPLE).as_posix()
        for number, _ in enumerate(lines_of(file)[:-1], 1):
            fate = trace_line(job.workspace, context, path, number)
            assert fate.layer or not fate.shown
            assert fate.reason


def test_kept_lines_of_every_decision_are_lines_of_the_file() -> None:
    job = luna("2500")
    for decision in job.run().decisions:
        document = job.workspace.read(decision.path)
        assert isinstance(document, Document)
        last = document.line + document.text.count("\n")
        flat = [line for span in decision.kept for line in span]
        assert flat == sorted(flat)
        assert not flat or (decision.lines[0] <= flat[0] and flat[-1] <= min(decision.lines[1], last))
        assert bool(flat) == (decision.outcome in {"included", "truncated"})


def test_path_of_a_line_may_be_taken_from_the_current_folder() -> None:
    result = inside("explain", "-a", "luna", "--line", "IDENTITY.md:1", cwd=SAMPLE / "agents/luna")
    assert (result.code, result.out[:6]) == (0, "in L1 ")


def test_last_lines_of_a_cut_file_are_told_to_be_out() -> None:
    lines = lines_of(SAMPLE / "agents/luna/KNOWLEDGE.md")
    cut = (*LUNA, "--layer", "L7=1000")
    assert inside("explain", *cut, "--line", f"agents/luna/KNOWLEDGE.md:{len(lines) - 1}").out.startswith("out L7 ")
    assert inside("explain", *cut, "--line", "agents/luna/KNOWLEDGE.md:1").out.startswith("in L7 ")
    assert MARKER in inside("build", *cut).out


def test_a_heading_that_is_above_what_is_shown_is_in(tmp_path: Path) -> None:
    page = "# Page\n\nIntro.\n\n## Refunds\n\nLedger refunds go here.\n\n## Other\n\nNo match.\n"
    fill(tmp_path, {"knowledge/p.md": page, "ctxasm.yaml": ""}, base={})
    at = ("-w", tmp_path, "-p", "query", "--topic", "refunds")
    assert "### Page / Refunds\nLedger refunds go here." in inside("build", *at).out
    told = {line: inside("explain", *at, "--line", f"knowledge/p.md:{line}").out for line in (1, 3, 5, 7, 9, 11)}
    shown = [line for line, words in told.items() if words.startswith("in semantic included")]
    assert shown == [1, 5, 7]
    assert told[9] == "out semantic belongs to no fragment of this layer\n"
