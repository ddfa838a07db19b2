"""`ctxasm config`: the settings in force, and where each comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import json_text, ready, say, table, takes_request

if TYPE_CHECKING:
    from contextasm.config.resolve import Flags


def config(
    request: Flags,
    *,
    origin: Annotated[bool, typer.Option("--origin", help="Where each value comes from, too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Show the settings that a build with the same flags would work with."""
    job = ready(request)
    shown = [(key, setting.words or "-", setting.origin) for key, setting in job.settings.items()]
    if json:
        say(json_text([{"key": key, "value": value, "origin": source} for key, value, source in shown]))
    elif origin:
        say(table(("setting", "value", "from"), shown))
    else:
        say(table(("setting", "value"), [row[:2] for row in shown]))
    return 0


run = takes_request(config)
