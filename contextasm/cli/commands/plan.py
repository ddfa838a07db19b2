"""`ctxasm plan`: show the tokens of each layer under several budgets."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Annotated

from contextasm.cli import output
from contextasm.cli.command_line import Command
from contextasm.cli.options import JsonOption, LockedOption, all_but, prepare_context, run_build
from contextasm.config.input.options import Flag, Options
from contextasm.config.input.values import parse_budgets
from contextasm.model import Context
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
        if output.is_rich_terminal():
            output.write_stdout(terminal_bars(contexts))
        output.show_common_problems(contexts)


run = Command(plan, all_but("format", "budget"))


COLOURS = ("blue", "yellow", "red", "cyan", "green", "magenta", "bright_blue", "bright_yellow", "bright_red", "white")
"""Colours of the layers in their order, used again from the first on."""

_CELL = "█"


def terminal_bars(contexts: Sequence[Context]) -> str:
    """The tokens of each document as a bar, all in one scale: the longest document has the width of the terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    out = Console(file=(written := StringIO()), width=console.width, force_terminal=True, highlight=False)
    labels = [f"{context.request.budget:,}" for context in contexts]
    width = max(map(len, labels))
    longest = max(context.tokens for context in contexts) or 1
    room = max(console.width - width - 2 - len(f"  {longest:,}"), 10)
    for label, context in zip(labels, contexts, strict=True):
        line = Text(f"{label.rjust(width)}  ")
        at = tokens = 0
        for number, usage in enumerate(context.allowances):
            tokens += usage.used
            stop = round(tokens * room / longest)
            line.append(_CELL * (stop - at), COLOURS[number % len(COLOURS)])
            at = stop
        line.append(f"  {context.tokens:,}")
        out.print(line, no_wrap=True, overflow="crop")
    legend = Text(" " * (width + 2))
    for number, usage in enumerate(contexts[-1].allowances):
        legend.append(_CELL, COLOURS[number % len(COLOURS)])
        legend.append(f" {usage.layer}   ")
    out.print(legend)
    return written.getvalue()
