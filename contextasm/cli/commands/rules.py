"""`ctxasm rules`: those of the workspace, or which of them fire for a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import format_json, format_table, prepare_request, takes_request, write_stdout

if TYPE_CHECKING:
    from contextasm.config.options import Options
    from contextasm.model import RuleTrace


def rules(
    request: Options,
    action: Annotated[
        str, typer.Argument(metavar="[list|eval]", help="`list` them, or `eval`: which fire for a request.")
    ] = "list",
    *,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """List the rules, or show which fire for a request, without assembling anything."""
    from contextasm.config.values import require_known
    from contextasm.rendering.formats import rule_trace_data
    from contextasm.rendering.wording import rule_trace_table

    if require_known(action, ("list", "eval"), "rules", "action") == "list":
        return _list(request, as_json=json)
    fired = prepare_request(request).fired
    if fired is None:
        found: tuple[RuleTrace, ...] = ()
    else:
        from contextasm.rules.apply import rule_traces

        found = rule_traces(fired)
    write_stdout(format_json([*map(rule_trace_data, found)]) if json else format_table(*rule_trace_table(found)))
    return 0


def _list(request: Options, *, as_json: bool) -> int:
    """List the rules as they are written."""
    from contextasm.cli.rule_listing import rule_data, rule_row
    from contextasm.config.resolve import open_rules, process_environment

    found = open_rules(request, process_environment())
    header = ("rule", "priority", "where", "when", "then")
    write_stdout(
        format_json([*map(rule_data, found)]) if as_json else format_table(header, [*map(rule_row, found)], (1,))
    )
    return 0


run = takes_request(rules)
