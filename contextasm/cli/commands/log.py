"""`ctxasm log`: one more entry in the log of the day."""

from __future__ import annotations

from typing import Annotated

import typer

from contextasm.cli.options import say, stdin
from contextasm.cli.owner import Agent, Asked, Day, In, Quiet, Team, Zone, home, sound


def run(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What happened; - reads standard input.")],
    agent: Agent = None,
    team: Team = None,
    date: Day = None,
    tz: Zone = None,
    workspace: In = None,
    quiet: Quiet = False,
) -> int:
    """Append to the log of the day, a blank line between; the log is made if need be."""
    from contextasm.workspace.editing.files_log import append

    entry = sound(stdin("-", "entry") if text == "-" else text, "TEXT")
    owner = home(Asked(agent, team, workspace, date, tz))
    path = f"{owner.path}/daily/{owner.day}.md"
    made = append(owner.workspace, path, entry)
    if not quiet:
        say(f"{'made' if made else 'appended to'} {path}\n")
    return 0
