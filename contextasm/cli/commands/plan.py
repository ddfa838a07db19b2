"""`ctxasm plan`: what each of several budgets would keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import prepare_request, takes_request
from contextasm.cli.output import format_json, format_table, show_problems, write_stdout

if TYPE_CHECKING:
    from contextasm.config.options import Options


def plan(
    request: Options,
    *,
    budgets: Annotated[str, typer.Option(metavar="N,N,...", help="The budgets to compare.")] = "4k,8k,16k,32k",
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Show what each of several budgets would keep, layer by layer."""
    from contextasm.config.values import parse_tokens
    from contextasm.rendering.wording import plan_data, plan_table

    sizes = [parse_tokens(each, "--budgets") for each in budgets.split(",")]
    job = prepare_request(request)
    contexts = [job.run(job.build._replace(request=job.build.request._replace(budget=size))) for size in sizes]
    if json:
        write_stdout(format_json(plan_data(contexts)))
    else:
        write_stdout(format_table(*plan_table(contexts)))
        show_problems([problem for problem in contexts[-1].problems if problem in contexts[0].problems])
    return 0


run = takes_request(plan)
