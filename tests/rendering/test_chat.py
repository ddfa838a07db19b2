"""Requests to models' APIs hold the rules of each API, as the types of its SDK have them; on random conversations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as AnthropicRequest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as OpenaiRequest
from pydantic import TypeAdapter

import contextasm
from contextasm.config.profiles.loader import load_profile
from contextasm.model import Context, Limits, Profile, Ranking
from contextasm.rendering.formats import MARKER, format_context
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.data.history import session_of_history
from tests.command import fill, inside
from tests.workspaces import agent, build

LIBRARIAN = load_profile("librarian", "tests", Path())

REQUESTS: Mapping[str, tuple[TypeAdapter[Any], dict[str, object]]] = {
    "chat-openai": (TypeAdapter(OpenaiRequest), {"model": "m"}),
    "chat-anthropic": (TypeAdapter(AnthropicRequest), {"model": "m", "max_tokens": 1}),
}
"""The type of a request by format, and the parameters that are the caller's."""

TEXTS = st.sampled_from(
    ("", " \n", "Hello.", "## Plan\n\n- one\n- two\n", "```sh\nls\n", "A long answer goes on. " * 40, "<!-- x --> y\n")
)
NAMES = st.sampled_from(("grep", "read file", "fs.read/é", "n" * 80, ""))
ROLES = st.sampled_from(("user", "assistant", "system", "User", None))
ARGUMENTS = st.sampled_from(({}, {"path": "a.txt"}, ["x"], "free text", None))
EVENTS = st.one_of(
    st.fixed_dictionaries({"type": st.just("turn"), "role": ROLES, "content": TEXTS}),
    st.fixed_dictionaries(
        {"type": st.just("tool_result"), "tool": NAMES, "output": TEXTS, "arguments": ARGUMENTS},
        optional={"outcome": st.just("failed")},
    ),
    st.fixed_dictionaries({"type": st.just("file_write"), "path": st.just("a.txt")}),
)
TOOLS = st.fixed_dictionaries(
    {"name": st.sampled_from(("grep", "read file", "read_file", "now"))},
    optional={
        "description": TEXTS,
        "inputSchema": st.sampled_from(({"type": "object"}, {"properties": {"path": {"type": "string"}}})),
        "properties": st.just({"x": {"type": "number"}}),
    },
)


@st.composite
def conversations(draw: st.DrawFn) -> Mapping[str, str]:
    """The files of two sessions and of some tools."""
    files = {}
    for day, name in enumerate(("one", "two"), 1):
        events = draw(st.lists(EVENTS, max_size=30))
        times = [f"2025-03-{day:02}T{number // 60:02}:{number % 60:02}:00Z" for number in range(len(events))]
        lines = [json.dumps({**event, "timestamp": time}) for event, time in zip(events, times, strict=True)]
        files[f"sessions/{name}.jsonl"] = "".join(f"{line}\n" for line in lines)
    return {**files, "tools/t.json": json.dumps(draw(st.lists(TOOLS, max_size=5)))}


def exhausted(value: Any) -> Any:
    """The value with lists in place of the iterators by which pydantic checks an `Iterable` late."""
    if isinstance(value, Mapping):
        return {key: exhausted(item) for key, item in value.items()}
    if isinstance(value, str | int | float | None):
        return value
    return [exhausted(item) for item in value]


def request_of(context: Context) -> dict[str, Any]:
    """What a context is written as, once the SDK's type has taken all of it."""
    adapter, own = REQUESTS[context.request.format]
    request: dict[str, Any] = json.loads(format_context(context))
    # A key that the type does not have would be missing in what it gives.
    assert exhausted(adapter.validate_python(own | request)) == own | request
    return request


def texts_of(value: Any) -> list[str]:
    """Every text that a model reads, but for the names of roles, types and ids."""
    if isinstance(value, str):
        return [value]
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    return [text for key, item in items if key not in {"role", "type", "id"} for text in texts_of(item)]


def with_steps(*steps: str, detail: str = "atomic") -> Profile:
    """The profile with these steps of overflow in each layer; its own for none."""
    layers = (
        layer._replace(overflow=layer.overflow._replace(steps=steps, detail=detail)) if steps else layer
        for layer in LIBRARIAN.layers
    )
    return LIBRARIAN._replace(layers=tuple(layers))


def assert_openai_rules(messages: list[dict[str, Any]]) -> None:
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls
        assert message["role"] != "system" or number == 0
        assert message.get("tool_calls") or message["content"].strip()
        open_calls = [call["id"] for call in message.get("tool_calls", ())]
        assert all(
            isinstance(json.loads(call["function"]["arguments"]), dict) for call in message.get("tool_calls", ())
        )
    assert not open_calls


def assert_anthropic_rules(messages: list[dict[str, Any]]) -> None:
    assert [message["role"] for message in messages] == [("user", "assistant")[n % 2] for n in range(len(messages))]
    calls: list[str] = []
    for message in messages:
        kinds = [block["type"] for block in message["content"]]
        assert kinds
        assert kinds == sorted(kinds, key=["tool_result", "text", "tool_use"].index)
        assert all(block["text"].strip() for block in message["content"] if block["type"] == "text")
        assert [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"] == calls
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    assert not calls


def named_tools(value: Any) -> set[str]:
    """The tools that messages call."""
    if isinstance(value, list):
        return {name for item in value for name in named_tools(item)}
    if not isinstance(value, Mapping):
        return set()
    is_call = "name" in value and ("input" in value or "arguments" in value)
    return {value["name"]} if is_call else {name for item in value.values() for name in named_tools(item)}


STEPS = st.lists(st.sampled_from(("drop", "detail", "truncate", "title")), unique=True)


@pytest.mark.parametrize("form", REQUESTS)
@given(
    files=conversations(),
    budget=st.sampled_from((60, 200, 600, 8000)),
    topic=st.sampled_from(("", "read file")),
    steps=STEPS,
)
def test_request_holds_the_rules_of_its_api_and_the_budget(
    form: str, files: Mapping[str, str], budget: int, topic: str, steps: Sequence[str]
) -> None:
    context = build(agent() | {**files}, with_steps(*steps), budget=budget, topic=topic, format=form)
    request = request_of(context)
    assert context.tokens <= budget
    if form == "chat-openai":
        assert_openai_rules(request["messages"])
        tools = [tool["function"] for tool in request.get("tools", ())]
    else:
        assert_anthropic_rules(request["messages"])
        tools = request.get("tools", [])
    names = [tool["name"] for tool in tools]
    assert len(names) == len({*names})
    assert {*names} >= named_tools(request["messages"])
    assert ESTIMATE.count("".join(texts_of(request))) <= budget
    # A request shows what decisions say, and nothing of a decision to leave out.
    shown = [each.message for each in context.decisions if each.message]
    assert all(each.kept for each in context.decisions if each.message)
    assert names == [message.tool for message in shown if message.role == "tool"]
    written = "\n".join(texts_of(request["messages"]))
    assert all(message.text in written for message in shown if message.role != "tool")


def session(*events: Mapping[str, object]) -> dict[str, str]:
    """A file of events of one day, in this order."""
    dated = ({**event, "timestamp": f"2025-03-14T08:{number:02}:00Z"} for number, event in enumerate(events))
    return {"sessions/s.jsonl": "".join(f"{json.dumps(event)}\n" for event in dated)}


def turn(role: str, text: str) -> dict[str, object]:
    return {"type": "turn", "role": role, "content": text}


GREP = {"type": "tool_result", "tool": "code grep", "arguments": {"word": "tide"}, "output": "a.md:3"}
TALK = session(turn("user", "## Where\n\nis the tide?"), GREP, turn("assistant", "In a.md."))
TOOL = {"tools/t.json": json.dumps({"name": "code grep", "inputSchema": {"properties": {"word": {"type": "string"}}}})}


def test_turns_results_and_tools_for_openai() -> None:
    request = request_of(build(agent() | TALK | TOOL, LIBRARIAN, format="chat-openai"))
    call = {"id": "call_1", "type": "function", "function": {"name": "code_grep", "arguments": '{"word":"tide"}'}}
    assert request == {
        "messages": [
            {"role": "system", "content": "## Identity\nYou are Luna.\n\n## Instructions\nBe kind.\n"},
            {"role": "user", "content": "## Where\n\nis the tide?"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "a.md:3"},
            {"role": "assistant", "content": "In a.md."},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "code_grep",
                    "parameters": {"properties": {"word": {"type": "string"}}, "type": "object"},
                },
            }
        ],
    }


def test_turns_results_and_tools_for_anthropic() -> None:
    request = request_of(build(agent() | TALK | TOOL, LIBRARIAN, format="chat-anthropic"))
    assert "".join(block["text"] for block in request["system"]).endswith("## Instructions\nBe kind.\n")
    assert request["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert request["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "## Where\n\nis the tide?"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "call_1", "name": "code_grep", "input": {"word": "tide"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "a.md:3"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "In a.md."}]},
    ]
    assert [*request["tools"][0]] == ["name", "input_schema"]


@pytest.mark.parametrize("form", REQUESTS)
def test_result_of_a_tool_that_is_not_shown_is_text(form: str) -> None:
    request = request_of(build(agent() | TALK, LIBRARIAN, format=form))
    assert "tools" not in request
    assert not named_tools(request["messages"])
    assert any("Result of code_grep:\na.md:3" in text for text in texts_of(request["messages"]))


def test_first_message_for_anthropic_is_the_users() -> None:
    context = build(agent() | session(turn("assistant", "Hello.")), LIBRARIAN, format="chat-anthropic")
    assert texts_of(request_of(context)["messages"]) == ["...", "Hello."]


@pytest.mark.parametrize("form", REQUESTS)
def test_other_sessions_and_markers_stay_in_the_systems_text(form: str) -> None:
    older = {"sessions/o.jsonl": json.dumps({**turn("user", "Older."), "timestamp": "2025-03-01T08:00:00Z"})}
    talk = session(*(turn("user", f"Word {number} " * 60) for number in range(12)))
    request = request_of(build(agent() | older | talk, LIBRARIAN, budget=900, format=form))
    spoken = "\n".join(texts_of(request["messages"][form == "chat-openai" :]))
    system = "\n".join(texts_of(request.get("system") or request["messages"][0]))
    assert "Older." not in spoken
    assert "Word 11" in spoken
    assert MARKER in system


def test_tool_is_shown_whole_or_not_at_all() -> None:
    tools = {"tools/t.json": json.dumps([{"name": f"tool{n}", "description": "word " * 80} for n in range(5)])}
    context = build(agent() | tools, with_steps("detail", "truncate", detail="micro"), budget=250, format="chat-openai")
    shown = [tool["function"]["description"] for tool in request_of(context)["tools"]]
    assert 0 < len(shown) < 5
    assert {*shown} == {"word " * 80}
    assert ESTIMATE.count("".join(shown)) <= 250


def test_secrets_are_masked_in_messages_arguments_and_tools(tmp_path: Path) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"
    talk = session(turn("user", f"use {token}"), {**GREP, "arguments": {"word": token}, "output": f"x {token}"})
    tools = {"tools/t.json": json.dumps({"name": "code grep", "description": f"uses {token}\u202e"})}
    fill(tmp_path, {**talk, **tools, "ctxasm.yaml": "profile: librarian\n"})
    for form in REQUESTS:
        out = inside("build", "-q", "--date", "2025-03-14", "-f", form, cwd=tmp_path).out
        assert out.count("[masked:") == 4
        assert token not in out
        assert "\u202e" not in out


UNLIMITED = LIBRARIAN._replace(
    merge=(),
    layers=tuple(
        layer._replace(query=layer.query._replace(max_candidates=0), ranking=Ranking(), limits=Limits())
        for layer in LIBRARIAN.layers
        if layer.id in {"turns", "tools", "results"}
    ),
)
"""Only what a request has besides the system's text, and all of it."""


@pytest.mark.parametrize("form", REQUESTS)
@given(files=conversations())
def test_messages_read_as_a_history_are_written_as_the_same_messages(form: str, files: Mapping[str, str]) -> None:
    tools = {"tools/t.json": files["tools/t.json"]}
    written = request_of(build(files, UNLIMITED, budget=10**6, format=form))["messages"]
    said = [message for message in written if message["role"] != "system"]
    history = session_of_history(json.dumps(written), [])[0]
    context = build(tools, UNLIMITED, budget=10**6, format=form, history=history)
    assert request_of(context)["messages"] == said


def test_history_is_the_current_session(tmp_path: Path) -> None:
    fill(tmp_path, {**TALK, "ctxasm.yaml": "profile: librarian\ndate: 2025-03-14\n"})
    lines = '{"role": "user", "content": "Piped."}\n{"type": "turn", "role": "assistant", "text": "Yes."}\n'
    piped = inside("build", "-q", "--history", "-", "-f", "chat-openai", cwd=tmp_path, stdin=lines)
    request = json.loads(piped.out)
    assert [message["content"] for message in request["messages"][1:]] == ["Piped.", "Yes."]
    assert "assistant: In a.md." in request["messages"][0]["content"]
    given_in_python = [{"role": "user", "content": "Piped."}, {"role": "assistant", "content": "Yes."}]
    context = contextasm.build(workspace=tmp_path, history=given_in_python, format="chat-openai")
    assert contextasm.render(context) == piped.out
    empty = inside("build", "-q", "--history", "-", "-f", "chat-openai", cwd=tmp_path, stdin="[]")
    assert [message["role"] for message in json.loads(empty.out)["messages"]] == ["system"]


def test_record_of_a_history_is_replayed_and_holds_no_secret(tmp_path: Path) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"
    fill(tmp_path, {"ctxasm.yaml": "profile: librarian\ndate: 2025-03-14\n"})
    history = json.dumps([turn("user", f"My key is {token}.")])
    out = inside("build", "-q", "--history", "-", "--record", cwd=tmp_path, stdin=history).out
    assert "user: My key is [masked:" in out
    (record,) = (tmp_path / ".ctxasm/records").iterdir()
    assert token not in record.read_text()
    assert inside("replay", record, cwd=tmp_path).out == out
    dropped = inside("build", "-q", "--history", "-", "--privacy", "drop", cwd=tmp_path, stdin=history).out
    assert "My key" not in dropped
