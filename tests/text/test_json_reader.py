"""The reader of JSON: plain values, and one error for what Python takes and JSON does not have."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import ContextasmError
from contextasm.text.json_reader import DEEPEST, load_json
from tests.command import SMALL_TEXT, fill, inside

REFUSED = {
    "deep list": ("[" * 100_000, "nested too deeply"),
    "deep object": ('{"a":' * 100_000, "nested too deeply"),
    "51 levels": ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "nested too deeply"),
    "NaN": ("[NaN]", "NaN"),
    "Infinity": ("[Infinity]", "Infinity"),
    "minus Infinity": ('{"a": -Infinity}', "-Infinity"),
    "infinite number": ("[1e400]", "a number that is too large"),
    "5,000 digits": (f"[{'9' * 5000}]", "a number that is too long"),
    "half a character": (r'["\ud800"]', "half a character"),
    "other half": (r'[{"\uDfff": 1}]', "half a character"),
    "syntax": ('{"password": hunter2}', "not valid JSON at column 14"),
    "nothing": ("", "not valid JSON"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_text_that_is_not_json_is_one_error(case: str) -> None:
    """P17: with the place, and without a word of the text."""
    text, part = REFUSED[case]
    with pytest.raises(ContextasmError) as caught:
        load_json(text, "f.json")
    assert caught.value.where in {"f.json", "f.json:1"}
    assert part in caught.value.what
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("case", REFUSED)
def test_bad_json_in_a_session_or_a_file_of_tools_costs_itself(tmp_path: Path, case: str) -> None:
    """P16, P17: the line of a session, the whole of a file of tools."""
    profile = (
        "extends: default\nlayers:\n  - {id: E, heading: Events, source: events, path: sessions/s.jsonl}\n"
        "  - {id: T, heading: Tools, source: tools, path: tools/t.json}\n"
    )
    text = REFUSED[case][0]
    good = '{"type": "turn", "content": "A good line."}'
    files = {"p.yaml": profile, "sessions/s.jsonl": f"{text}\n{good}\n", "tools/t.json": text}
    done = inside("build", "-p", "./p.yaml", cwd=fill(tmp_path, files))
    assert done.code == 0
    assert done.out.startswith(SMALL_TEXT)
    assert "A good line." in done.out
    assert "tools/t.json" in done.err
    assert text == "" or "sessions/s.jsonl:1: " in done.err
    assert "hunter2" not in done.err


def test_names_of_files_may_hold_bytes_that_are_no_text() -> None:
    assert load_json(r'["\udcff"]', "f", takes_halves=True) == ["\udcff"]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=9))
def test_what_json_can_hold_comes_back(value: object) -> None:
    import json

    assert load_json(json.dumps(value), "f") == value
    assert load_json(json.dumps(value, ensure_ascii=False), "f") == value


@pytest.mark.parametrize("levels", [1, DEEPEST])
def test_levels_that_people_write_are_read(levels: int) -> None:
    assert load_json("[" * levels + "]" * levels, "f") is not None
    assert load_json(f'["{"[" * 200}"]', "f") == ["[" * 200]
