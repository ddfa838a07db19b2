"""`ctxasm mcp`: serve contexts and memories to an agent's host over standard input and output."""

from __future__ import annotations

import os
from typing import Annotated

from contextasm.cli.command_line import Argument, Command, collect_garbage
from contextasm.config.input.options import Flag, Options
from contextasm.config.input.settings import load_settings_file, resolve_settings
from contextasm.config.input.values import one_of, require_known
from contextasm.config.owners import owner_folder
from contextasm.config.profiles.overrides import ProfileReader
from contextasm.config.resolve import process_environment
from contextasm.config.workspace_folder import open_workspace
from contextasm.model import AUDIENCES, SHARED, ContextasmError
from contextasm.workspace.folder import Folder


def mcp(
    options: Options,
    *,
    kind: Annotated[str | None, Argument("[draft]", "With --write: new memories wait for a person's approval.")] = None,
    write: Annotated[bool, Flag("Offer the tools that write: remember and log.")] = False,
) -> None:
    """Serve contexts and memories over MCP, on standard input and output, until the client ends.

    Tools: build_context, explain_context and search_memories; with --write also remember and log. With --write draft,
    new memories are drafts until `ctxasm memory approve`. If you name an agent or a team here, the client can't choose
    another. Needs `pip install 'contextasm[mcp]'`.
    """
    if kind is not None:
        require_known(kind, ("draft",), "ctxasm mcp", "argument")
        if not write:
            raise ContextasmError(kind, "has no effect without --write", "use `ctxasm mcp --write draft`")
    folder = _refuse_bad_names(options)
    try:
        from contextasm.integrations.mcp_answers import ServedWorkspace
        from contextasm.integrations.mcp_server import serve
    except ModuleNotFoundError as error:
        what = f"the library {error.name} is missing"
        raise ContextasmError("ctxasm mcp", what, "run `pip install 'contextasm[mcp]'`") from error
    served = ServedWorkspace(
        workspace=os.path.abspath(folder.root),
        agent=options.agent,
        team=options.team,
        profile=options.profile,
        audience=str(one_of(AUDIENCES)(options.audience or SHARED, "--audience")),
        date=options.date,
        writes=write,
        drafts=kind is not None,
    )
    collect_garbage()
    serve(served)


run = Command(mcp, ("agent", "team", "profile", "audience", "date", "workspace"))


def _refuse_bad_names(options: Options) -> Folder:
    """The workspace. Raises `ContextasmError` for an agent, a team, a profile or a day that no call could use."""
    process = process_environment()
    folder = open_workspace(options, process)
    if options.agent:
        owner_folder(folder, "agent", options.agent, "--agent")
    if options.team:
        owner_folder(folder, "team", options.team, "--team")
    settings_file = load_settings_file(folder)
    settings = resolve_settings({"profile": options.profile, "date": options.date}, process.environment, settings_file)
    ProfileReader(settings_file, folder, process).resolve(settings)
    return folder
