"""`ctxasm log`: append an entry to the log of the day."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

import typer

from contextasm.cli.options import JsonOption, QuietOption, takes_options
from contextasm.cli.output import format_json, read_stdin, require_stdout, write_receipt
from contextasm.cli.owner import OWNER_AND_DAY, recover_first, typed_text
from contextasm.config.input.options import Options
from contextasm.config.resolve import process_environment
from contextasm.memories.owner import find_owner
from contextasm.workspace.editing.files import append_log


class LogDocument(TypedDict):
    """The log that got an entry, as `ctxasm log --json` prints it."""

    schema: Literal["ctxasm.log/1"]
    path: str
    """The log, relative to the workspace."""
    made: bool
    """Whether it is new."""


def append_entry(
    options: Options,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The entry; - reads standard input.")],
    *,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Append an entry to the log of the day, after a blank line; a missing log is created."""
    if json or not quiet:
        require_stdout()
    entry = typed_text(read_stdin("-", "entry") if text == "-" else text, "TEXT")
    owner = find_owner(options, process_environment())
    path = f"{owner.path}/daily/{owner.day}.md"
    recover_first(owner.workspace)
    made = append_log(owner.workspace, path, entry)
    if json:
        write_receipt(format_json(LogDocument, {"path": path, "made": made}))
    elif not quiet:
        write_receipt(f"{'made' if made else 'appended to'} {path}\n")
    return 0


run = takes_options(append_entry, OWNER_AND_DAY)
