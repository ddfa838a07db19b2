"""`ctxasm plan`: show the tokens of each layer under several budgets."""

from __future__ import annotations

from typing import Annotated

import typer

from contextasm.cli.options import JsonOption, LockedOption, all_but, prepare_context, run_build, takes_options
from contextasm.cli.output import format_json, format_table, is_rich_terminal, show_problems, show_taken, write_stdout
from contextasm.config.options import Options


def plan(
    options: Options,
    *,
    budgets: Annotated[str, typer.Option(metavar="N,N,...", help="The budgets to compare.")] = "4k,8k,16k,32k",
    locked: LockedOption = False,
    json: JsonOption = False,
) -> int:
    """Show the tokens of each layer under several budgets."""
    from contextasm.config.values import parse_budgets
    from contextasm.rendering.formats import plan_data
    from contextasm.rendering.tables import plan_table

    sizes = parse_budgets(budgets, "--budgets")
    job = prepare_context(options, locked=locked)
    show_taken(job.taken)
    requests = [job.build.request._replace(budget=size) for size in sizes]
    contexts = [run_build(job, job.build._replace(request=request)) for request in requests]
    if json:
        write_stdout(format_json(plan_data(contexts)))
    else:
        write_stdout(format_table(*plan_table(contexts)))
        if is_rich_terminal():
            from contextasm.cli.plan_bars import terminal_bars

            write_stdout(terminal_bars(contexts))
        show_problems([problem for problem in contexts[-1].problems if problem in contexts[0].problems])
    return 0


run = takes_options(plan, all_but("format", "budget"))
