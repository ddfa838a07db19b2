"""The MCP server: contexts and memories for agents that ask for them, over the library's own functions.

A document goes out as text alone: clients that get structured content beside a text drop the text.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from threading import Lock
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from contextasm import __version__, api
from contextasm.integrations.mcp_answers import Explanation, Hit, Hits, Logged, Remembered, ServedWorkspace
from contextasm.integrations.mcp_resources import add_resources
from contextasm.model import Context, ContextasmError
from contextasm.rendering.formats import decision_data
from contextasm.rendering.receipt import receipt
from contextasm.rendering.wording import problem_line

MOST_DECISIONS = 200
"""Decisions in one answer; the others are counted."""

MOST_HITS = 50
"""Hits in one answer."""

READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)

INSTRUCTIONS = (
    "Contexts and memories of the workspace {workspace}. `build_context` gives the document that an agent starts from;"
    " `explain_context` says what it leaves out and why; `search_memories` finds what was remembered."
)

Agent = Annotated[str, Field(description="Name of the agent; empty for that of the settings, or the only one.")]
Team = Annotated[str, Field(description="Name of the team; empty for that of the settings.")]
Topic = Annotated[str, Field(description="What the conversation is about; memories and logs are chosen by it.")]
Budget = Annotated[
    str | int, Field(description="Most tokens of the document, such as 4000 or 8k; empty: the profile's.")
]


def make_server(served: ServedWorkspace) -> MCPServer[Any]:
    """The server of a workspace, not running yet."""
    server: MCPServer[Any] = MCPServer(
        "ctxasm", version=__version__, instructions=INSTRUCTIONS.format(workspace=served.workspace), log_level="ERROR"
    )
    tools = _Tools(served)
    offers: list[tuple[Callable[..., Any], ToolAnnotations]]
    offers = [(tools.build_context, READ_ONLY), (tools.explain_context, READ_ONLY), (tools.search_memories, READ_ONLY)]
    if served.writes:
        offers += [(tools.remember, ADDS), (tools.log, ADDS)]
    for function, hints in offers:
        has_data = function is not tools.build_context
        decorate = server.tool(annotations=hints, structured_output=has_data)
        decorate(_without(function, served.pinned))
    add_resources(server, served, tools.build)
    return server


class _Tools:
    """The functions behind tools, resources and the prompt. One runs at a time: they share caches and indexes."""

    def __init__(self, served: ServedWorkspace) -> None:
        self.served = served
        self._lock = Lock()

    def build(self, agent: str = "", team: str = "", topic: str = "", budget: str | int = "") -> Context:
        """The context of a request."""
        with self._lock:
            return api.build(**self.served.request(agent, team, topic, budget))

    def build_context(
        self, agent: Agent = "", team: Team = "", topic: Topic = "", budget: Budget = ""
    ) -> CallToolResult:
        """The document that an agent starts from: identity, instructions, goals, recent logs, memories, under a budget.

        The second text is the receipt: tokens by layer, and how many fragments are shortened or left out.
        """
        context = self.build(agent, team, topic, budget)
        figures = {"tokens": context.tokens, "etag": context.etag, "truncated": context.truncated}
        problems = [*map(problem_line, context.problems)]
        texts = [context.text, "\n".join([*problems, receipt(context)])]
        return CallToolResult(
            content=[TextContent(type="text", text=text) for text in texts],
            _meta={"ctxasm": {**figures, "problems": problems}},
        )

    def explain_context(
        self,
        agent: Agent = "",
        team: Team = "",
        topic: Topic = "",
        budget: Budget = "",
        place: Annotated[
            str, Field(description="Only the fragments of this file, FILE:LINE, or id; empty for all of them.")
        ] = "",
    ) -> Explanation:
        """What a context holds and what it leaves out: a decision with its reason for each fragment."""
        with self._lock:
            context = api.explain(**self.served.request(agent, team, topic, budget))
        decisions = [decision_data(each) for each in context.decisions if _is_at(place, each)]
        if place and not decisions:
            raise ToolError(f"{place}: no fragment of the context is there: call explain_context without a place")
        return Explanation(
            receipt=receipt(context),
            decisions=decisions[:MOST_DECISIONS],
            left_out=max(0, len(decisions) - MOST_DECISIONS),
            problems=[*map(problem_line, context.problems)],
        )

    def search_memories(
        self,
        query: Annotated[str, Field(description="What to look for, in words.", min_length=1)],
        agent: Agent = "",
        team: Team = "",
        top: Annotated[int, Field(description="Most hits.", ge=1, le=MOST_HITS)] = 5,
    ) -> Hits:
        """The memories that match a query best, with the parts of their scores."""
        with self._lock:
            result = api.search(query, top=top, **self.served.request(agent, team))
        hits: list[Hit] = []
        for memory, score in result.hits:
            parts = dict(score)
            total = parts.pop("total")
            fields = {name: getattr(memory, name) for name in ("id", "path", "line", "type", "text")}
            hits.append(Hit.model_validate({**fields, "score": total, "parts": parts}))
        return Hits(hits=hits, searched=result.searched, problems=[*map(problem_line, result.problems)])

    def remember(
        self,
        text: Annotated[str, Field(description="One statement, in a sentence.", min_length=1)],
        type: Annotated[str, Field(description="Such as note, fact, decision, preference.")] = "note",  # noqa: A002
        importance: Annotated[str, Field(description="0 to 1, or low, medium, high, critical; empty for none.")] = "",
        tags: Annotated[Sequence[str], Field(description="Words to find it by.")] = (),
        key: Annotated[str, Field(description="The subject; memories with the same key are of one subject.")] = "",
        supersedes: Annotated[Sequence[str], Field(description="Ids of memories that it replaces.")] = (),
        agent: Agent = "",
        team: Annotated[str, Field(description="Name of the team, to remember for the team instead.")] = "",
    ) -> Remembered:
        """Store a memory, or reinforce the one that says the same."""
        agent_name, team_name = self._owner(agent, team)
        with self._lock:
            outcome = api.remember(
                text,
                type=type,
                importance=importance or None,
                tags=tags,
                key=key,
                supersedes=supersedes,
                writer="mcp",
                audience=self.served.audience,
                workspace=self.served.workspace,
                agent=agent_name,
                team=team_name,
            )
        memory, problems = outcome.memory, [*map(problem_line, outcome.problems)]
        return Remembered(outcome=outcome.what, id=memory.id, path=memory.path, line=memory.line, problems=problems)

    def log(
        self,
        text: Annotated[str, Field(description="What happened, in Markdown.", min_length=1)],
        agent: Agent = "",
        team: Annotated[str, Field(description="Name of the team, to write into the team's log instead.")] = "",
    ) -> Logged:
        """Append an entry to the log of the day."""
        agent_name, team_name = self._owner(agent, team)
        with self._lock:
            path = api.log(text, workspace=self.served.workspace, agent=agent_name, team=team_name).path
        return Logged(path=path)

    def _owner(self, agent: str, team: str) -> tuple[str | None, str | None]:
        """Agent or team to write for: those of the server win, and the agent where there are both."""
        agent = self.served.agent or agent
        team = self.served.team if self.served.team is not None else team
        is_for_team = bool(team) and not self.served.agent
        return (None, team) if is_for_team else (agent or None, None)


def _without(function: Callable[..., Any], names: set[str]) -> Callable[..., Any]:
    """The function without these parameters, and with `ContextasmError` as the server's error."""

    @wraps(function)
    def call(**arguments: Any) -> Any:
        try:
            return function(**arguments)
        except ContextasmError as error:
            raise ToolError(str(error)) from error

    signature = inspect.signature(function, eval_str=True)
    left = [parameter for parameter in signature.parameters.values() if parameter.name not in names]
    call.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in left}
    call.__annotations__["return"] = signature.return_annotation
    return call


def _is_at(place: str, decision: Any) -> bool:
    path, _, number = place.rpartition(":")
    first, last = decision.lines
    is_line = number.isdecimal() and decision.path == path and first <= int(number[:20]) <= last
    return not place or place in {decision.fragment, decision.path} or is_line
