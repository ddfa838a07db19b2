"""The MCP server: what clients are offered, what they get, and what they can't do.

`UPDATE_CASES=1 pytest tests/integrations/test_mcp_server.py` writes what is offered.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from pathlib import Path
from shutil import copytree
from typing import Any
from urllib.parse import quote

import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.types import Implementation, PromptReference, TextContent

import contextasm
from contextasm.cli.command_line import load_command
from contextasm.integrations.mcp_answers import ServedWorkspace, in_words_of_clients
from contextasm.integrations.mcp_server import make_server
from contextasm.integrations.mcp_tools import ServedTools
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.cleaning.clean import LONGEST_MESSAGE
from contextasm.text.memories.writer import LONGEST_TEXT
from tests.command import CASES, COMMAND, SAMPLE, TIMEOUT, clean, fill, inside, refused

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
LUNA = {"agent": "luna", "team": "q1"}


def ask(
    served: ServedWorkspace, question: Callable[[Any], Awaitable[Any]], mode: Any = "auto", name: str = "claude-code"
) -> Any:
    """The answer of a server to what a client of this name asks it, in this process; a refusal as its error."""

    async def talk() -> Any:
        about = Implementation(name=name, version="1")
        async with Client(make_server(ServedTools(served)), mode=mode, client_info=about) as client:
            try:
                return await question(client)
            except MCPError as error:
                return error

    return asyncio.run(talk())


async def read_resource(client: Any, uri: str) -> Any:
    """Ask for a resource."""
    return await client.read_resource(uri)


def call(served: ServedWorkspace, tool: str, arguments: dict[str, Any], *by: str) -> Any:
    return ask(served, lambda client: client.call_tool(tool, arguments), *by)


def data(result: Any) -> Any:
    return json.loads(result.content[0].text)


def refused_call(served: ServedWorkspace, tool: str, arguments: dict[str, Any], mode: str = "auto") -> str:
    return refusal_of(call(served, tool, arguments, mode))


def refusal_of(result: Any) -> str:
    """The one line with which a call is refused."""
    assert result.is_error
    (content,) = result.content
    where, what, hint = content.text.split(": ", 2)
    assert where
    assert what
    assert hint
    assert content.text.isprintable()
    assert len(content.text) <= LONGEST_MESSAGE
    return str(content.text)


@MODES
def test_document_is_the_one_that_the_command_writes(mode: str) -> None:
    result = call(ServedWorkspace(str(SAMPLE)), "build_context", {**LUNA, "budget": "2k", "topic": "the demo"}, mode)
    same = call(ServedWorkspace(str(SAMPLE)), "build_context", {**LUNA, "budget": 2000, "topic": "the demo"}, mode)
    assert same.content == result.content
    words = ("build", "-q", "-w", SAMPLE, "-a", "luna", "-t", "q1", "-b", "2k", "--topic", "the demo")
    document, told = (content.text for content in result.content)
    assert document == inside(*words, "--audience", "shared").out
    assert result.structured_content is None
    assert " of 2,000 tokens (estimate)" in told
    assert result.meta["ctxasm"]["tokens"] <= 2000


@pytest.mark.parametrize(("client", "limit"), [("x", 16_000), ("openclaw-bundle-mcp", 16_000), ("claude-code", 40_000)])
def test_no_answer_is_so_large_that_a_host_cuts_it(tmp_path: Path, client: str, limit: int) -> None:
    facts = [f"- [fact] {number} {'Паром «7» ' * 30}{'港' * 80} {{id=f{number}}}\n" for number in range(300)]
    memories = "".join([f"- [fact] Паром {'x' * 60_000} {{id=long}}\n", *facts])
    identity = "".join(f'"{number}" {"Паром 港 " * 9}\n\n' for number in range(600))
    fill(tmp_path, {"agents/a/memories/m.md": memories, "agents/a/IDENTITY.md": identity})

    def answer(tool: str, **arguments: Any) -> Any:
        result = call(ServedWorkspace(str(tmp_path)), tool, arguments, "auto", client)
        assert not result.is_error, result.content
        assert limit / 2 < len(result.model_dump_json().encode()) < limit or arguments
        return result

    assert f" of {'3,250' if limit == 16_000 else '9,000'} tokens" in answer("build_context").content[1].text
    first = answer("build_context", budget="60k")
    parts = [answer("build_context", budget="60k", part=n + 1) for n in range(first.meta["ctxasm"]["parts"])]
    assert "".join(part.content[0].text for part in parts) == contextasm.build(workspace=tmp_path, budget="60k").text
    assert f"part 1 of {len(parts)}" in first.content[1].text
    told = refused_call(ServedWorkspace(str(tmp_path)), "build_context", {"budget": "60k", "part": 99})
    assert told.startswith("part: part 99 does not exist: give a number from 1 to")
    assert data(answer("explain_context"))["left_out"] > 0
    found = data(answer("search_memories", query="Паром", top=50))
    assert len(found["hits"]) + found["left_out"] == 50


@pytest.mark.parametrize(("client", "is_told"), [("codex-mcp-client", True), ("x", False)])
def test_file_that_the_host_loads_is_named_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str, is_told: bool
) -> None:
    fill(tmp_path, {"AGENTS.md": "Ferries only.\n", "MEMORY.md": "- [fact] The vault code is moon\n"}, base={})
    monkeypatch.chdir(tmp_path)
    served = ServedWorkspace(str(tmp_path), profile="openclaw", audience="personal")
    document, told = (content.text for content in call(served, "build_context", {}, "auto", client).content)
    assert "moon" in document
    assert ("Ferries" in document, "not repeated, because Codex loads these files: AGENTS.md" in told) == (
        not is_told,
        is_told,
    )


def test_client_can_not_leave_what_the_server_names() -> None:
    pinned = ServedWorkspace(str(SAMPLE), agent="luna", team="q1")
    told = refused_call(pinned, "build_context", {"agent": "kenji"})
    assert told == "build_context: agent: the command line of this server sets it: leave the argument out"
    for name in ("../../etc", "nobody", "lu\u200bna"):
        result = call(ServedWorkspace(str(SAMPLE)), "build_context", {"agent": name})
        assert (result.is_error, len(result.content)) == (True, 1)
    assert "this server only reads" in refused_call(pinned, "remember", {"text": "A"})
    names = ask(pinned, lambda client: client.complete(PromptReference(name="start"), {"name": "agent", "value": ""}))
    assert names.completion.values == []


@pytest.mark.parametrize(
    ("agent", "team", "arguments", "folder"),
    [
        ("luna", None, {}, "agents/luna"),
        ("luna", "q1", {}, "agents/luna"),
        ("luna", "", {}, "agents/luna"),
        (None, "q1", {}, "teams/q1"),
        (None, "", {"agent": "kenji"}, "agents/kenji"),
        (None, None, {"agent": "kenji"}, "agents/kenji"),
        (None, None, {"team": "q1"}, "teams/q1"),
    ],
)
@pytest.mark.parametrize("tool", ["remember", "log"])
def test_writes_go_to_one_owner_on_the_day_of_the_server(
    tmp_path: Path, tool: str, agent: str | None, team: str | None, arguments: dict[str, str], folder: str
) -> None:
    fill(
        tmp_path, {"agents/luna/IDENTITY.md": "Luna.", "agents/kenji/IDENTITY.md": "Kenji.", "teams/q1/GOALS.md": "A."}
    )
    served = ServedWorkspace(str(tmp_path), agent=agent, team=team, writes=True, date="2025-03-02")
    result = call(served, tool, {"text": "The ferry sails at 7.", **arguments})
    assert not result.is_error, result.content
    file = "daily/2025-03-02.md" if tool == "log" else "memories/2025-03.md"
    assert data(result)["path"] == f"{folder}/{file}"


@pytest.mark.parametrize("tool", ["remember", "log"])
def test_client_names_one_owner_and_no_other_than_the_server(tool: str) -> None:
    text = {"text": "A."}
    for name in ("agent", "team"):
        for pinned in (
            ServedWorkspace(str(SAMPLE), agent="luna", writes=True),
            ServedWorkspace(str(SAMPLE), team="q1", writes=True),
        ):
            assert "the command line of this server sets it" in refused_call(pinned, tool, {**text, name: "q1"})
    both = {**text, "agent": "luna", "team": "q1"}
    assert "give only one" in refused_call(ServedWorkspace(str(SAMPLE), writes=True), tool, both)


def test_private_memories_stay_with_their_owner(tmp_path: Path) -> None:
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
    served = ServedWorkspace(str(SAMPLE), "luna", "q1")
    decisions = data(call(served, "explain_context", {"place": "agents/luna/IDENTITY.md:2"}))["decisions"]
    assert [(each["path"], each["outcome"]) for each in decisions] == [("agents/luna/IDENTITY.md", "included")]
    assert call(served, "explain_context", {"place": "nowhere.md"}).is_error
    fill(tmp_path, {"agents/a/memories/m.md": "".join(f"- Fact {number}\n" for number in range(300))})
    result = data(call(ServedWorkspace(str(tmp_path)), "explain_context", {}))
    assert (len(result["decisions"]) > 99, len(result["decisions"]) + result["left_out"]) == (True, 302)


def test_what_is_remembered_is_stored_and_found(tmp_path: Path) -> None:
    served = ServedWorkspace(str(copytree(SAMPLE, tmp_path / "w")), agent="luna", writes=True)
    stored = call(served, "remember", {"text": "The gulls are drawn last\u200b", "type": "decision", "tags": ["art"]})
    assert data(stored)["outcome"] == "stored"
    kept = contextasm.find_memory(data(stored)["id"], agent="luna", workspace=tmp_path / "w")
    assert kept.writer == "mcp"
    assert "hidden" in data(stored)["problems"][0]
    found = data(call(served, "search_memories", {"query": "when are the gulls drawn", "top": 1}))["hits"]
    assert [(hit["id"], hit["text"]) for hit in found] == [(data(stored)["id"], "The gulls are drawn last")]
    again = data(call(served, "remember", {"text": "The gulls are drawn last."}))
    assert (again["outcome"], again["id"]) == ("reinforced", data(stored)["id"])
    assert call(served, "remember", {"text": "B", "type": "no]type"}).is_error
    days = {"valid_from": "2025-03-02", "expires": "2025-03-04"}
    lift = data(call(served, "remember", {"text": "The lift is out", **days}))
    kept = contextasm.find_memory(lift["id"], agent="luna", workspace=tmp_path / "w")
    assert (kept.valid_from, kept.expires) == (*days.values(),)
    assert "expires: is before the first day" in refused_call(
        served, "remember", {"text": "B", **days, "expires": "2025-03-01"}
    )
    logged = data(call(served, "log", {"text": "Drew\u200b the gulls."}))
    assert "Drew the gulls." in (tmp_path / "w" / logged["path"]).read_text()
    assert "hidden" in logged["problems"][0]


def test_a_draft_changes_nothing_before_a_person_approves_it(tmp_path: Path) -> None:
    known = "- [fact] The quay opens at ten {id=quay}\n"
    fill(tmp_path, {"agents/a/memories/m.md": known})
    served = ServedWorkspace(str(tmp_path), agent="a", date="2025-03-14", writes=True, drafts=True)
    for text, outcome in (("The quay opens at ten.", "stored"), ("the quay opens at ten", "reinforced")):
        stored = data(call(served, "remember", {"text": text, "supersedes": ["quay"]}))
        assert (stored["outcome"], stored["waits"][-len(stored["id"]) - 1 : -1]) == (outcome, stored["id"])
    assert (tmp_path / "agents/a/memories/m.md").read_text() == known
    shown = contextasm.build(agent="a", date="2025-03-14", workspace=tmp_path).text
    assert ("- [fact] The quay opens at ten\n" in shown, "notes written" in shown) == (True, False)
    assert inside("memory", "approve", stored["id"], "-w", tmp_path, "-a", "a").code == 0
    shown = contextasm.build(agent="a", date="2025-03-14", workspace=tmp_path).text
    assert ("[fact] The quay" in shown, "- [note] The quay opens at ten." in shown) == (False, True)


def test_private_memory_can_not_be_found_by_storing_it_again(tmp_path: Path) -> None:
    private = "- [fact] The vault code is moon {id=closed private=true}\n"
    below = "\n## Kept {private=true}\n\n- [fact] The vault opens by a song {id=sung}\n"
    fill(tmp_path, {"agents/a/memories/m.md": private + below})
    served = ServedWorkspace(str(tmp_path), agent="a", writes=True)
    for text in ("The vault code is moon", "the vault opens by a song."):
        assert data(call(served, "remember", {"text": text}))["outcome"] == "stored"
    for name in ("closed", "sung"):
        assert call(served, "remember", {"text": "Another thing", "supersedes": [name]}).is_error
    assert (tmp_path / "agents/a/memories/m.md").read_text() == private + below
    own = served._replace(audience="personal")
    (again,) = [data(call(own, "remember", {"text": "The vault code is moon", "supersedes": ["sung"]}))]
    assert again["outcome"] == "reinforced"


def test_answers_say_that_private_files_are_left_out(tmp_path: Path) -> None:
    fill(tmp_path, {"SOUL.md": "Calm.\n", "MEMORY.md": "- [fact] The vault code is moon {id=closed}\n"}, base={})
    asked: dict[str, Any] = {"build_context": {}, "explain_context": {}, "search_memories": {"query": "vault"}}
    shared = ServedWorkspace(str(tmp_path), writes=True)
    for served, lacks in ((shared, True), (shared._replace(audience="personal"), False)):
        for tool, arguments in asked.items():
            told = call(served, tool, arguments).model_dump_json()
            assert ("ctxasm mcp --audience personal" in told) == lacks
            assert ("moon" in told) == (not lacks and tool != "explain_context")
    refusal = refused_call(shared, "remember", {"text": "The vault code is moon"})
    assert "with --audience personal on the command line of this server" in refusal
    assert call(shared, "remember", {"text": "It is the sun", "supersedes": ["closed"]}).is_error
    assert (tmp_path / "MEMORY.md").read_text() == "- [fact] The vault code is moon {id=closed}\n"
    (tmp_path / "MEMORY.md").unlink()
    assert "--audience" not in call(shared, "build_context", {}).model_dump_json()


@MODES
def test_resources_prompt_and_completion_name_the_same_things(mode: str) -> None:
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
    words = ["-m", "contextasm", "mcp", "-w", str(SAMPLE), "-a", "luna", "-t", "q1"]
    server = StdioServerParameters(command=sys.executable, args=words, env=clean(), cwd="/")

    async def talk() -> str:
        about = Implementation(name="claude-code", version="1")
        async with Client(stdio_client(server), client_info=about) as client:
            document, _ = (await client.call_tool("build_context", {})).content
            assert isinstance(document, TextContent)
            return document.text

    expected = inside("build", "-q", "-w", SAMPLE, "-a", "luna", "-t", "q1", "--audience", "shared").out
    assert asyncio.run(talk()) == expected


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if "integrations.mcp" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    refused(inside("mcp", "-w", SAMPLE), "pip install 'contextasm[mcp]'")


@pytest.mark.parametrize(
    ("name", "served"),
    [
        ("read-only", ServedWorkspace(str(SAMPLE))),
        ("pinned", ServedWorkspace(str(SAMPLE), agent="luna", team="q1", date="2025-03-12", writes=True)),
        ("write", ServedWorkspace(str(SAMPLE), writes=True)),
    ],
)
@MODES
def test_what_is_offered_is_a_contract(name: str, served: ServedWorkspace, mode: str) -> None:
    async def lists(client: Any) -> dict[str, Any]:
        answers = {
            "tools": (await client.list_tools()).tools,
            "resources": (await client.list_resources()).resources,
            "resource_templates": (await client.list_resource_templates()).resource_templates,
            "prompts": (await client.list_prompts()).prompts,
        }
        return {
            kind: [each.model_dump(by_alias=True, exclude_none=True, mode="json") for each in offered]
            for kind, offered in answers.items()
        }

    offered = ask(served, lists, mode)
    priced = [{key: tool.get(key) for key in ("name", "description", "inputSchema")} for tool in offered["tools"]]
    assert ESTIMATE.count(json.dumps(priced, ensure_ascii=False, separators=(",", ":"))) <= 600
    for tool in offered["tools"]:
        is_reading, hints = tool["name"] not in {"remember", "log"}, tool["annotations"]
        assert hints["readOnlyHint"] == hints["idempotentHint"] == is_reading
        assert (
            hints["destructiveHint"] == hints["openWorldHint"] == tool["inputSchema"]["additionalProperties"] is False
        )
    golden = CASES / "mcp" / f"{name}.json"
    if os.environ.get("UPDATE_CASES"):
        golden.write_text(json.dumps(offered, indent=2, ensure_ascii=False) + "\n")
    assert offered == json.loads(golden.read_text())


@MODES
@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("build_context", {"agnt": "luna"}, "build_context: unknown argument `agnt`: did you mean agent?"),
        ("build_context", {"profile": "brain"}, "build_context: profile: the command line of this server sets it"),
        ("build_context", {"workspace": "/"}, "build_context: workspace: the command line of this server sets it"),
        ("build_context", {"agent": 5}, "build_context: agent: `5` can't be used here: give a text of at most 255"),
        ("build_context", {"topic": None}, "build_context: topic: nothing can't be used here: give a text"),
        ("build_context", {"budget": [1]}, "build_context: budget: a list can't be used here: give a text or a whole"),
        ("build_context", {"budget": True}, "build_context: budget: `true` can't be used here"),
        ("build_context", {"budget": "-4"}, "budget: `-4` is not a number of tokens"),
        (
            "build_context",
            {"agent": "luna", "date": "2026-13-40"},
            "date: `2026-13-40` is not a date: the months are 01",
        ),
        ("build_context", {"agent": "nobody"}, "agent: unknown agent `nobody`: choose one of: kenji, luna"),
        ("search_memories", {}, "search_memories: query: is missing: give a text"),
        ("search_memories", {"query": "x", "top": 99}, "search_memories: top: `99` can't be used here: give a whole"),
        ("search_memories", {"query": "x", "top": "many"}, "search_memories: top: `many` can't be used here"),
        ("remember", {"text": "x", "tags": "a"}, "remember: tags: `a` can't be used here: give a list of texts"),
        ("remember", {"text": "x", "tags": [1]}, "remember: tags: `1` can't be used here: give a list of texts"),
        (
            "remember",
            {"text": "x", "tags": ["a"] * 101},
            "remember: tags: has 101 values: give a list of texts with at most 100",
        ),
        ("remember", {"text": "x", "tags": ["a" * 1001]}, "tags: has 1,001 characters: use at most 1,000"),
        ("forget", {}, "ctxasm mcp: unknown tool `forget`: choose one of: build_context"),
        ("build_context", {}, "agent: no agent is named: name one in the argument agent (agents: kenji, luna)"),
        ("search_memories", {"query": "demo"}, "agent: no agent is named: name one in the argument agent (agents: "),
        (
            "log",
            {"text": "x"},
            "agent: no agent is named: name one in the argument agent, or a team in the argument team (",
        ),
        ("log", {"text": "x", "agent": "luna", "team": "q1"}, "team: agent is given, too: give only one of them"),
        (
            "remember",
            {"text": "x"},
            "agent: no agent is named: name one in the argument agent, or a team in the argument",
        ),
        ("remember", {"text": "x", "agent": "luna", "supersedes": ["zzz"]}, "supersedes: no memory has the id `zzz`"),
    ],
)
def test_argument_that_does_not_fit_is_refused_in_one_line_without_options(
    tool: str, arguments: dict[str, Any], line: str, mode: str
) -> None:
    told = refused_call(ServedWorkspace(str(SAMPLE), writes=True), tool, arguments, mode)
    assert told.startswith(line)
    assert not re.search(r"(?<!\w)--?[a-z]", told)  # no options, which a client does not have


def test_every_option_with_the_name_of_an_argument_is_told_as_the_argument() -> None:
    tools = ServedTools(ServedWorkspace(str(SAMPLE), writes=True)).offered()
    arguments = {name for tool in tools for name in tool.parameters["properties"]}
    commands = ("build", "search", "remember", "log")
    options = {name for each in commands for option in load_command(each).parameters for name in option.names}
    both = {name for name in arguments if f"--{name.replace('_', '-')}" in options}
    assert both >= {"date", "valid_from", "type", "top"}
    for name in both:
        assert in_words_of_clients(f"--{name.replace('_', '-')}: is wrong") == f"{name}: is wrong"


HOSTILE = (
    "a\0b",
    "\x1b[31mred",
    "x" * 3000,
    "x y " * 3000,
    "lu\u200bna",
    "a\nb: c: d",
    "\u202eabc",
    "../../etc/passwd",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_name_is_shown_clean_and_short(name: str) -> None:
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("build_context", {"agent": name}),
        ("build_context", {"agent": "luna", "team": name}),
        ("build_context", {"agent": "luna", "budget": name}),
        ("build_context", {name: "luna"}),
        ("explain_context", {"agent": "luna", "place": name}),
        ("search_memories", {"query": "x", "top": name}),
        ("remember", {"text": "A", "agent": name}),
        ("remember", {"text": "A", "agent": "luna", "supersedes": [name]}),
        (name, {}),
    )

    async def question(client: Any) -> None:
        for tool, arguments in calls:
            refusal_of(await client.call_tool(tool, arguments))
        requests: tuple[Callable[[], Awaitable[Any]], ...] = (
            lambda: client.read_resource(f"context://{quote(name)}"),
            lambda: client.get_prompt("start", {"agent": name}),
            lambda: client.get_prompt("start", {name: "luna"}),
            lambda: client.get_prompt(name, {}),
        )
        for asked in requests:
            with pytest.raises(MCPError) as refusal:
                await asked()
            assert str(refusal.value).isprintable()
            assert len(str(refusal.value)) <= LONGEST_MESSAGE

    assert ask(ServedWorkspace(str(SAMPLE), writes=True), question) is None


def test_text_that_is_too_long_is_not_stored(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/a/memories/m.md": "- A\n"})
    served = ServedWorkspace(str(tmp_path), agent="a", writes=True)
    for tool in ("remember", "log"):
        line = refused_call(served, tool, {"text": "x" * 10_000_000})
        assert line == f"{tool}: text: has 10,000,000 characters: give a text of 1 to 65,536 characters"
    assert data(call(served, "remember", {"text": "x" * LONGEST_TEXT}))["outcome"] == "stored"
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("daily")] == []


def test_bug_is_one_line_and_no_traceback(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def broken(*_request: object, **_options: object) -> None:
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr("contextasm.api.changed_context", broken)
    served = ServedWorkspace(str(SAMPLE))
    bug = "this is a bug: ZeroDivisionError: a b: please report it; CTXASM_DEBUG=1 shows where it happened"
    assert refused_call(served, "build_context", {}) == bug
    assert str(ask(served, partial(read_resource, uri="context://luna"))) == bug
    assert str(ask(served, lambda client: client.get_prompt("start", {}))) == bug
    assert capfd.readouterr().err == ""


FIRST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


def frame(number: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [*COMMAND, "mcp", "-w", str(SAMPLE), "-a", "luna", "-t", "q1", *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean(), cwd="/"
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(json.dumps(FIRST).encode() + b"\n")
            process.stdin.flush()
            assert b'"serverInfo"' in process.stdout.readline()
            yield process
        finally:
            process.kill()


TOPIC = b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"build_context","arguments":{"topic":%s}}}\n'

HOSTILE_FRAMES: tuple[tuple[bytes, Sequence[tuple[int | str | None, int]]], ...] = (
    (b"{nope\n", [(None, -32700)]),
    (b"\xff\xfe\n", [(None, -32700)]),
    (b"null\n[]\n1\n\n", [(None, -32600)] * 3),
    (b"[" + frame(2, "ping").strip() + b"]\n", [(None, -32600)]),
    (b"[" * 100_000 + b"\n", [(None, -32700)]),
    (b"x" * 5_000_000 + b"\n", [(None, -32700)]),
    (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}\n', [(3, -32600)]),
    (b'{"jsonrpc":"2.0","id":"a","method":5}\n', [("a", -32600)]),
    (TOPIC % rb'"\ud800"', [(3, -32700)]),
    (TOPIC % (b"9" * 10_000), [(3, -32700)]),
    (TOPIC % rb'{"id":4,"a":"\ud800"}', [(None, -32700)]),
    (frame(3, "no/such"), [(3, -32601)]),
    (frame(3, "tools/call", name=5), [(3, -32602)]),
    (frame(3, "tools/call", name="build_context", arguments=[]), [(3, -32602)]),
    (frame(3, "tools/call", name="build_context", arguments={"topic": "x y " * 1_000_000}), []),
)


def test_server_answers_and_outlives_each_hostile_frame() -> None:
    with started() as process:
        assert process.stdin
        assert process.stdout
        answers = map(json.loads, iter(process.stdout.readline, b""))
        for number, (hostile, expected) in enumerate(HOSTILE_FRAMES, start=9):
            asked = frame(number, "tools/call", name="search_memories", arguments={"query": "demo"})
            process.stdin.write(hostile + asked)
            process.stdin.flush()
            told = [*takewhile(lambda answer, asked=number: answer["id"] != asked, answers)]  # type: ignore[misc]
            errors = [(answer["id"], answer["error"]["code"]) for answer in told if "error" in answer]
            assert errors == expected, hostile[:80]
        process.stdin.close()
        assert process.wait(TIMEOUT) == 0
        assert process.stderr
        assert process.stderr.read() == b""


def test_server_ends_with_its_client() -> None:
    work = frame(2, "tools/call", name="build_context", arguments={"topic": "demo"})
    with started() as process:
        calls = b"".join(work.replace(b'"id": 2', b'"id": %d' % number) for number in range(2, 7))
        answers, errors = process.communicate(calls + work[:10], timeout=TIMEOUT)
        assert (answers.count(b'"tokens"'), errors) == (5, b"")  # what was asked before the end is answered
        assert process.returncode == 0
    with started() as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(work)
        process.stdin.flush()
        assert process.stderr.read() == b""
        assert process.wait(TIMEOUT) == 141


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_server_ends_at_the_first_signal(name: str) -> None:
    number = getattr(signal, name)
    with started() as process:
        process.send_signal(number)
        assert process.wait(TIMEOUT) == 128 + number
        assert process.stderr
        assert process.stderr.read() == b""


@pytest.mark.parametrize("seed", [1, 2])
def test_each_call_sees_the_files_as_they_are(tmp_path: Path, seed: int) -> None:
    root = copytree(SAMPLE, tmp_path / "w")
    memories, log = root / "agents/luna/memories/fresh.md", root / "teams/q1/daily/2025-03-10.md"
    memories.write_text("- [fact] The demo runs on a red lamp {id=red}\n")
    rule, profile = root / "rules/30-own.yaml", root / "own.yaml"
    settings = root / "ctxasm.yaml"
    settings.write_text(settings.read_text().replace("profile: default", "profile: own.yaml"))
    profile.write_text("extends: default\n")
    rule.write_text("name: own\nthen: {exclude: [teams/q1/daily/2025-03-10.md]}\n")
    draw = random.Random(seed)

    def same_size_and_time() -> None:
        status = memories.stat()
        memories.write_text(memories.read_text().replace("red lamp", "old lamp"))
        os.utime(memories, ns=(status.st_atime_ns, status.st_mtime_ns))

    def budget() -> None:
        settings.write_text(re.sub(r"(?m)^budget:.*\n", "", settings.read_text()) + f"budget: {draw.choice([3, 5])}k\n")

    edits: list[Callable[[], object]] = [
        same_size_and_time,
        budget,
        lambda: memories.write_text(memories.read_text() + f"- [fact] The demo has {draw.randrange(99)} boats\n"),
        lambda: memories.write_text(memories.read_text().replace("{id=red}", "{id=red private=true}")),
        lambda: memories.write_text(memories.read_text().replace("lamp", "l\u200bamp")),
        lambda: log.write_text(f"# Demo\n\nThe demo date moved {draw.randrange(99)} days.\n"),
        lambda: (root / f"agents/luna/memories/{draw.randrange(9)}.md").write_text("- [fact] A new demo file\n"),
        lambda: (root / "agents/luna/GOALS.md").write_text(f"Finish {draw.randrange(99)} demos.\n"),
        lambda: next(root.glob("teams/q1/memories/*.md"), memories).write_text("- [fact] The demo is all\n"),
        lambda: rule.write_text(rule.read_text().replace("03-10.md", f"03-1{draw.randrange(1, 5)}.md")),
        lambda: profile.write_text(f"extends: default\nlayers: [{{id: L7, max_tokens: {draw.randrange(200, 900)}}}]\n"),
        lambda: log.write_text(f"# {'#' * draw.randrange(3)} Demo\n\nAll of it moves.\n"),
    ]
    served = ServedWorkspace(str(root), agent="luna", team="q1")

    async def rounds(client: Any) -> None:
        for step in range(len(edits) + 1):
            topic = draw.choice(["the demo", "boats and the lamp", ""])
            built = (await client.call_tool("build_context", {"topic": topic})).content[0].text
            words: list[str | Path] = ["build", "-q", "-w", root, "-a", "luna", "-t", "q1", "--audience", "shared"]
            assert built == inside(*words, *(["--topic", topic] if topic else [])).out, step
            edits[step % len(edits)]()

    draw.shuffle(edits)
    ask(served, rounds)


def test_a_server_frees_what_its_calls_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    # A command collects no garbage, and a server may run for weeks.
    collecting: list[bool] = []
    monkeypatch.setattr("contextasm.integrations.mcp_server.serve", lambda _served: collecting.append(gc.isenabled()))
    usual = gc.get_threshold()
    gc.disable()
    try:
        inside("mcp", "-w", str(SAMPLE))
    finally:
        gc.set_threshold(*usual)
        gc.enable()
    assert collecting == [True]
