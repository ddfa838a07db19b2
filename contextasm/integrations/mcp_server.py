"""The MCP server: contexts and memories for agents that ask for them, and each refusal as one line."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from mcp import MCPError, types
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.stdio import stdio_server

from contextasm import __version__, api
from contextasm.integrations.mcp_answers import ServedWorkspace, refusal_line, refuse_arguments, refuse_unnamed
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
    async def complete(_reference: Any, argument: Any, _context: Any) -> types.Completion:
        names: list[str] = []
        if argument.name in {"agent", "team"} - served.pinned:
            with suppress(ContextasmError, OSError):
                names = [
                    each for each in api.owners(argument.name, served.workspace) if each.startswith(argument.value)
                ]
        return types.Completion(values=names[:MOST_NAMES], total=len(names), has_more=len(names) > MOST_NAMES)


INSTRUCTIONS = (
    "Contexts and memories of the workspace {workspace}. `build_context` gives the document that an agent starts from;"
    " `explain_context` says what it leaves out and why; `search_memories` finds what was remembered."
)


def make_server(tools: ServedTools) -> MCPServer[Any]:
    """The server of a workspace, not running yet."""
    server = _ContextServer(tools)
    add_resources(server, tools.served, tools)
    return server


def serve(served: ServedWorkspace) -> None:
    """Serve a workspace on standard input and output until the client ends. Raises what ended it otherwise.

    If the client does not read any more, and at SIGINT and SIGTERM, the process ends here.
    """
    tools = ServedTools(served)
    handlers = {
        number: signal.signal(number, lambda number, _: tools.end_process(128 + number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        make_server(tools).run()
    except BaseExceptionGroup as group:
        raise _first_of(group) from group
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _first_of(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def _has_no_reader(pipe: int) -> bool:
    """Whether the other end of a pipe or a socket, given as its file descriptor, is closed."""
    state = select.poll()
    state.register(pipe, 0)
    return bool(state.poll(0))


class _ContextServer(MCPServer[Any]):
    """A server of the SDK that takes no argument without a meaning, and whose errors are lines in our words.

    The methods are the ones that the SDK's handlers call, one for each kind of request.
    """

    def __init__(self, tools: ServedTools) -> None:
        instructions = INSTRUCTIONS.format(workspace=tools.served.workspace)
        offered = [*tools.offered()]
        super().__init__("ctxasm", version=__version__, instructions=instructions, tools=offered, log_level="ERROR")
        self._tools = tools
        self._schemas = {tool.name: tool.parameters for tool in offered}

    async def run_stdio_async(self) -> None:
        """Serve standard input and output; the process ends with 141 if its client does not read any more."""
        answers = os.dup(1)  # The SDK puts something else in its place.
        async with stdio_server() as (read_stream, write_stream):
            try:
                options = self._lowlevel_server.create_initialization_options()
                await self._lowlevel_server.run(read_stream, write_stream, options)
            except asyncio.CancelledError:
                if _has_no_reader(answers):
                    self._tools.end_process(141)
                raise

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """The result of a tool; a refusal is a result, which models read, and no error of the protocol."""
        schema = self._schemas.get(name, {})
        try:
            self._refuse_unnamed_tool(name)
            refuse_arguments(arguments, schema["properties"], name)
            return await super().call_tool(name, arguments, context)
        except (ContextasmError, ToolError) as error:
            line = refusal_line(error, schema, name)
            return types.CallToolResult(content=[types.TextContent(type="text", text=line)], is_error=True)

    def _refuse_unnamed_tool(self, name: str) -> None:
        if name in {"remember", "log"} and not self._tools.served.writes:
            raise ContextasmError(name, "this server only reads", "start it with `ctxasm mcp --write`")
        refuse_unnamed(name, self._schemas, "tool")

    async def read_resource(
        self, uri: Any, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | types.InputRequiredResult:
        """The text of a resource. Raises `MCPError` with one line."""
        try:
            return await super().read_resource(uri, context)
        except ResourceNotFoundError as error:
            unknown = ContextasmError(str(uri), "is not a resource of this server", "see resources/templates/list")
            raise MCPError(types.INVALID_PARAMS, refusal_line(unknown)) from error
        except ResourceError as error:
            raise MCPError(types.INTERNAL_ERROR, refusal_line(error)) from error

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """The messages of a prompt. Raises `MCPError` with one line."""
        taken = {prompt.name: [each.name for each in prompt.arguments or ()] for prompt in await self.list_prompts()}
        try:
            refuse_unnamed(name, taken, "prompt")
            refuse_arguments(arguments or {}, taken[name], name)
            return await super().get_prompt(name, arguments, context)
        except (ContextasmError, ValueError) as error:
            raise MCPError(types.INVALID_PARAMS, refusal_line(error)) from error
