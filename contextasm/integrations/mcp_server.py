"""The MCP server: contexts and memories for agents that ask for them, and each refusal as one line."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Any

from mcp import MCPError, types
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from contextasm import __version__, api
from contextasm.config.hosts.loader import client_host
from contextasm.integrations import mcp_answers
from contextasm.integrations.mcp_tools import Agent, ServedTools, Team, Topic
from contextasm.model import ContextasmError

MARKDOWN = "text/markdown"
DOCUMENT = "The document that an agent starts from, under the budget of its profile."

MOST_NAMES = 100
"""Names that one completion may have, by the protocol."""


def _add_resources(server: MCPServer[Any], tools: ServedTools) -> None:
    document = partial(server.resource, mime_type=MARKDOWN, description=DOCUMENT)
    if tools.served.pinned:
        document("context://start", name="context")(lambda: tools.build().text)
    else:
        document("context://{agent}", name="context")(lambda agent: tools.build(agent).text)
        in_team = document("context://{agent}/{team}", name="context in a team")
        in_team(lambda agent, team: tools.build(agent, team).text)
    memory = server.resource("memory://{id}", name="memory", mime_type=MARKDOWN, description="A memory, by its id.")
    memory(lambda id: tools.find_memory(id).text)  # noqa: A006 - the name in the template


def _add_prompt(server: MCPServer[Any], tools: ServedTools) -> None:
    """Add the prompt `start`, and completion of names."""
    served = tools.served

    def start(agent: Agent = "", team: Team = "", topic: Topic = "") -> str:
        """Begin with the document that an agent starts from, as the first message."""
        return tools.build(agent, team, topic).text

    prompt = Prompt.from_function(start)
    prompt.arguments = [each for each in prompt.arguments or () if each.name not in served.pinned]
    server.add_prompt(prompt)

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(_reference: Any, argument: Any, _context: Any) -> types.Completion:
        names: list[str] = []
        if argument.name in {"agent", "team"} - served.pinned:
            with suppress(ContextasmError, OSError):
                owners = api.owners(argument.name, served.workspace)
                names = [each for each in owners if each.startswith(argument.value)]
        return types.Completion(values=names[:MOST_NAMES], total=len(names), has_more=len(names) > MOST_NAMES)


INSTRUCTIONS = (
    "Contexts and memories of the workspace {workspace}. `build_context` gives the document that an agent starts from;"
    " `explain_context` says what it leaves out and why; `search_memories` finds what was remembered."
)


def make_server(tools: ServedTools) -> MCPServer[Any]:
    """The server of a workspace, not running yet."""
    server = _ContextServer(tools)
    _add_resources(server, tools)
    _add_prompt(server, tools)
    return server


def serve(served: mcp_answers.ServedWorkspace) -> None:
    """Serve a workspace on standard input and output until the client ends. Raises what ended it otherwise.

    If the client does not read any more, and at SIGINT and SIGTERM, the process ends here.
    """
    tools = ServedTools(served)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: tools.end_process(128 + number))
    try:
        make_server(tools).run()
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from group


class _Answers(AbstractAsyncContextManager[Any]):
    """The SDK's stream of answers, with the ids of the requests that wait for one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.awaited: set[object] = set()
        self.sent = asyncio.Event()

    async def send(self, answer: SessionMessage) -> None:
        """Send an answer, or another message."""
        await self._stream.send(answer)
        self.awaited.discard(getattr(answer.message, "id", None))
        self.sent.set()

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


async def _messages(lines: Any, answers: _Answers) -> AsyncIterator[SessionMessage]:
    """The messages of a client, which end when all its requests are answered.

    Other lines, which the SDK drops, are answered here: the client would wait.
    """
    async for line in lines:
        if isinstance(line, SessionMessage):
            if isinstance(line.message, types.JSONRPCRequest):
                answers.awaited.add(line.message.id)
            elif getattr(line.message, "method", "") == "notifications/cancelled":
                answers.awaited.discard((getattr(line.message, "params", None) or {}).get("requestId"))
            yield line
        elif answer := mcp_answers.refused_message(line):
            await answers.send(SessionMessage(answer))
    while answers.awaited:
        answers.sent.clear()
        await answers.sent.wait()


class _ContextServer(MCPServer[Any]):
    """A server of the SDK that takes no argument without a meaning, and whose errors are lines in our words.

    The methods are the ones that the SDK's handlers call, one for each kind of request.
    """

    def __init__(self, tools: ServedTools) -> None:
        instructions = INSTRUCTIONS.format(workspace=tools.served.workspace)
        offered = [*tools.offered()]
        self._schemas = {tool.name: tool.parameters for tool in offered}
        for tool in offered:
            tool.parameters = mcp_answers.short_schema(tool.parameters)
        super().__init__("ctxasm", version=__version__, instructions=instructions, tools=offered, log_level="ERROR")
        self._tools = tools

    async def run_stdio_async(self) -> None:
        """Serve standard input and output; the process ends with 141 if its client does not read any more."""
        reader = select.poll()
        reader.register(os.dup(1), 0)  # The SDK puts something else in its place.
        async with stdio_server() as (read_stream, write_stream):
            try:
                options = self._lowlevel_server.create_initialization_options()
                stream: Any = _Answers(write_stream)  # as the messages, it has what the SDK uses of a stream
                requests: Any = _messages(read_stream, stream)
                await self._lowlevel_server.run(requests, stream, options)
            except asyncio.CancelledError:
                if reader.poll(0):  # the other end of the pipe is closed
                    self._tools.end_process(141)
                raise

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """The result of a tool; a refusal is a result, which models read, and no error of the protocol."""
        schema = self._schemas.get(name, {})
        client = context.session.client_params if context else None
        self._tools.host = client_host(client.client_info.name if client else "")
        try:
            self._refuse_unnamed_tool(name)
            mcp_answers.refuse_arguments(arguments, schema["properties"], name)
            return await super().call_tool(name, arguments, context)
        except (ContextasmError, ToolError) as error:
            line = mcp_answers.refusal_line(error, schema, name)
            return types.CallToolResult(content=[types.TextContent(type="text", text=line)], is_error=True)

    def _refuse_unnamed_tool(self, name: str) -> None:
        if name in {"remember", "log"} and not self._tools.served.writes:
            raise ContextasmError(name, "this server only reads", "start it with `ctxasm mcp --write`")
        mcp_answers.refuse_unnamed(name, self._schemas, "tool")

    async def read_resource(
        self, uri: Any, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | types.InputRequiredResult:
        """The text of a resource. Raises `MCPError` with one line."""
        try:
            return await super().read_resource(uri, context)
        except ResourceNotFoundError as error:
            unknown = ContextasmError(str(uri), "is not a resource of this server", "see resources/templates/list")
            raise MCPError(types.INVALID_PARAMS, mcp_answers.refusal_line(unknown)) from error
        except ResourceError as error:
            raise MCPError(types.INTERNAL_ERROR, mcp_answers.refusal_line(error)) from error

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """The messages of a prompt. Raises `MCPError` with one line."""
        taken = {prompt.name: [each.name for each in prompt.arguments or ()] for prompt in await self.list_prompts()}
        try:
            mcp_answers.refuse_unnamed(name, taken, "prompt")
            mcp_answers.refuse_arguments(arguments or {}, taken[name], name)
            return await super().get_prompt(name, arguments, context)
        except (ContextasmError, ValueError) as error:
            raise MCPError(types.INVALID_PARAMS, mcp_answers.refusal_line(error)) from error
