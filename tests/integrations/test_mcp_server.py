"""The MCP server: what clients are offered, what they get, and what they can't do."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.types import PromptReference, TextContent

import contextasm
from contextasm.integrations.mcp_answers import ServedWorkspace
from contextasm.integrations.mcp_server import MOST_DECISIONS, make_server
from tests.command import SAMPLE, clean, fill, inside, refused

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
LUNA = {"agent": "luna", "team": "q1"}


def ask(served: ServedWorkspace, question: Callable[[Any], Awaitable[Any]], mode: Any = "auto") -> Any:
    """The answer of a server to what a client asks it, in this process; a refusal as its error."""

    async def talk() -> Any:
        async with Client(make_server(served), mode=mode) as client:
            try:
                return await question(client)
            except MCPError as error:
                return error

    return asyncio.run(talk())


async def read_resource(client: Any, uri: str) -> Any:
    """Ask for a resource."""
    return await client.read_resource(uri)


def call(served: ServedWorkspace, tool: str, arguments: dict[str, Any], mode: str = "auto") -> Any:
    """The result of a tool."""
    return ask(served, lambda client: client.call_tool(tool, arguments), mode)


@MODES
def test_document_is_the_one_that_the_command_writes(mode: str) -> None:
    """As text and nothing else: a client that gets structure drops the text. The receipt is a text of its own."""
    result = call(ServedWorkspace(str(SAMPLE)), "build_context", {**LUNA, "budget": "2k", "topic": "the demo"}, mode)
    same = call(ServedWorkspace(str(SAMPLE)), "build_context", {**LUNA, "budget": 2000, "topic": "the demo"}, mode)
    assert same.content == result.content
    words = ("build", "-q", "-w", SAMPLE, "-a", "luna", "-t", "q1", "-b", "2k", "--topic", "the demo")
    document, told = (content.text for content in result.content)
    assert document == inside(*words, "--audience", "shared").out
    assert result.structured_content is None
    assert " of 2,000 tokens (estimate)" in told
    assert result.meta["ctxasm"]["tokens"] <= 2000


@MODES
def test_tools_are_offered_with_all_their_hints(mode: str) -> None:
    """Those that write only where the server is told to; names that the server has are no parameters."""

    def offered(served: ServedWorkspace) -> dict[str, list[str]]:
        tools = ask(served, lambda client: client.list_tools(), mode).tools
        for tool in tools:
            hints = tool.annotations
            assert (hints.destructive_hint, hints.open_world_hint) == (False, False)
            assert hints.read_only_hint == hints.idempotent_hint == (tool.name not in {"remember", "log"})
            assert bool(tool.output_schema) == (tool.name != "build_context")
            assert tool.description
            assert all(field["description"] for field in tool.input_schema["properties"].values())
        return {tool.name: [*tool.input_schema["properties"]] for tool in tools}

    assert offered(ServedWorkspace(str(SAMPLE))) == {
        "build_context": ["agent", "team", "topic", "budget"],
        "explain_context": ["agent", "team", "topic", "budget", "place"],
        "search_memories": ["query", "agent", "team", "top"],
    }
    assert offered(ServedWorkspace(str(SAMPLE), agent="luna", team="q1", writes=True)) == {
        "build_context": ["topic", "budget"],
        "explain_context": ["topic", "budget", "place"],
        "search_memories": ["query", "top"],
        "remember": ["text", "type", "importance", "tags", "key", "supersedes"],
        "log": ["text"],
    }


def test_client_can_not_leave_what_the_server_names() -> None:
    """Neither by a parameter that is not there, nor by a name that is a path, nor by a tool that is not offered."""
    pinned = ServedWorkspace(str(SAMPLE), agent="luna", team="q1")
    own = call(pinned, "build_context", {}).content[0].text
    assert call(pinned, "build_context", {"agent": "kenji"}).content[0].text == own
    for name in ("../../etc", "nobody", "lu\u200bna"):
        result = call(ServedWorkspace(str(SAMPLE)), "build_context", {"agent": name})
        assert (result.is_error, len(result.content)) == (True, 1)
    refusal = call(pinned, "remember", {"text": "A"})
    assert "remember" in str(refusal if isinstance(refusal, MCPError) else refusal.is_error and refusal.content)


def test_private_memories_stay_with_their_owner(tmp_path: Path) -> None:
    """By every way: document, decisions, search, and the resource of an id."""
    text = "- [fact] The vault opens at noon {id=open}\n- [fact] The vault code is moon {id=closed private=true}\n"
    fill(tmp_path, {"agents/a/memories/m.md": text})

    def all_answers(audience: str) -> str:
        served = ServedWorkspace(str(tmp_path), agent="a", audience=audience)
        tools: dict[str, dict[str, str]] = {
            "build_context": {"topic": "vault"},
            "explain_context": {},
            "search_memories": {"query": "vault"},
        }
        answers = [call(served, name, arguments).content for name, arguments in tools.items()]
        return str([*answers, ask(served, lambda client: client.read_resource("memory://closed"))])

    assert "moon" not in all_answers("shared")
    assert all_answers("shared").count("noon") >= 2
    assert all_answers("personal").count("moon") >= 3


def test_decisions_of_a_place_are_told(tmp_path: Path) -> None:
    """By line, file or id; of very many the first, and the number of the others."""
    served = ServedWorkspace(str(SAMPLE), "luna", "q1")
    decisions = call(served, "explain_context", {"place": "agents/luna/IDENTITY.md:2"}).structured_content["decisions"]
    assert [(each["path"], each["outcome"]) for each in decisions] == [("agents/luna/IDENTITY.md", "included")]
    assert call(served, "explain_context", {"place": "nowhere.md"}).is_error
    fill(tmp_path, {"agents/a/memories/m.md": "".join(f"- Fact {number}\n" for number in range(300))})
    result = call(ServedWorkspace(str(tmp_path)), "explain_context", {}).structured_content
    assert (len(result["decisions"]), result["left_out"]) == (MOST_DECISIONS, 302 - MOST_DECISIONS)


def test_what_is_remembered_is_stored_and_found(tmp_path: Path) -> None:
    """And what is wrong with it is told; a log entry goes to the log of the day."""
    served = ServedWorkspace(str(copytree(SAMPLE, tmp_path / "w")), agent="luna", writes=True)
    stored = call(served, "remember", {"text": "The gulls are drawn last\u200b", "type": "decision", "tags": ["art"]})
    assert stored.structured_content["outcome"] == "stored"
    kept = contextasm.find_memory(stored.structured_content["id"], agent="luna", workspace=tmp_path / "w")
    assert kept.writer == "mcp"
    assert "hidden" in stored.structured_content["problems"][0]
    found = call(served, "search_memories", {"query": "when are the gulls drawn", "top": 1}).structured_content["hits"]
    assert [(hit["id"], hit["text"]) for hit in found] == [
        (stored.structured_content["id"], "The gulls are drawn last")
    ]
    again = call(served, "remember", {"text": "The gulls are drawn last."}).structured_content
    assert (again["outcome"], again["id"]) == ("reinforced", stored.structured_content["id"])
    assert call(served, "remember", {"text": "B", "type": "no]type"}).is_error
    path = call(served, "log", {"text": "Drew the gulls."}).structured_content["path"]
    assert "Drew the gulls." in (tmp_path / "w" / path).read_text()


def test_private_memory_can_not_be_found_by_storing_it_again(tmp_path: Path) -> None:
    """Nor be switched off: for a shared server it is as if it were not."""
    private = "- [fact] The vault code is moon {id=closed private=true}\n"
    below = "\n## Kept {private=true}\n\n- [fact] The vault opens by a song {id=sung}\n"
    fill(tmp_path, {"agents/a/memories/m.md": private + below})
    served = ServedWorkspace(str(tmp_path), agent="a", writes=True)
    for text in ("The vault code is moon", "the vault opens by a song."):
        assert call(served, "remember", {"text": text}).structured_content["outcome"] == "stored"
    for name in ("closed", "sung"):
        assert call(served, "remember", {"text": "Another thing", "supersedes": [name]}).is_error
    assert (tmp_path / "agents/a/memories/m.md").read_text() == private + below
    own = served._replace(audience="personal")
    (again,) = [call(own, "remember", {"text": "The vault code is moon", "supersedes": ["sung"]}).structured_content]
    assert again["outcome"] == "reinforced"


@MODES
def test_resources_prompt_and_completion_name_the_same_things(mode: str) -> None:
    """A context by its owner, a memory by its id, the document as the first message; errors in one line."""
    served = ServedWorkspace(str(SAMPLE))
    document = call(served, "build_context", LUNA).content[0].text

    async def question(client: Any) -> tuple[str, str, str, list[str]]:
        context = (await client.read_resource("context://luna/q1")).contents[0]
        memory = (await client.read_resource("memory://m-9cecdbb2e1b3")).contents[0].text
        prompt = (await client.get_prompt("start", LUNA)).messages[0].content.text
        names = await client.complete(PromptReference(name="start"), {"name": "agent", "value": "l"})
        assert context.mime_type == "text/markdown"
        return context.text, prompt, memory, names.completion.values

    context, prompt, memory, names = ask(served, question, mode)
    assert context == prompt == document
    assert memory.startswith("In the demo the ledger")
    assert names == ["luna"]
    for uri, name in (("context://nobody", "nobody"), ("memory://nothing", "nothing")):
        refusal = ask(served, partial(read_resource, uri=uri), mode)
        assert isinstance(refusal, MCPError)
        assert name in str(refusal)
        assert "\n" not in str(refusal)


def test_server_speaks_over_standard_streams() -> None:
    """As hosts start it; the workspace is named on its command line."""
    words = ["-m", "contextasm", "mcp", "-w", str(SAMPLE), "-a", "luna", "-t", "q1"]
    server = StdioServerParameters(command=sys.executable, args=words, env=clean(), cwd="/")

    async def talk() -> str:
        async with Client(stdio_client(server)) as client:
            document, _ = (await client.call_tool("build_context", {})).content
            assert isinstance(document, TextContent)
            return document.text

    expected = inside("build", "-q", "-w", SAMPLE, "-a", "luna", "-t", "q1", "--audience", "shared").out
    assert asyncio.run(talk()) == expected


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("-w", SAMPLE, "-a", "lune"), "did you mean luna"),
        (("-w", SAMPLE, "-t", "q9"), "unknown team q9"),
        (("-w", SAMPLE, "-p", "nope"), "nope"),
    ],
)
def test_server_of_names_that_are_not_there_does_not_start(words: tuple[str | Path, ...], part: str) -> None:
    """The person who configures it reads why, and not the model later on."""
    refused(inside("mcp", *words), part)


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    for name in [name for name in sys.modules if "integrations.mcp" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    refused(inside("mcp", "-w", SAMPLE), "pip install 'contextasm[mcp]'")
