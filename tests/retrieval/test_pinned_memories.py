"""Memories that pin themselves (`pin=true`): shown as a rule that includes them would show them."""

import json
from pathlib import Path

import pytest

from tests.command import fill, inside

DAY = ("--date", "2025-03-14")
LIST = "agents/a/memories/m.md"
PINNED = "- [fact] The harbor master holds the only key {id=pinned created=2020-01-01}\n"
OTHERS = "".join(f"- [fact] Lantern {n} is lit at dusk {{created=2025-03-{n:02}}}\n" for n in range(1, 10))
PINNING = PINNED.replace("{id", "{pin=true id")
RULE = "- {name: keep, then: {always_include: [{id: pinned}]}}\n"


def test_a_pinned_memory_is_shown_whole_beside_the_best(tmp_path: Path) -> None:
    fill(tmp_path, {LIST: PINNING + OTHERS})
    assert "holds the only key" in inside("build", *DAY, "-w", tmp_path).out
    assert "its field pin=true includes it" in inside("explain", *DAY, "-w", tmp_path).out
    assert "holds the only key" in inside("build", *DAY, "--topic", "lantern", "-w", tmp_path).out
    fill(tmp_path, {LIST: PINNED + OTHERS})
    assert "holds the only key" not in inside("build", *DAY, "-w", tmp_path).out


@pytest.mark.parametrize("topic", ["", "lantern", "harbor key", "nothing of the kind"])
@pytest.mark.parametrize("budget", ["30", "40", "50", "60", "80", "120", "400"])
def test_law_a_memory_that_pins_itself_is_as_one_that_a_rule_pins(tmp_path: Path, topic: str, budget: str) -> None:
    field = fill(tmp_path / "field", {LIST: PINNING + OTHERS})
    rule = fill(tmp_path / "rule", {LIST: PINNED + OTHERS, "rules/r.yaml": RULE})
    by_field, by_rule = (
        inside("build", *DAY, "--topic", topic, "-b", budget, "-w", folder) for folder in (field, rule)
    )
    assert by_field.out == by_rule.out
    assert by_field.err == by_rule.err.replace("rule keep includes this", "its field pin=true includes this")


@pytest.mark.parametrize("fields", ["status=archived", "status=draft"])
def test_a_pinned_memory_that_is_not_active_is_left_out(tmp_path: Path, fields: str) -> None:
    fill(tmp_path, {LIST: PINNING.replace("pin=true", f"pin=true {fields}") + OTHERS})
    assert "holds the only key" not in inside("build", *DAY, "-w", tmp_path).out


def test_a_rule_excludes_a_pinned_memory(tmp_path: Path) -> None:
    fill(tmp_path, {LIST: PINNING, "rules/r.yaml": "- {name: no, then: {exclude: [{id: pinned}]}}\n"})
    assert "holds the only key" not in inside("build", *DAY, "-w", tmp_path).out


@pytest.mark.parametrize("topic", ["", "number 7", "harbor", "nothing of the kind"])
def test_a_pinned_memory_of_a_large_pool_is_shown(tmp_path: Path, topic: str) -> None:
    many = "".join(f"- Memory number {n} of the harbor {{created=2024-01-01}}\n" for n in range(1100))
    fill(tmp_path, {LIST: PINNING + many})
    words = ("build", *DAY, "--topic", topic, "-f", "json", "-w", str(tmp_path))
    texts = []
    for env in ({}, {}, {"CTXASM_NO_CACHE": "1"}):
        data = json.loads(inside(*words, env=env).out)
        texts.append(data["etag"])
        (own,) = [row for row in data["decisions"] if row["fragment"] == "pinned"]
        assert own["reason"]["code"] == "pin"
    assert len(set(texts)) == 1
    assert "holds the only key" in inside(*words[:-4], "-w", tmp_path).out
