"""`ctxasm config`: show the settings in force and the origin of each."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from contextasm.cli.command_line import Command
from contextasm.cli.options import JsonOption, all_but
from contextasm.cli.output import show_taken, write_json, write_table
from contextasm.config.input.options import Flag, Options
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.records.record import Chosen


class ConfigDocument(TypedDict):
    """The settings in force, as `ctxasm config --json` prints them."""

    schema: Literal["ctxasm.config/1"]
    settings: list[Chosen]
    """Every setting, in the order of the manual."""


def config(
    options: Options,
    *,
    origin: Annotated[bool, Flag("Show where each value comes from.")] = False,
    json: JsonOption = False,
) -> None:
    """Show the settings of a build with the same options."""
    job = prepare_build(options, process_environment())
    show_taken(job.taken)
    rows = [Chosen(key, setting.words or "-", setting.origin) for key, setting in job.settings.items()]
    if json:
        write_json(ConfigDocument, {"settings": rows})
    elif origin:
        # The longest column is the last one, so that it pads no other.
        write_table(("setting", "from", "value"), [(row.key, row.origin, row.value) for row in rows])
    else:
        write_table(("setting", "value"), [row[:2] for row in rows])


run = Command(config, all_but("format"))
