"""`ctxasm plan`: what each of several budgets would keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import json_text, ready, say, table, takes_request, warn

if TYPE_CHECKING:
    from contextasm.config.resolve import Flags


def plan(
    request: Flags,
    *,
    budgets: Annotated[str, typer.Option(metavar="N,N,...", help="The budgets to compare.")] = "4k,8k,16k,32k",
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Show what each of several budgets would keep, layer by layer."""
    from contextasm.config.values import tokens
    from contextasm.rendering.wording import plan_data, plan_table

    sizes = [tokens(each, "--budgets") for each in budgets.split(",")]
    job = ready(request)
    contexts = [job.run(job.request._replace(budget=size), brief=True) for size in sizes]
    if json:
        say(json_text(plan_data(contexts)))
    else:
        say(table(*plan_table(contexts)))
        warn([problem for problem in contexts[-1].problems if problem in contexts[0].problems])
    return 0


run = takes_request(plan)
