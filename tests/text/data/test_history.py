"""A conversation that is handed in: any JSON becomes events, or an error that the user can correct."""

import json
from contextlib import suppress

import pytest
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


ITEMS = st.fixed_dictionaries(
    {"type": st.sampled_from(("function_call", "custom_tool_call_output", "shell_call", "reasoning"))},
    optional=dict.fromkeys(("id", "call_id", "name", "arguments", "action", "output", "summary", "content"), VALUES),
)


@given(entries=st.lists(st.one_of(MESSAGES, ITEMS, VALUES), max_size=4), in_lines=st.booleans())
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


CALL_FORMS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "chat": (
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "pay", "arguments": '{"to": "x"}'}}]},
        {"role": "tool", "tool_call_id": "c", "content": "90k"},
    ),
    "chat, older": (
        {"role": "assistant", "content": None, "function_call": {"name": "pay", "arguments": '{"to": "x"}'}},
        {"role": "function", "name": "pay", "content": "90k"},
    ),
    "messages": (
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "pay", "input": {"to": "x"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "90k"}]},
    ),
    "responses": (
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "pay", "arguments": '{"to": "x"}'},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "90k"}]},
    ),
    "responses, custom": (
        {"type": "custom_tool_call", "call_id": "c", "name": "pay", "input": '{"to": "x"}'},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "90k"},
    ),
    "responses, shell": (
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "c", "name": "pay", "action": {"to": "x"}},
        {"type": "local_shell_call_output", "id": "c", "output": "90k"},
    ),
}


@pytest.mark.parametrize("form", CALL_FORMS)
def test_the_result_of_a_private_call_is_private_before_the_call_too(form: str) -> None:
    call, result = CALL_FORMS[form]
    session, _ = session_of_history(json.dumps([result, call | {"private": True}]), [])
    assert [json.loads(line)["private"] for line in session.splitlines()] == [True]


@pytest.mark.parametrize("is_private", [True, False])
@pytest.mark.parametrize("form", CALL_FORMS)
def test_the_result_of_a_call_is_as_private_as_the_call_in_the_form_of_every_api(form: str, is_private: bool) -> None:
    call, result = CALL_FORMS[form]
    messages = [{"role": "user", "content": "hi"}, call | {"private": True} if is_private else call, result]
    problems: list[Problem] = []
    session, _ = session_of_history(json.dumps(messages), problems)
    mark = {"private": True} if is_private else {}
    assert [json.loads(line) for line in session.splitlines()] == [
        {"type": "turn", "role": "user", "content": "hi"},
        {"type": "tool_result", "tool": "pay", "arguments": {"to": "x"}, "output": "90k", **mark},
    ]
    assert problems == []


def test_items_are_counted_that_no_event_shows() -> None:
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "reasoning", "content": "An event of one's own."},
        {"type": "computer_call", "call_id": "a", "action": {"type": "screenshot"}},
        {"type": "computer_call_output", "call_id": "a", "output": {"type": "computer_screenshot", "image_url": "x"}},
        {"type": "function_call", "call_id": "b", "name": "late", "arguments": "{}"},
    ]
    problems: list[Problem] = []
    session, words = session_of_history("\n".join(map(json.dumps, items)), problems)
    own, result = map(json.loads, session.splitlines())
    assert own == items[1]
    assert (result["tool"], result["output"]) == ("computer_call", "")
    assert words == "1 part of thinking left out of --history"
    assert [each.message for each in problems] == [
        "some parts of messages are left out: call without a result (1), computer_screenshot (1)"
    ]


def test_a_result_that_is_an_object_of_its_own_is_shown_as_it_is() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "weather", "arguments": "{}"}
    result = {"role": "tool", "tool_call_id": "c", "content": {"status": "ok", "degrees": 3}}
    problems: list[Problem] = []
    session, _ = session_of_history(json.dumps([call, result]), problems)
    assert json.loads(session)["output"] == {"status": "ok", "degrees": 3}
    assert not problems
