"""A conversation that is handed in: any JSON becomes events, or an error that the user can correct."""

import json
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import ContextasmError, Problem
from contextasm.text.data.events import parse_events
from contextasm.text.data.history import session_of_history
from tests.workspaces import document

LEAVES = st.sampled_from((None, True, 1, 0.5, "", "x", "{", "user", "tool", "message", "system", "a\u2028b"))
VALUES = st.one_of(LEAVES, st.lists(LEAVES, max_size=2), st.dictionaries(st.sampled_from(("id", "text")), LEAVES))
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(("text", "tool_use", "tool_result", "image"))},
    optional=dict.fromkeys(("id", "tool_use_id", "text", "name", "input", "content"), VALUES),
)
CALLS = st.fixed_dictionaries(
    {"id": VALUES, "function": st.one_of(VALUES, st.fixed_dictionaries({"name": VALUES, "arguments": VALUES}))}
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.one_of(st.sampled_from(("user", "assistant", "tool")), VALUES)},
    optional={
        "type": VALUES,
        "content": st.one_of(VALUES, st.lists(BLOCKS, max_size=3)),
        "tool_calls": st.one_of(VALUES, st.lists(CALLS, max_size=2)),
        "tool_call_id": VALUES,
    },
)


@given(entries=st.lists(st.one_of(MESSAGES, VALUES), max_size=4), in_lines=st.booleans())
def test_any_json_becomes_events_or_an_error(entries: list[object], in_lines: bool) -> None:
    text = "\n".join(map(json.dumps, entries)) if in_lines else json.dumps(entries)
    with suppress(ContextasmError):
        session, _ = session_of_history(text, [])
        _, problems = parse_events(document(session, "--history"))
        assert all(problem.code == "bad-event" for problem in problems)
        # What came of it is a session itself.
        assert session_of_history(session if session.strip() else "[]", []) == (session, "")


def test_a_result_has_the_tool_and_the_arguments_of_its_call() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "grep", "arguments": '{"word": "tide"}'}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "One."}, {"type": "image"}]},
        {"role": "developer", "content": "Be kind."},
    ]
    assert json.loads(session_of_history(json.dumps(messages), [])[0]) == {
        "type": "tool_result",
        "tool": "grep",
        "arguments": {"word": "tide"},
        "output": "One.",
    }


def test_the_result_of_a_private_call_is_private_in_the_older_form_too() -> None:
    call = {"role": "assistant", "content": None, "private": True, "function_call": {"name": "pay", "arguments": "{}"}}
    messages = [{"role": "user", "content": "hi"}, call, {"role": "function", "name": "pay", "content": "90k"}]
    problems: list[Problem] = []
    session, _ = session_of_history(json.dumps(messages), problems)
    turn, result = map(json.loads, session.splitlines())
    assert "private" not in turn
    assert (result["tool"], result["output"], result["private"]) == ("pay", "90k", True)
    assert problems == []
