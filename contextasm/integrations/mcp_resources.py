"""Resources and the prompt of the MCP server: contexts by their owner, memories by their id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp import MCPError
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.types import INVALID_PARAMS, Completion

from contextasm import api
from contextasm.integrations.mcp_answers import ServedWorkspace
from contextasm.model import Context, ContextasmError

MARKDOWN = "text/markdown"


def add_resources(server: MCPServer[Any], served: ServedWorkspace, build: Callable[..., Context]) -> None:
    """Add resources, the prompt `start`, and completion of names; `build` gives the context of an agent and a team."""

    def context(agent: str = "", team: str = "") -> str:
        try:
            return build(agent, team).text
        except ContextasmError as error:
            raise ResourceError(str(error)) from error

    def start() -> str:
        return context()

    def context_of(agent: str) -> str:
        return context(agent)

    def memory(id: str) -> str:  # noqa: A002 - the name in the template
        try:
            return api.find_memory(id, everywhere=not served.pinned, **served.request()).text
        except ContextasmError as error:
            raise ResourceError(str(error)) from error

    if served.pinned:
        server.resource("context://start", name="context", mime_type=MARKDOWN)(start)
    else:
        server.resource("context://{agent}", name="context", mime_type=MARKDOWN)(context_of)
        server.resource("context://{agent}/{team}", name="context in a team", mime_type=MARKDOWN)(context)
    server.resource("memory://{id}", name="memory", mime_type=MARKDOWN, description="A memory, by its id.")(memory)
    _add_prompt(server, served, build)


def _add_prompt(server: MCPServer[Any], served: ServedWorkspace, build: Callable[..., Context]) -> None:
    def start(agent: str = "", team: str = "", topic: str = "") -> str:
        """Begin with the context of an agent."""
        try:
            return build(agent, team, topic).text
        except ContextasmError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error

    def start_about(topic: str = "") -> str:
        """Begin with the context, chosen for a topic."""
        return start("", "", topic)

    server.prompt(name="start")(start_about if served.pinned else start)

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(_reference: Any, argument: Any, _context: Any) -> Completion:
        if argument.name not in {"agent", "team"}:
            return Completion(values=[])
        names = api.owners(argument.name, served.workspace)
        return Completion(values=[name for name in names if name.startswith(argument.value)][:100])
