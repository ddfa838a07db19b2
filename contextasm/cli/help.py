"""Help of a command: its options in groups, and two examples.

`help.json` has the examples, and the groups of flags that are not of a request; those are in `config/input/options.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contextasm.config.input.options import GROUPS
from contextasm.config.input.values import load_table

FEW_OPTIONS = 12
"""Options that need no groups."""


_HELP = __file__.replace("help.py", "help.json")
"""Under `groups` the names of the parameters of each heading, under `examples` the lines of each command."""


def examples(command: str) -> Sequence[str]:
    """Lines that people may type for a command; empty for an unknown one."""
    lines: Sequence[str] = load_table(_HELP)["examples"].get(command, ())
    return lines


def write_options(command: Any, context: Any, formatter: Any) -> None:
    """Write the arguments of a command of typer, its options under their headings, and its examples."""
    parameters = command.get_params(context)
    options = [each for each in parameters if each.param_type_name == "option"]
    groups = {**GROUPS, **load_table(_HELP)["groups"]} if len(options) > FEW_OPTIONS else {}
    titles = {name: title for title, names in groups.items() for name in names}
    parts: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{title: [] for title in groups}, "Options": []}
    for each in parameters:
        title = titles.get(each.name, "Options") if each in options else "Arguments"
        parts[title] += filter(None, [each.get_help_record(context)])
    for title, records in parts.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)
    with formatter.section("Examples"):
        for line in examples(command.name):
            formatter.write(f"{'':{formatter.current_indent}}{line}\n")
