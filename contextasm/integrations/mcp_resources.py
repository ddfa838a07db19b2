"""Resources and the prompt of the MCP server: contexts by their owner, memories by their id."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.types import Completion

from contextasm import api
from contextasm.integrations.mcp_answers import ServedWorkspace
from contextasm.integrations.mcp_tools import Agent, ServedTools, Team, Topic, without
from contextasm.model import ContextasmError

MARKDOWN = "text/markdown"
DOCUMENT = "The document that an agent starts from, under the budget of its profile."

MOST_NAMES = 100
"""Names that one completion may have, by the protocol."""


def add_resources(server: MCPServer[Any], served: ServedWorkspace, tools: ServedTools) -> None:
    """Add resources, the prompt `start`, and completion of names, made by the functions of `tools`."""

    def context() -> str:
        return tools.build().text

    def context_of(agent: str) -> str:
        return tools.build(agent).text

    def context_in_team(agent: str, team: str) -> str:
        return tools.build(agent, team).text

    def memory(id: str) -> str:  # noqa: A002 - the name in the template
        return tools.find_memory(id).text

    document = partial(server.resource, mime_type=MARKDOWN, description=DOCUMENT)
    if served.pinned:
        document("context://start", name="context")(context)
    else:
        document("context://{agent}", name="context")(context_of)
        document("context://{agent}/{team}", name="context in a team")(context_in_team)
    server.resource("memory://{id}", name="memory", mime_type=MARKDOWN, description="A memory, by its id.")(memory)
    _add_prompt(server, served, tools)


def _add_prompt(server: MCPServer[Any], served: ServedWorkspace, tools: ServedTools) -> None:
    def start(agent: Agent = "", team: Team = "", topic: Topic = "") -> str:
        """Begin with the document that an agent starts from, as the first message."""
        return tools.build(agent, team, topic).text

    server.prompt(name="start")(without(start, served.pinned))

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(_reference: Any, argument: Any, _context: Any) -> Completion:
        names: list[str] = []
        if argument.name in {"agent", "team"} - served.pinned:
            with suppress(ContextasmError, OSError):
                names = [
                    each for each in api.owners(argument.name, served.workspace) if each.startswith(argument.value)
                ]
        return Completion(values=names[:MOST_NAMES], total=len(names), has_more=len(names) > MOST_NAMES)
