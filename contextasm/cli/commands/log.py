"""`ctxasm log`: one more entry in the log of the day."""

from __future__ import annotations

from typing import Annotated

import typer

from contextasm.cli.output import read_stdin, write_stdout
from contextasm.cli.owner import (
    AgentOption,
    DateOption,
    OwnerOptions,
    QuietOption,
    TeamOption,
    WorkspaceOption,
    ZoneOption,
    find_owner,
    storable_text,
)


def run(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What happened; - reads standard input.")],
    agent: AgentOption = None,
    team: TeamOption = None,
    date: DateOption = None,
    tz: ZoneOption = None,
    workspace: WorkspaceOption = None,
    quiet: QuietOption = False,
) -> int:
    """Append to the log of the day, a blank line between; the log is made if need be."""
    from contextasm.workspace.editing.files import append_log

    entry = storable_text(read_stdin("-", "entry") if text == "-" else text, "TEXT")
    owner = find_owner(OwnerOptions(agent, team, workspace, date, tz))
    path = f"{owner.path}/daily/{owner.day}.md"
    made = append_log(owner.workspace, path, entry)
    if not quiet:
        write_stdout(f"{'made' if made else 'appended to'} {path}\n")
    return 0
