"""Requests to models' APIs: the system's text, the conversation and the tools of a context.

As the types of the SDKs of OpenAI (Chat Completions) and Anthropic (Messages) have them in 2026. Messages of one
speaker are joined, each result stands right after its call, and no text is empty: some of these are rules of one API
only, and good for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count, groupby
from operator import itemgetter
from typing import Any

from contextasm.model import Context, Message
from contextasm.text.json_reader import load_json

Blocks = Sequence[Mapping[str, Any]]
"""The system's text in blocks, as Anthropic's API has them."""

Part = tuple[str, str, Message]
"""Speaker, `user` or `assistant`; id of a call, empty for a text; message. A call and its result have one message."""

SILENCE = "..."
"""Text of a user's message before the first one for Anthropic if that is the assistant's, which the API refuses."""


def _openai(context: Context, system: Blocks) -> Mapping[str, Any]:
    messages: list[Mapping[str, Any]] = []
    if system:
        messages.append({"role": "system", "content": "".join(block["text"] for block in system)})
    for speaker, parts in _turns(context):
        called = [(call, message) for _, call, message in parts if call]
        text = "\n\n".join(message.text for _, call, message in parts if not call)
        calls = [
            {"id": call, "type": "function", "function": {"name": message.tool, "arguments": message.arguments}}
            for call, message in called
        ]
        if speaker == "user":
            messages += ({"role": "tool", "tool_call_id": call, "content": message.text} for call, message in called)
            calls = []
        if text or calls:
            messages.append({"role": speaker} | _filled(content=text, tool_calls=calls))
    return {"messages": messages} | _filled(tools=[{"type": "function", "function": tool} for tool in _tools(context)])


def _anthropic(context: Context, system: Blocks) -> Mapping[str, Any]:
    messages = [{"role": speaker, "content": [*map(_block, parts)]} for speaker, parts in _turns(context)]
    if messages and messages[0]["role"] != "user":
        messages = [{"role": "user", "content": [{"type": "text", "text": SILENCE}]}, *messages]
    tools = [
        {"input_schema" if key == "parameters" else key: value for key, value in tool.items()}
        for tool in _tools(context)
    ]
    return _filled(system=system) | {"messages": messages} | _filled(tools=tools)


def _block(part: Part) -> Mapping[str, Any]:
    speaker, call, message = part
    if not call:
        return {"type": "text", "text": message.text}
    if speaker == "user":
        return {"type": "tool_result", "tool_use_id": call, "content": message.text}
    return {"type": "tool_use", "id": call, "name": message.tool, "input": load_json(message.arguments, call)}


REQUESTS: Mapping[str, Callable[[Context, Blocks], Mapping[str, Any]]] = {
    "chat-openai": _openai,
    "chat-anthropic": _anthropic,
}
"""Functions that give the parameters of a request, by format, from a context and its system's text."""


def _filled(**parameters: Any) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value}


def _turns(context: Context) -> list[tuple[str, list[Part]]]:
    """The conversation by speaker: a call and its result for each result of a tool that is shown, others as text."""
    tools = {tool["name"] for tool in _tools(context)}
    shown = {(each.path, each.lines): each.message for each in context.decisions if each.message}
    parts: list[Part] = []
    calls = count(1)
    for place in sorted(shown):
        message = shown[place]
        if message.role == "result" and message.tool in tools:
            call = f"call_{next(calls)}"
            parts += [("assistant", call, message), ("user", call, message)]
        elif message.role == "result":
            parts.append(("user", "", message._replace(text=f"Result of {message.tool}:\n{message.text}")))
        elif message.role != "tool":
            parts.append((message.role, "", message))
    return [(speaker, [*group]) for speaker, group in groupby(parts, itemgetter(0))]


def _tools(context: Context) -> list[Any]:
    tools = (each.message for each in context.decisions if each.message and each.message.role == "tool")
    return [load_json(tool.text, tool.tool) for tool in tools]
