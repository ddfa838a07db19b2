"""Profiles are files: those shipped, those of the user's, and what each setting comes from."""

import json
import re
from pathlib import Path

import pytest

from contextasm.config.profiles.loader import load_profile, shipped
from contextasm.model import ContextasmError
from tests.command import CASES, LUNA, SAMPLE, SMALL, SMALL_TEXT, fill, inside, refused
from tests.tables import cases, files_of

DAY = ("--date", "2025-03-14")

OPENCLAW = {
    "SOUL.md": "Calm, and never in a hurry.\n" * 400,
    "AGENTS.md": "# Agents\n\nRead before you write.\n",
    "MEMORY.md": "# Memory\n\n"
    + "".join(f"## Year {year}\n\nWhat happened in {year}.\n\n" for year in range(1000, 2025)),
    "memory/2025-03-01.md": "The boiler was mended.\n",
    "memory/2025-02-27.md": "The boiler broke.\n",
    "memory/2025-01-02.md": "Long past.\n",
}
"""A workspace with a long memory and no notes of the last seven days."""


def openclaw(folder: Path, *words: str) -> str:
    """What is built of it."""
    result = inside("build", "-p", "openclaw", *DAY, *words, "-w", fill(folder, OPENCLAW, base={}))
    assert result.code == 0, result.err
    return result.out


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_profile_loads_and_builds(tmp_path: Path, name: str) -> None:
    assert load_profile(name, "tests", Path()).layers
    result = inside("build", "-p", name, *DAY, cwd=fill(tmp_path, SMALL))
    assert result.code == 0, result.err


@pytest.mark.parametrize("name", shipped())
def test_shown_profile_is_a_file_that_works(tmp_path: Path, name: str) -> None:
    shown = inside("profiles", name)
    assert (shown.code, shown.err) == (0, "")
    (tmp_path / "mine.yaml").write_text(shown.out)
    agent = ("-a", "luna", "-t", "q1") if name in {"default", "librarian", "recall"} else ()
    request = ("build", "-q", "-w", SAMPLE, *agent, *DAY)
    own = inside(*request, "-p", tmp_path / "mine.yaml")
    assert own.code == 0, own.err
    assert own.out == inside(*request, "-p", name).out


def test_list_names_every_shipped_profile() -> None:
    listed = json.loads(inside("profiles", "--json").out)["profiles"]
    assert [each["name"] for each in listed] == [*shipped()]
    assert {"default", "openclaw"} <= set(shipped())
    assert all(each["summary"] and each["budget"] == load_profile(each["name"], "", Path()).budget for each in listed)
    table = inside("profiles").out
    assert all(name in table for name in shipped())


def test_profile_may_change_one_layer_of_another(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {
            "short.yaml": "extends: default\nlayers:\n  - id: L3\n    max_age_days: 1\n",
            **{f"agents/a/daily/2025-03-{day}.md": f"Day {day}.\n" for day in ("12", "13", "14")},
        },
    )
    out = inside("build", "-q", "-p", "short.yaml", *DAY, cwd=tmp_path).out
    assert out == SMALL_TEXT + "\n## Recent Activity\n### 2025-03-14\nDay 14.\n\n### 2025-03-13\nDay 13.\n"
    default, short = load_profile("default", "", tmp_path), load_profile("short.yaml", "", tmp_path)
    assert [layer.id for layer in short.layers] == [layer.id for layer in default.layers]
    assert [a.id for a, b in zip(default.layers, short.layers, strict=True) if a != b] == ["L3"]
    assert (short.name, short.budget) == ("short", default.budget)


def test_profile_may_extend_a_file_beside_it(tmp_path: Path) -> None:
    fill(tmp_path / "p", {"one.yaml": "extends: default\nbudget: 9k\n", "two.yaml": "extends: ./one.yaml\n"}, base={})
    out = inside("build", "-p", "p/two.yaml", "-f", "json", "-q", "-w", fill(tmp_path / "w", {}), cwd=tmp_path).out
    assert (json.loads(out)["budget"], json.loads(out)["profile"]) == (9000, "two")


def test_profile_of_the_config_is_taken_from_the_workspace(tmp_path: Path) -> None:
    folder = fill(tmp_path, {"ctxasm.yaml": "profile: p/mine.yaml\n", "p/mine.yaml": "extends: default\nbudget: 77\n"})
    assert json.loads(inside("build", "-q", "-f", "json", cwd=folder / "agents/a").out)["budget"] == 77


@pytest.mark.parametrize(("name", "case"), cases(CASES / "bad-profiles.md").items())
def test_slip_in_a_profile_is_refused_with_its_line(tmp_path: Path, name: str, case: str) -> None:
    files, _, told = case.partition("=== says\n")
    result = inside("build", "-p", "./p.yaml", cwd=fill(tmp_path, files_of(files)))
    refused(result)
    assert result.err.replace(str(tmp_path), "FOLDER") == told, name


def test_shares_above_the_whole_are_named_with_what_to_take_off(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("extends: query\nlayers:\n  - {id: recent, share: 60}\n")
    with pytest.raises(ContextasmError) as raised:
        load_profile("./p.yaml", "tests", tmp_path)
    shares = {layer.id: layer.limits.share for layer in load_profile("query", "tests", tmp_path).layers}
    for name, share in {**shares, "recent": 60}.items():
        assert not share or f"{name} {share:g}" in str(raised.value)
    assert "reduce their sum by" in raised.value.hint


def test_openclaw_memory_that_is_cut_keeps_both_ends(tmp_path: Path) -> None:
    text = openclaw(tmp_path, "-b", "8000")
    assert "What happened in 1000." in text
    assert "What happened in 1500." not in text
    assert "What happened in 2024." in text
    assert "... [truncated] MEMORY.md:" in text
    years = [int(year) for year in re.findall(r"What happened in (\d+)", text)]
    assert 2.5 < sum(year < 1500 for year in years) / sum(year > 1500 for year in years) < 3.5


def test_check_names_the_limit_in_characters_that_cuts_a_file(tmp_path: Path) -> None:
    files = {**OPENCLAW, "MEMORY.md": OPENCLAW["MEMORY.md"] * 2}
    folder = fill(tmp_path, {**files, "ctxasm.yaml": "profile: openclaw\n"}, base={})
    found = inside("check", *DAY, "-w", folder).out
    assert "layer memory (Memory) is cut here" in found
    assert "set its `max_chars` higher in `layers` of ctxasm.yaml" in found


def test_openclaw_shows_every_root_file_whole_if_they_are_within_what_the_host_shows_together(tmp_path: Path) -> None:
    text = openclaw(tmp_path)
    assert OPENCLAW["SOUL.md"].rstrip("\n") in text
    assert all(f"What happened in {year}." in text for year in range(1000, 2025))
    assert "truncated" not in text
    headings = [line for line in text.split("\n") if line in {"## Soul", "## Agents", "## Recent Notes", "## Memory"}]
    assert headings == ["## Soul", "## Agents", "## Recent Notes", "## Memory"]


@pytest.mark.parametrize(
    ("budget", "cut"), [(1_000, "SOUL.md"), (2_000, "SOUL.md"), (4_000, "AGENTS.md"), (16_000, "")]
)
def test_openclaw_has_room_for_lines_that_answer_and_says_which_instructions_are_cut(
    tmp_path: Path, budget: int, cut: str
) -> None:
    notes = {
        f"memory/2025-0{1 + n // 28}-{1 + n % 28:02}.md": f"- Berth {n} of the harbor was paid.\n"
        + "- Idle talk.\n" * 40
        for n in range(60)
    }
    texts = {
        f"{name}.md": f"{name} first.\n\n" + "Calm.\n\n" * 1_000 + f"{name} last.\n" for name in ("SOUL", "AGENTS")
    }
    folder = fill(tmp_path, {**texts, "IDENTITY.md": "Rook\n", **notes}, base={})
    words = ("build", "-p", "openclaw", *DAY, "-w", folder, "-b", str(budget))
    built = inside(*words, "--topic", "berth harbor")
    assert built.out.count("of the harbor was paid.") >= 12
    assert "SOUL first." in built.out
    assert "SOUL last." in built.out
    assert "Rook" in built.out
    assert re.findall(
        r"warning: (\S+\.md): cut to \d+ of \d+ tokens: \d+ tokens are reserved for .*Related Notes;", built.err
    ) == ([cut] if cut else [])
    assert inside(*words, "--topic", "xylophone").out == inside(*words).out


def test_openclaw_falls_back_to_the_newest_notes_with_their_age(tmp_path: Path) -> None:
    text = openclaw(tmp_path)
    assert "### 2025-03-01 (13 days ago)\nThe boiler was mended.\n" in text
    assert "Long past." not in text


def test_openclaw_does_not_fall_back_where_there_are_notes(tmp_path: Path) -> None:
    fill(tmp_path, {"memory/2025/2025-03-10-evening.md": "New.\n"}, base={})
    text = openclaw(tmp_path)
    assert "### 2025-03-10\nNew.\n" in text
    assert "boiler" not in text
    assert "ago)" not in text


@pytest.mark.parametrize("words", [("-a", "x"), ("-t", "x")])
def test_openclaw_refuses_a_name_that_it_has_no_use_for(tmp_path: Path, words: tuple[str, str]) -> None:
    fill(tmp_path, OPENCLAW, base={})
    refused(inside("build", "-p", "openclaw", *words, "-w", tmp_path), "openclaw reads no ", "leave it out")


def test_openclaw_files_may_all_be_absent(tmp_path: Path) -> None:
    assert inside("build", "-p", "openclaw", "-q", "-w", tmp_path) == (0, "", "")


def _origins(folder: Path, *words: str, **env: str) -> dict[str, tuple[str, str]]:
    """Value and origin of each setting."""
    result = inside("config", "--origin", "--json", *words, cwd=folder, env=env)
    assert result.code == 0, result.err
    return {each["key"]: (each["value"], each["origin"]) for each in json.loads(result.out)["settings"]}


def test_config_names_where_each_value_comes_from(tmp_path: Path) -> None:
    config = "# mine\ntokenizer: estimate\n\nlayers:\n  - id: L3\n    max_age_days: 2\n"
    fill(tmp_path, {"ctxasm.yaml": config, "teams/t/GOALS.md": "x\n"})
    found = _origins(tmp_path, "--date", "2025-03-14", "--layer", "L7=5", CTXASM_TEAM="t")
    assert found["date"] == ("2025-03-14", "--date")
    assert found["team"] == ("t", "CTXASM_TEAM")
    assert found["tokenizer"] == ("estimate", "ctxasm.yaml:2")
    assert found["budget"] == ("16000", "profile default")
    assert found["format"] == ("markdown", "default")
    assert found["agent"] == ("a", "the only agent")
    assert found["layers.L3.max_age_days"] == ("2", "ctxasm.yaml:6")
    assert found["layers.L3.max_tokens"] == ("3000", "profile default")
    assert found["layers.L7.max_tokens"] == ("5", "--layer")


def test_flag_beats_variable_beats_file_beats_profile(tmp_path: Path) -> None:
    fill(tmp_path, {"ctxasm.yaml": "budget: 3\n"})
    assert _origins(tmp_path, "-b", "1", CTXASM_BUDGET="2")["budget"] == ("1", "--budget")
    assert _origins(tmp_path, CTXASM_BUDGET="2")["budget"] == ("2", "CTXASM_BUDGET")
    assert _origins(tmp_path)["budget"] == ("3", "ctxasm.yaml:1")
    (tmp_path / "ctxasm.yaml").write_text("")
    assert _origins(tmp_path)["budget"] == ("16000", "profile default")


def test_date_is_the_flags_the_epochs_the_files_and_else_the_clocks(tmp_path: Path) -> None:
    fill(tmp_path, {"ctxasm.yaml": "date: 2025-03-14\n"})
    epoch = {"SOURCE_DATE_EPOCH": "0"}
    assert _origins(tmp_path, "--date", "2024-01-01", **epoch)["date"] == ("2024-01-01", "--date")
    assert _origins(tmp_path, **epoch)["date"] == ("1970-01-01", "SOURCE_DATE_EPOCH")
    assert _origins(tmp_path)["date"] == ("2025-03-14", "ctxasm.yaml:1")
    assert _origins(tmp_path, "--date", "today", "--tz", "UTC")["date"][1] == "the clock, UTC"


def test_plain_config_has_no_column_of_origins() -> None:
    assert "ctxasm.yaml:" not in inside("config", *LUNA).out
    assert "ctxasm.yaml:" in inside("config", *LUNA, "--origin").out


def test_layer_limit_of_the_command_line_holds(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/a/KNOWLEDGE.md": "Known.\n"})
    result = inside("build", "--layer", "L7=0", "--strict", cwd=tmp_path)
    assert (result.code, result.out) == (0, SMALL_TEXT)


def test_row_90_layers_run_in_their_order_and_one_that_is_off_is_left_out(tmp_path: Path) -> None:
    files = {"agents/a/KNOWLEDGE.md": "Know.\n", "agents/a/memories/m.md": "- [fact] Remember\n"}
    folder = fill(tmp_path, files)
    assert [line for line in inside("build", "-q", "-w", folder).out.split("\n") if line.startswith("## ")][2:] == [
        "## Personal Memories",
        "## Knowledge Base",
    ]
    (folder / "ctxasm.yaml").write_text("layers:\n  - {id: L5, enabled: false}\n")
    assert "Personal Memories" not in inside("build", "-q", "-w", folder).out


@pytest.mark.parametrize(("form", "name"), [("DD.MM.YYYY", "13.03.2025"), ("YYYY_MM_DD", "2025_03_13")])
def test_profile_says_how_dates_are_written_in_names(tmp_path: Path, form: str, name: str) -> None:
    profile = f"""\
layers:
  - id: days
    heading: Days
    source: daily
    dates: {form}
    path: "days/*.md"
    group: "### {{date}}"
    max_age_days: 7
    overflow: truncate
"""
    fill(tmp_path, {"p.yaml": profile, f"days/{name}.md": "- Shipped.\n", "days/2025-03-12.md": "- Other form.\n"})
    result = inside("build", "-q", "-w", tmp_path, "-p", tmp_path / "p.yaml", "--date", "2025-03-14")
    assert result.out == "## Days\n### 2025-03-13\n- Shipped.\n", result
