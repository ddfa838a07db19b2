"""`ctxasm config`: the settings in force, and where each comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import prepare_request, takes_request
from contextasm.cli.output import format_json, format_table, write_stdout

if TYPE_CHECKING:
    from contextasm.config.options import Options


def config(
    request: Options,
    *,
    origin: Annotated[bool, typer.Option("--origin", help="Where each value comes from, too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Show the settings that a build with the same flags would work with."""
    job = prepare_request(request)
    shown = [(key, setting.words or "-", setting.origin) for key, setting in job.settings.items()]
    if json:
        write_stdout(format_json([{"key": key, "value": value, "origin": source} for key, value, source in shown]))
    elif origin:
        write_stdout(format_table(("setting", "value", "from"), shown))
    else:
        write_stdout(format_table(("setting", "value"), [row[:2] for row in shown]))
    return 0


run = takes_request(config)
