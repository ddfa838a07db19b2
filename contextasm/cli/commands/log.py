"""`ctxasm log`: append an entry to the log of the day."""

from __future__ import annotations

from typing import Annotated

import typer

from contextasm.cli.options import QuietOption, takes_options
from contextasm.cli.output import read_stdin, require_stdout, write_receipt
from contextasm.cli.owner import OWNER_AND_DAY, find_owner, storable_text
from contextasm.cli.recovery import recover_first
from contextasm.config.options import Options


def log(
    options: Options,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The entry; - reads standard input.")],
    *,
    quiet: QuietOption = False,
) -> int:
    """Append an entry to the log of the day, after a blank line; a missing log is created."""
    from contextasm.workspace.editing.files import append_log

    if not quiet:
        require_stdout()
    entry = storable_text(read_stdin("-", "entry") if text == "-" else text, "TEXT")
    owner = find_owner(options)
    path = f"{owner.path}/daily/{owner.day}.md"
    recover_first(owner.workspace)
    made = append_log(owner.workspace, path, entry)
    if not quiet:
        write_receipt(f"{'made' if made else 'appended to'} {path}\n")
    return 0


run = takes_options(log, OWNER_AND_DAY)
