"""The conversation so far, as a caller has it: events of a session, or messages of a model's API, become events.

Messages are those of OpenAI's Chat Completions API and Anthropic's Messages API, and the items of OpenAI's Responses
API, as the types of their SDKs have them in 2026. The system's text is no part of a conversation: a context takes its
place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from contextasm.model import Cleaning, ContextasmError, Document, NamedTuple, Problem, Request
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.cleaning.private_parts import KEY, is_private_json
from contextasm.text.data.events import compact_json
from contextasm.text.json_reader import load_json

HISTORY = "--history"
"""Path of the session in decisions and messages: no file of a workspace is named so by any pattern."""

_HINT = "give a JSON list of messages with `role`, or of events with `type`"

_UNREAD_KEYS = ("refusal", "audio")
"""The keys of a message that may hold something that no event shows."""

_THINKING = ("thinking", "redacted_thinking", "reasoning")
"""Types of parts that are a model's own: they are left out on purpose."""

_ITEM_CALLS = tuple(
    f"{tool}_call" for tool in ("function", "custom_tool", "local_shell", "shell", "apply_patch", "computer")
)
"""Types of items that are calls of tools. The type of a result has `_output` after that of its call."""


class _Read(NamedTuple):
    """The calls and results of the messages that were read so far, and what was not read."""

    calls: dict[str, tuple[object, object]]
    """Name of the tool and arguments of each call by its id."""
    private_calls: set[str]
    """Ids of the calls in private messages."""
    results: list[tuple[str, dict[str, object]]]
    """The event of each result, with the id of its call, which may come later."""
    unread: Counter[str]
    """Number of the parts that no event shows, by their types."""


def session_of_history(text: str, problems: list[Problem]) -> tuple[str, str]:
    """The session, one event a line, of a JSON list or of one JSON object a line; a blank line for an empty list.

    With it, words that count the parts that are left out on purpose, a model's thinking; empty for none. One problem
    counts the other parts of messages that can't be shown. It is added to `problems`.
    Raises `ContextasmError` for a text without any value, for what is not JSON, and for another value than an event or
    a message.
    """
    if not text.strip():
        raise ContextasmError(HISTORY, "is empty", f"{_HINT}; [] if nothing was said")
    lines = [] if text.lstrip().startswith("[") else text.split("\n")
    entries = [load_json(line, f"{HISTORY}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    read = _Read({}, set(), [], Counter())
    events: list[Mapping[str, object]] = []
    for number, entry in enumerate(entries if lines else _listed(text), 1):
        if not isinstance(entry, dict) or not isinstance(entry.get("type", entry.get("role")), str):
            raise ContextasmError(HISTORY, f"value {number} is neither a message nor an event", _HINT)
        if ("role" in entry and entry.get("type", "message") == "message") or _is_item(entry):
            is_private = is_private_json(compact_json(entry))
            made = _events_of_message(entry, read, is_private=is_private)
            events += (event | {KEY: True} for event in made) if is_private else made
        else:
            events.append(entry)
    for call, event in read.results:
        if call in read.private_calls:
            event[KEY] = True
    read.unread["call without a result"] += len(read.calls.keys() - {call for call, _ in read.results})
    thinking = sum(read.unread.pop(kind, 0) for kind in _THINKING)
    if counts := [f"{kind} ({count:,})" for kind, count in sorted(read.unread.items()) if count]:
        message = f"some parts of messages are left out: {', '.join(counts)}"
        hint = "write them as text, because only texts, calls and results are read"
        problems.append(Problem("not-read", HISTORY, 0, message, hint))
    session = "".join(f"{compact_json(event)}\n" for event in events) or "\n"
    return session, f"{thinking:,} part{'s' * (thinking != 1)} of thinking left out of --history" if thinking else ""


def history_document(request: Request) -> Document:
    """The session of a request's `history` as a file, clean as the request asks for it."""
    cleaning = Cleaning(secrets="keep" if request.privacy == "off" else "mask")
    document = decode_document(HISTORY, request.history.encode(), cleaning)
    assert isinstance(document, Document)  # its bytes are UTF-8
    return document


def _listed(text: str) -> list[object]:
    value = load_json(text, HISTORY)
    assert isinstance(value, list)  # it begins with `[`
    return value


def _is_item(entry: Mapping[str, object]) -> bool:
    """Whether a value is an item of the Responses API: a call, a result, or a model's thinking."""
    kind = str(entry.get("type"))
    return kind.removesuffix("_output") in _ITEM_CALLS or (kind == "reasoning" and "summary" in entry)


def _events_of_message(message: Mapping[str, object], read: _Read, *, is_private: bool) -> Iterator[dict[str, object]]:
    """The results of tools and the texts of a message or item, each as an event. Calls are noted."""
    role = str(message.get("role", "assistant"))
    read.unread.update(key for key in _UNREAD_KEYS if message.get(key))
    for part in _parts(message):
        kind = str(part.get("type"))
        if kind in {"tool_use", *_ITEM_CALLS}:
            arguments = _arguments(_first(part, "arguments", "input", "action", "operation"))
            call = str(_first(part, "call_id", "id"))
            read.calls[call] = part.get("name", kind), arguments
            if is_private:
                read.private_calls.add(call)
        elif kind == "tool_result" or kind.removesuffix("_output") in _ITEM_CALLS:
            yield _result(_first(part, "tool_use_id", "call_id", "id"), _first(part, "content", "output"), read)
        elif role in {"system", "developer"}:
            continue
        elif isinstance(part.get("text"), str):
            yield {"type": "turn", "role": role, "content": part["text"]}
        else:
            read.unread[_kind(part)] += 1


def _parts(message: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The parts of a message, in which its calls and its result are items; of an item, the item itself."""
    if _is_item(message):
        return [message]
    role, content = message["role"], message.get("content")
    if role in ("tool", "function"):
        id_ = message.get("tool_call_id" if role == "tool" else "name")
        return [{"type": "function_call_output", "call_id": id_, "output": content}]
    calls = [(call.get("id"), call.get("function")) for call in _mappings(message.get("tool_calls"))]
    calls += [(call.get("name"), call) for call in _mappings([message.get("function_call")])]  # an older form: no id
    items = [
        {**each, "type": "function_call", "call_id": id_} for id_, function in calls for each in _mappings([function])
    ]
    return [*items, *_blocks(content)]


def _first(part: Mapping[str, object], *keys: str) -> object:
    return next((part[key] for key in keys if part.get(key) is not None), None)


def _result(call: object, content: object, read: _Read) -> dict[str, object]:
    name, arguments = read.calls.get(str(call), (None, None))
    if isinstance(content, list) or (isinstance(content, dict) and "type" in content):
        blocks = _blocks(content)
        read.unread.update(_kind(block) for block in blocks if not isinstance(block.get("text"), str))
        content = "\n\n".join(text for block in blocks if isinstance(text := block.get("text"), str))
    event = {"type": "tool_result", "tool": name, "arguments": arguments, "output": content}
    read.results.append((str(call), event))
    return event


def _blocks(content: object) -> list[Mapping[str, object]]:
    """The parts of a content; a text is one, and what is neither a text nor a mapping is one without any key."""
    if content is None:
        return []
    parts = content if isinstance(content, list) else [content]
    return [part if isinstance(part, dict) else {"text": part} if isinstance(part, str) else {} for part in parts]


def _kind(block: Mapping[str, object]) -> str:
    return str(block.get("type") or "part")[:40]


def _arguments(written: object) -> object:
    try:
        return load_json(written, HISTORY) if isinstance(written, str) else written
    except ContextasmError:  # a model wrote them
        return written


def _mappings(value: object) -> Iterator[Mapping[str, object]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
