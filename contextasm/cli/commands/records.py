"""`ctxasm records`: list the records of builds, the newest first."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from contextasm.cli.command_line import Command
from contextasm.cli.options import JsonOption
from contextasm.cli.output import show_problems, write_json, write_stderr, write_table
from contextasm.config.input.options import Flag, Options, Text
from contextasm.config.resolve import process_environment
from contextasm.config.workspace_folder import open_workspace
from contextasm.model import Context, ContextasmError, Problem
from contextasm.records.replay import load_record, record_paths
from contextasm.rendering.documents import RequestData, context_data
from contextasm.text.names.templates import one_line


class RecordsDocument(TypedDict):
    """The requests of recorded builds, as `ctxasm records --json` prints them."""

    schema: Literal["ctxasm.records/1"]
    records: dict[str, RequestData]
    """The request of each record by its id, the newest first."""


def list_records(
    options: Options,
    *,
    sent_to: Annotated[Text, Flag("Show only the records of this session.", "ID", "--session")] = None,
    json: JsonOption = False,
) -> None:
    """List the records of builds, the newest first: id, day, agent, team, profile, tokens and topic.

    `explain`, `replay`, `diff` and `feedback` accept the first digits of an id.
    """
    paths = record_paths(Path(open_workspace(options, process_environment()).root))
    contexts: dict[str, Context] = {}
    for path in sorted(paths, key=lambda path: (-os.stat(path).st_mtime_ns, path)):
        try:
            record = load_record(path)
            if sent_to in {None, record.making.session}:
                contexts[path.stem] = record.context
        except ContextasmError as error:
            show_problems([Problem("record", error.where, 0, error.what, error.hint)])
    if json:
        requests = {name: context_data(context)["request"] for name, context in contexts.items()}
        write_json(RecordsDocument, {"records": requests})
    elif contexts:
        header = ("id", "day", "agent", "team", "profile", "tokens", "topic")
        write_table(header, [(name, *_cells(context)) for name, context in contexts.items()])
    else:
        session = f" of session {one_line(sent_to)}" if sent_to is not None else ""
        command = "build" if sent_to is None else "hook"
        write_stderr(f"ctxasm: no records here{session}: `ctxasm {command} --record` writes one")


def _cells(context: Context) -> Sequence[str]:
    request, size = context.request, f"{context.tokens:,} of {context.request.budget:,}"
    cells = (request.date.isoformat(), request.agent, request.team, context.profile, size, request.topic)
    return [cell or "-" for cell in cells]


run = Command(list_records, ("workspace",))
