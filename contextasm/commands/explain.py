"""`ctxasm explain`: what happened to every fragment, or to one line of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.commands import json_text, ready, say, table, takes_request, tell, warn

if TYPE_CHECKING:
    from contextasm.prepare import Flags, Job


def explain(
    request: Flags,
    *,
    line: Annotated[
        str | None, typer.Option(metavar="FILE:LINE", help="Only whether this line is in, and why.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", "-f", metavar="NAME", help="The format that the tokens are counted in, as for build."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Every decision as JSON (ctxasm.context/1).")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Logs outside the window, one by one.")] = False,
) -> int:
    """Say what happened to every fragment, or to one line of a file, and why."""
    from contextasm.render import context_data
    from contextasm.render.words import decision_table, receipt, ruling_table

    job = ready(request, form)
    if line is not None:
        say(_line(job, line, as_json=json))
        return 0
    context = job.run()
    if json:
        say(json_text(context_data(context)))
        return 0
    header, rows, right = decision_table(context.decisions, every=verbose)
    say(table(header, rows, right))
    if context.rulings:
        say("\n" + table(*ruling_table(context.rulings)))
    warn(context.problems)
    tell(receipt(context))
    return 0


run = takes_request(explain)


def _line(job: Job, place: str, *, as_json: bool) -> str:
    """The fate of one line, in one line."""
    from contextasm.model import ContextasmError
    from contextasm.render.words import fate_words
    from contextasm.trace import trace

    path, _, number = place.rpartition(":")
    if not path or not number.isdecimal() or not int(number):
        raise ContextasmError("--line", f"{place} names no line", "write FILE:LINE, such as IDENTITY.md:3")
    fate = trace(job.workspace, job.run(), job.workspace.relative(path), int(number))
    if as_json:
        return json_text({"in": fate.shown, "layer": fate.layer, "reason": fate_words(fate.decision, fate.code)})
    return f"{'in' if fate.shown else 'out'} {fate.layer or '-'} {fate_words(fate.decision, fate.code)}\n"
