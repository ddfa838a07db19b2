"""`ctxasm plan`: show the tokens of each layer under several budgets."""

from __future__ import annotations

from typing import Annotated

from contextasm.cli import output
from contextasm.cli.command_line import Command
from contextasm.cli.options import JsonOption, LockedOption, all_but, prepare_context, run_build
from contextasm.config.input.options import Flag, Options
from contextasm.config.input.values import parse_budgets
from contextasm.rendering.documents import PlanDocument, budget_plan
from contextasm.rendering.tables import plan_table


def plan(
    options: Options,
    *,
    budgets: Annotated[str, Flag("The budgets to compare.", "N,N,...")] = "4k,8k,16k,32k",
    locked: LockedOption = False,
    json: JsonOption = False,
) -> None:
    """Show the tokens of each layer under several budgets."""
    sizes = parse_budgets(budgets)
    job = prepare_context(options, locked=locked)
    output.show_taken(job.taken)
    requests = [job.build.request._replace(budget=size) for size in sizes]
    contexts = [run_build(job, job.build._replace(request=request)) for request in requests]
    if json:
        output.write_json(PlanDocument, {"budgets": [*map(budget_plan, contexts)]})
    else:
        output.write_table(*plan_table(contexts))
        output.show_common_problems(contexts)


run = Command(plan, all_but("format", "budget"))
