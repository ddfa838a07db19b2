"""`ctxasm explain`: what happened to every fragment, or to one line of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import json_text, ready, say, table, takes_request, tell, warn

if TYPE_CHECKING:
    from contextasm.cli.commands.replay import Opened
    from contextasm.config.resolve import Flags, Job
    from contextasm.model import Context, Workspace


def explain(
    request: Flags,
    record: Annotated[
        str | None, typer.Argument(metavar="[RECORD]", help="Of this record (a file, or digits of its id) instead.")
    ] = None,
    *,
    line: Annotated[
        str | None, typer.Option(metavar="FILE:LINE", help="Only whether this line is in, and why.")
    ] = None,
    fragment: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Only this fragment: a file's path or a memory's id.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", "-f", metavar="NAME", help="The format that the tokens are counted in, as for build."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Every decision as JSON (ctxasm.context/1).")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Logs outside the window, one by one.")] = False,
) -> int:
    """Say what happened to every fragment, or to one line of a file, and why."""
    from contextasm.rendering.formats import context_data
    from contextasm.rendering.wording import decision_table, receipt, ruling_table

    if record is None:
        job = ready(request, form)
        if line is not None:
            say(_line(job.workspace, job.run(), _relative(job, line), as_json=json))
            return 0
        context = job.run()
    else:
        own = _opened(record, request, form)
        if line is not None:
            return _recorded_line(own, line, as_json=json)
        context = own.record.context
    if fragment is not None:
        context = _only(context, fragment)
    if json:
        say(json_text(context_data(context)))
        return 0
    say(table(*decision_table(context.decisions, every=verbose or fragment is not None)))
    if fragment is not None:
        return 0
    if context.rulings:
        say("\n" + table(*ruling_table(context.rulings)))
    warn(context.problems)
    tell(receipt(context))
    return 0


run = takes_request(explain)


def _relative(job: Job, place: str) -> str:
    """A FILE:LINE as it was typed, as one of the workspace."""
    path, colon, number = place.rpartition(":")
    return f"{job.workspace.relative(path) if path else ''}{colon}{number}"


def _opened(record: str, request: Flags, form: str | None) -> Opened:
    """The record that is named. Raises `ContextasmError` for flags of a request: it has one already."""
    from contextasm.cli.commands.replay import opened
    from contextasm.config.resolve import surroundings
    from contextasm.model import ContextasmError

    given = request._replace(format=form)._asdict()
    for flag in (key for key, value in given.items() if value and key != "workspace"):
        todo = "leave it out; `ctxasm diff` compares a record with another build"
        raise ContextasmError(f"--{flag.rstrip('s')}", "does not go with a record", todo)
    return opened(record, request.workspace, surroundings())


def _only(context: Context, fragment: str) -> Context:
    """A context with the decisions on one fragment alone. Raises `ContextasmError` if there are none."""
    from contextasm.model import ContextasmError
    from contextasm.text.matching import nearest

    decisions = tuple(each for each in context.decisions if fragment in {each.fragment, each.path})
    if not decisions:
        near = nearest(fragment, [each.fragment for each in context.decisions])
        todo = f"did you mean {near}?" if near else "`ctxasm explain --json` lists the ids"
        raise ContextasmError("--id", f"no fragment {fragment}", todo)
    return context._replace(decisions=decisions)


def _recorded_line(own: Opened, place: str, *, as_json: bool) -> int:
    """Tell the fate of one line in a recorded build, which takes building it again; the exit code."""
    from contextasm.cli.commands.replay import again, differs

    done = again(own)
    if not done.context or not done.same:
        return differs(own, done)
    say(_line(done.workspace, done.context, place, as_json=as_json))
    return 0


def _line(workspace: Workspace, context: Context, place: str, *, as_json: bool) -> str:
    """The fate of one line, in one line."""
    from contextasm.model import ContextasmError
    from contextasm.records.trace import trace
    from contextasm.rendering.wording import fate_words

    path, _, number = place.rpartition(":")
    if not path or not number.isdecimal() or not int(number):
        raise ContextasmError("--line", f"{place} names no line", "write FILE:LINE, such as IDENTITY.md:3")
    fate = trace(workspace, context, path, int(number))
    if as_json:
        return json_text({"in": fate.shown, "layer": fate.layer, "reason": fate_words(fate.decision, fate.code)})
    return f"{'in' if fate.shown else 'out'} {fate.layer or '-'} {fate_words(fate.decision, fate.code)}\n"
