"""Rules through the real command: what they do to a build, and what is said of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.command import fill, inside

TEXT = "Plain words about the sea. " * 20
FILES = {
    "agents/a/KNOWLEDGE.md": f"# Handbook\n\n{TEXT}\n\n## Ports\n\nThe port opens at six.\n\n## Boats\n\n{TEXT}\n",
    "agents/a/memories/list.md": "- [fact] The bell is cracked {id=bell tags=sound}\n"
    "- [fact] The lamp is new {id=lamp}\n",
    "docs/extra.md": "# Extra\n\nNobody reads this by itself.\n\n## Part\n\nThe part.\n",
}


def workspace(folder: Path, rule: str, **more: str) -> Path:
    return fill(folder, FILES | {"rules/10.yaml": rule} | more)


def build(folder: Path, *words: str) -> str:
    result = inside("build", "-w", folder, "-a", "a", *words)
    assert result.code == 0, result.err
    return result.out


PIN = "- name: pin\n  then:\n    always_include: ['{}']\n"


def test_file_that_no_layer_reads_comes_under_a_heading_of_its_own(tmp_path: Path) -> None:
    assert build(workspace(tmp_path, PIN.format("docs/extra.md"))).endswith(
        "## Pinned\n### Extra\n\nNobody reads this by itself.\n\n#### Part\n\nThe part.\n"
    )
    (tmp_path / "rules/10.yaml").write_text(PIN.format("docs/extra.md#part"))
    assert build(tmp_path).endswith("## Pinned\n### Part\n\nThe part.\n")


def test_memory_that_is_included_passes_the_top_and_the_search(tmp_path: Path) -> None:
    folder = workspace(tmp_path, PIN.format("lamp"))
    assert "The lamp is new" in build(folder, "--topic", "bell")
    (folder / "rules/10.yaml").write_text("- name: pin\n  then:\n    always_include: [{tag: sound}]\n")
    assert "The bell is cracked" in build(folder, "--topic", "lamp")


def test_pin_that_means_nothing_is_a_problem(tmp_path: Path) -> None:
    folder = workspace(tmp_path, PIN.format("docs/none.md"))
    assert (
        "path docs/none.md: rule pin does nothing: nothing that may be shown"
        in inside("build", "-w", folder, "-a", "a").err
    )


def test_excluded_is_out_and_a_required_layer_is_not(tmp_path: Path) -> None:
    rule = "- name: hide\n  then:\n    exclude: ['agents/a/**']\n"
    folder = workspace(tmp_path, rule)
    assert build(folder) == "## Identity\nI am a.\n\n## Instructions\nDo it.\n"
    told = json.loads(inside("explain", "-w", folder, "-a", "a", "--json").out)
    assert told["rules"][0]["lost"][0]["code"] == "protected"
    assert {each["reason"]["code"] for each in told["decisions"]} == {"required", "rule"}


def test_boost_changes_the_order_and_is_part_of_the_score(tmp_path: Path) -> None:
    list_ = "- [fact] The bell one {id=one}\n- [fact] The bell two {id=two tags=sound}\n"
    rule = "- name: loud\n  when:\n    task_contains: [bell]\n  then:\n    boost: [{tag: sound, weight: 3}]\n"
    folder = workspace(tmp_path, rule, **{"agents/a/memories/list.md": list_})
    text = build(folder, "--topic", "bell")
    assert text.index("bell two") < text.index("bell one")
    assert "boost 3.00" in inside("explain", "-w", folder, "-a", "a", "--topic", "bell").out


def test_cap_lowers_a_limit_and_never_raises_it(tmp_path: Path) -> None:
    folder = workspace(tmp_path, "- name: short\n  then:\n    cap: {L7: 40}\n")
    for words, limit in (((), 40), (("--layer", "L7=20"), 20)):
        told = json.loads(inside("explain", "-w", folder, "-a", "a", "--json", *words).out)
        assert told["allowances"][-1]["limit"] == limit


def test_pattern_that_would_take_for_ever_does_not_fire_and_says_so(tmp_path: Path) -> None:
    rule = "- name: slow\n  when: {field: task.text, op: regex, value: '(a|aa)+$'}\n  then: {exclude: ['**']}\n"
    folder = workspace(tmp_path, rule)
    result = inside("build", "-w", folder, "-a", "a", "--topic", "a" * 200 + "!")
    assert result.code == 0
    assert "[rule-undecided]" in result.err or "slow" not in result.err


def test_rules_may_ask_what_git_calls_changed_and_which_branch_it_is(tmp_path: Path) -> None:
    rule = (
        "- {name: main, when: {field: git.branch, op: eq, value: trunk}, then: {exclude: [docs/extra.md]}}\n"
        "- {name: dirty, when: {field: changed, op: contains, value: extra}, then: {exclude: [docs/extra.md]}}\n"
        "- {name: friday, when: {field: weekday, op: eq, value: friday}, then: {exclude: [docs/extra.md]}}\n"
    )
    folder = workspace(tmp_path, rule)

    def fired() -> list[bool]:
        told = inside("rules", "eval", "-w", folder, "-a", "a", "--date", "2025-03-14", "--json").out
        return [each["fired"] for each in json.loads(told)["rules"]]

    assert fired() == [False, False, True]
    git = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@b.c"]
    for words in (["init", "-q", "-b", "trunk"], ["add", "."], ["commit", "-q", "-m", "All"]):
        subprocess.run([*git, *words], check=True)
    assert fired() == [True, False, True]
    (folder / "docs/extra.md").write_text("New.\n")
    assert fired() == [True, True, True]
