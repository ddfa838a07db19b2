"""`ctxasm log`: append an entry to the log of the day."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.options import Receipt
from contextasm.cli.output import read_stdin
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
    *,
    text: Annotated[str, Argument("TEXT", "The entry (`-` reads standard input).")],
    receipt: Receipt,
) -> None:
    """Append an entry to the log of the day, and create the log if it is missing."""
    receipt.require_stdout()
    entry = typed_text(read_stdin("-", "entry") if text == "-" else text, "TEXT")
    owner = find_owner(options, process_environment())
    path = owner.file("log")
    recover_first(owner.workspace)
    made = append_log(owner.workspace, path, entry)
    receipt.write(LogDocument, {"path": path, "made": made}, [f"{'made' if made else 'appended to'} {path}"])


run = Command(append_entry, OWNER_AND_DAY)
