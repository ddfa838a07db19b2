"""`ctxasm rules`: those of the workspace, or which of them fire for a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import json_text, ready, say, table, takes_request

if TYPE_CHECKING:
    from contextasm.config.resolve import Flags
    from contextasm.model import Ruling


def rules(
    request: Flags,
    action: Annotated[
        str, typer.Argument(metavar="[list|eval]", help="`list` them, or `eval`: which fire for a request.")
    ] = "list",
    *,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """List the rules, or show which fire for a request, without assembling anything."""
    from contextasm.config.values import choice
    from contextasm.rendering.formats import ruling_data
    from contextasm.rendering.wording import ruling_table

    if choice(action, ("list", "eval"), "rules", "action") == "list":
        return _list(request, as_json=json)
    fired = ready(request).fired
    if fired is None:
        found: tuple[Ruling, ...] = ()
    else:
        from contextasm.rules.apply import rulings

        found = rulings(fired)
    say(json_text([*map(ruling_data, found)]) if json else table(*ruling_table(found)))
    return 0


def _list(request: Flags, *, as_json: bool) -> int:
    """List the rules as they are written."""
    from contextasm.cli.rule_listing import rule_data, rule_row
    from contextasm.config.resolve import open_rules, surroundings

    found = open_rules(request, surroundings())
    header = ("rule", "priority", "where", "when", "then")
    say(json_text([*map(rule_data, found)]) if as_json else table(header, [*map(rule_row, found)], (1,)))
    return 0


run = takes_request(rules)
