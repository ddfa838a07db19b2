"""A model server on 127.0.0.1 for one command: it keeps what a host sends, and answers with a word or a call of a tool.

It speaks Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's generateContent, all as streams.
`python -m tests.hosts.model_server PORT LOG TOOL COMMAND...` runs a command next to it; LOG gets a request a line.
"""

import gzip
import json
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REPLY, CALL, SEARCH = "Noted.", "callone", "callzero"
"""The answer in words, and the ids of the call of the tool and of the call that asks for its schema."""

Call = tuple[str, Mapping[str, Any], str]
"""Name of a tool, its arguments, and the id of the call."""


def tool_call(body: Mapping[str, Any], tool: str) -> Call | None:
    """The call that brings the tool: directly if it is offered, else found first. None once its result is there."""
    text = json.dumps(body)
    if not tool or CALL in text:
        return None
    offered = _names(body)
    for name in offered:
        if name.endswith(tool):
            return name, {}, CALL
    named = re.search(rf"mcp__\w*{tool}\b", text)
    if SEARCH in text and named:  # Claude Code: brought, and only in the conversation
        return named[0], {}, CALL
    for finder, words in (("ToolSearch", {"query": f"select:{named and named[0]}"}), ("tool_search", {"query": tool})):
        if finder in offered and SEARCH not in text and "tool_call" not in offered:
            return finder, words, SEARCH
    return ("tool_call", {"id": f"ctxasm__{tool}", "args": {}}, CALL) if "tool_call" in offered else None


def _names(body: Mapping[str, Any]) -> list[str]:
    """Names of the tools of a request; of one inside a namespace, both with a blank between them."""
    found = [each for item in body.get("input") or () for each in item.get("tools") or ()]
    names = []
    for tool in [*(body.get("tools") or ()), *found]:
        inner = tool.get("functionDeclarations") or tool.get("tools") or [tool.get("function") or tool]
        space = f"{tool['name']} " if tool.get("type") == "namespace" else ""
        names += [space + str(each.get("name") or each.get("type")) for each in inner]
    return names


def messages(call: Call | None) -> list[dict[str, Any]]:
    """An answer in Anthropic's Messages."""
    block = {"type": "tool_use", "id": call[2], "name": call[0], "input": {}} if call else {"type": "text", "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        if call
        else {"type": "text_delta", "text": REPLY}
    )
    head = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return [
        {"type": "message_start", "message": head},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use" if call else "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ]  # fmt: skip


def responses(call: Call | None) -> list[dict[str, Any]]:
    """An answer in OpenAI's Responses."""
    item: dict[str, Any] = {
        "type": "message",
        "id": "i",
        "role": "assistant",
        "content": [{"type": "output_text", "text": REPLY}],
    }
    if call and call[2] == SEARCH:
        item = {"type": "tool_search_call", "id": "i", "call_id": SEARCH, "execution": "client", "arguments": call[1]}
    elif call:
        space, _, name = call[0].rpartition(" ")
        item = {"type": "function_call", "id": "i", "call_id": CALL, "name": name, "arguments": json.dumps(call[1])}
        item |= {"namespace": space} if space else {}
    base = {"id": "r", "object": "response", "model": "m", "output": [item]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        {"type": "response.created", "response": base | {"output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item | {"status": "completed"}},
        {"type": "response.completed", "response": base | {"status": "completed", "usage": usage}},
    ]


def chat(call: Call | None) -> list[dict[str, Any]]:
    """An answer in OpenAI's Chat Completions."""
    function = {"name": call[0], "arguments": json.dumps(call[1])} if call else {}
    calls = {"tool_calls": [{"index": 0, "id": CALL, "type": "function", "function": function}]}
    delta = {"role": "assistant", **(calls if call else {"content": REPLY})}
    choices = [
        {"index": 0, "delta": delta, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"},
    ]
    return [
        {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [each]}
        for each in choices
    ]


def gemini(call: Call | None) -> list[dict[str, Any]]:
    """An answer in Gemini's generateContent."""
    part = {"functionCall": {"id": CALL, "name": call[0], "args": call[1]}} if call else {"text": REPLY}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    return [{"candidates": [candidate], "usageMetadata": usage}]


DIALECTS = {"/messages": messages, "/responses": responses, "/chat/completions": chat, "generatecontent": gemini}
"""The functions that answer, by the end of the path in small letters."""


class _Handler(BaseHTTPRequestHandler):
    log: Path
    tool: str

    def log_message(self, *_: Any) -> None: ...

    def do_POST(self) -> None:
        """Keep a request to the model and answer it."""
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data or b"{}")
        path = self.path.partition("?")[0].lower()
        dialect = next((each for end, each in DIALECTS.items() if path.endswith(end)), None)
        if not dialect:
            return self._send("application/json", b'{"input_tokens": 1, "totalTokens": 1}')
        with self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(body) + "\n")
        events = dialect(tool_call(body, self.tool))
        if "generatecontent" in path and "stream" not in path:
            return self._send("application/json", json.dumps(events[0]).encode())
        lines = [
            (f"event: {each['type']}\n" if "type" in each else "") + f"data: {json.dumps(each)}\n\n" for each in events
        ]
        return self._send("text/event-stream", "".join([*lines, "data: [DONE]\n\n" * (dialect is chat)]).encode())

    def do_GET(self) -> None:
        """Answer whatever else is asked for."""
        self._send("application/json", b'{"object": "list", "data": [], "models": []}')

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main(port: str, log: str, tool: str, *command: str) -> int:
    """Serve while the command runs, and return its exit code."""
    _Handler.log, _Handler.tool = Path(log), tool
    with ThreadingHTTPServer(("127.0.0.1", int(port)), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        code = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
        server.shutdown()
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
