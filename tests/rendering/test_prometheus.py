"""Metrics as a Prometheus text file, read back with the official parser."""

import math
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from contextasm.rendering.prometheus import Series, exposition
from contextasm.upkeep.actions import Action
from contextasm.upkeep.plan import upkeep_series
from contextasm.workspace.editing.memory_file import Edit
from tests.command import LUNA, fill, inside, refused

NAMED = {
    "memory_assembly_duration_seconds": "gauge",
    "memory_coherence_score": "gauge",
    "memory_cache_hit_ratio": "gauge",
    "memory_source_latency": "gauge",
    "memory_source_errors": "counter",  # the parser leaves `_total` off
}
"""The series of the digest (section 4), with their types."""


def families(text: str) -> Mapping[str, Metric]:
    """The metrics of a file, by name; each stands there once."""
    parsed = [*text_string_to_metric_families(text)]
    assert len({family.name for family in parsed}) == len(parsed)
    return {family.name: family for family in parsed}


def values(text: str, name: str, label: str = "") -> dict[str, float]:
    return {sample.labels.get(label, ""): sample.value for sample in families(text)[name].samples}


def metrics(*words: str | Path, cwd: Path | str = "/", env: Mapping[str, str] | None = None) -> str:
    result = inside("build", "-q", *words, "-o", "/dev/null", "--metrics", "-", cwd=cwd, env=env)
    assert result.code == 0, result.err
    return result.out


def test_row_105_a_metrics_file_carries_the_five_named_series(tmp_path: Path) -> None:
    result = inside("build", *LUNA, "--metrics", tmp_path / "m.prom")
    text = (tmp_path / "m.prom").read_text()
    found = families(text)
    assert result.out.startswith("## Identity")
    assert "m.prom" not in result.err
    assert {name: found[name].type for name in NAMED} == NAMED
    for name in NAMED:
        assert found[name].samples
        assert found[name].documentation
    assert 0 < values(text, "memory_assembly_duration_seconds")[""] < 30
    assert 0 <= values(text, "memory_coherence_score")[""] <= 1
    assert {*values(text, "memory_source_latency", "layer")} == {"L1", "L2", "L3", "L4", "L5", "L7"}
    assert values(text, "memory_source_errors") == {"": 0}
    steps = values(text, "ctxasm_step_seconds", "step")
    assert [*steps] == sorted(["retrieve", "rules", "rank", "select", "render", "report"])
    assert 0 < sum(steps.values()) <= values(text, "memory_assembly_duration_seconds")[""]


def test_sizes_cuts_and_starvation_are_those_of_the_build(tmp_path: Path) -> None:
    text = metrics(*LUNA, "-b", "1500")
    used, wanted = (values(text, f"ctxasm_layer_{kind}_tokens", "layer") for kind in ("used", "wanted"))
    cut = values(text, "ctxasm_layer_cut_tokens", "layer")
    starved = values(text, "ctxasm_layer_starved", "layer")
    assert cut == {layer: max(0, wanted[layer] - used[layer]) for layer in used}
    assert cut["L3"] > 0
    assert values(text, "ctxasm_budget_tokens") == {"": 1500}
    assert 0 < values(text, "ctxasm_context_tokens")[""] <= 1500
    assert {layer for layer, value in starved.items() if value} == {
        layer for layer in used if not used[layer] and wanted[layer]
    }
    assert values(text, "ctxasm_problems", "code")["starved"] == sum(starved.values()) > 0
    assert values(text, "ctxasm_fragments", "outcome")["dropped"] > 0
    whole = fill(tmp_path, {"agents/a/KNOWLEDGE.md": "Know.\n"})
    assert set(values(metrics("-w", whole), "ctxasm_layer_cut_tokens", "layer").values()) == {0}


def test_a_layer_that_is_late_and_a_file_that_can_not_be_read_are_errors_of_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fill(tmp_path, {"agents/a/KNOWLEDGE.md": b"\xff\xfe\xff"})
    text = metrics("-w", folder)
    assert values(text, "memory_source_errors") == {"": 1}
    assert values(text, "ctxasm_problems", "code") == {"not-text": 1}
    idle = SimpleNamespace(Condition=threading.Condition, Thread=Mock())
    monkeypatch.setattr("contextasm.retrieval.deadline.threading", idle)
    late = metrics(*LUNA, "--deadline", "100")
    assert values(late, "memory_source_errors")[""] == values(late, "ctxasm_problems", "code")["source-timeout"] > 0
    assert values(late, "ctxasm_context_coverage_ratio")[""] < 1


def test_cache_hits_are_the_counts_that_an_earlier_build_left(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    first, second = (
        values(metrics(*LUNA, "--tokenizer", "o200k_base", env=env), "memory_cache_hit_ratio")[""] for _ in range(2)
    )
    assert first < second == 1
    assert math.isnan(values(metrics(*LUNA), "memory_cache_hit_ratio")[""])


def test_order_and_labels_are_the_same_each_time() -> None:
    lines = [re.sub(r" \S+$", "", metrics(*LUNA), flags=re.MULTILINE) for _ in range(2)]
    assert lines[0] == lines[1]


def test_every_sample_says_whose_it_is() -> None:
    for family in families(metrics(*LUNA)).values():
        for sample in family.samples:
            assert sample.labels.items() >= {
                ("workspace", "sample_workspace"),
                ("agent", "luna"),
                ("team", "q1"),
                ("profile", "default"),
            }


def test_hostile_names_stay_inside_their_labels(tmp_path: Path) -> None:
    name = 'a"} 1\n# TYPE evil counter\\\u202e'
    (tmp_path / name).mkdir()
    folder = fill(tmp_path / name, {})
    text = metrics("-w", folder)
    labels = {sample.labels["workspace"] for family in families(text).values() for sample in family.samples}
    assert "evil" not in families(text)
    assert "\u202e" not in text
    assert len(labels) == 1
    assert labels.pop().startswith('a"} 1')


@given(st.dictionaries(st.sampled_from(["layer", "agent", "verb"]), st.text(min_size=1), min_size=1), st.floats())
def test_any_label_comes_back_from_the_parser_as_one_sample(labels: dict[str, str], value: float) -> None:
    if math.isinf(value):
        value = 0.0
    text = exposition([Series("one", "gauge", "A \\ and a\nbreak.", [(value, labels)])], {})
    (family,) = text_string_to_metric_families(text)
    (sample,) = family.samples
    assert {*sample.labels} == {*labels}
    assert family.documentation == "A \\ and a\nbreak."
    assert math.isnan(sample.value) if math.isnan(value) else sample.value == pytest.approx(value, abs=1e-6)
    for name, shown in labels.items():
        if re.fullmatch(r'[A-Za-z0-9_\\"{}=,# ]{1,12}', shown):
            assert sample.labels[name] == shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--metrics", "agents/a/IDENTITY.md"), "as a source of the context"),
        (("--metrics", "ctxasm.yaml"), "is for settings"),
        (("-o", "OUT.md", "--metrics", "./OUT.md"), "is the same file as -o OUT.md"),
        (("-o", "OUT.md", "--manifest", "m", "--metrics", "m"), "is the same file as --manifest m"),
        (("--metrics", "-"), "already gets the context"),
        (("-o", "OUT.md", "--manifest", "-", "--metrics", "-"), "already gets the file of --manifest"),
        (("--metrics", ""), "is empty"),
        (("-o", "OUT.md", "--check", "--metrics", "m"), "--check writes nothing"),
        (("--metrics", "no/m.prom"), "make its folder first"),
    ],
)
def test_a_file_that_is_read_or_written_already_is_refused(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    folder = fill(tmp_path, {"ctxasm.yaml": "profile: default\n"})
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    refused(inside("build", "-q", *words, cwd=folder), told)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_metrics_of_upkeep_are_read_by_the_official_parser() -> None:
    edit = Edit("memories/m.md", 0, b"- [fact] One\n", b"")
    actions = [
        Action("merge", ("m-1", "m-2"), "they say the same", needs_approval=False, edits=(edit,), tokens_saved=3),
        Action('x"\n', ("m-3",), "odd", needs_approval=True),
    ]
    text = exposition(upkeep_series(actions, {actions[0].id}), {"workspace": "w"})
    planned = families(text)["ctxasm_tidy_planned_actions"].samples
    assert {(sample.labels["verb"], sample.labels["approval"]): sample.value for sample in planned} == {
        ("merge", "none"): 1,
        ('x"\\n', "for-a-person"): 1,
    }
    assert values(text, "ctxasm_tidy_applied_actions", "verb")["merge"] == 1
    assert values(text, "ctxasm_tidy_applied_saved_bytes") == {"": len(edit.removed)}
    assert values(text, "ctxasm_tidy_planned_saved_tokens") == {"": 3}


def test_tidy_writes_metrics_of_its_plan_and_of_what_it_did(tmp_path: Path) -> None:
    folder = fill(tmp_path / "ws", {"agents/a/daily/2020-01-01.md": "- Rain.\n"})
    path = tmp_path / "m.prom"
    at = ("tidy", "-w", folder, "--date", "2025-03-14", "--metrics", path)

    def counts(kind: str) -> float:
        return sum(values(path.read_text(), f"ctxasm_tidy_{kind}_actions", "verb").values())

    assert inside(*at).code == 0
    assert (counts("planned"), counts("applied")) == (1, 0)
    assert inside(*at, "--apply", "--safe").code == 0
    assert (counts("planned"), counts("applied")) == (1, 1)
    assert inside(*at).code == 0
    assert (counts("planned"), counts("applied")) == (0, 0)
    for words, told in (
        (("--metrics", folder / "agents/a/IDENTITY.md"), "as a source of the context"),
        (("--metrics", folder / ".ctxasm/lock"), "stores its own data"),
        (("--metrics", "-"), "standard output"),
        (("--undo", "--metrics", path), "--undo makes no plan"),
    ):
        refused(inside("tidy", "-w", folder, *words), told)
