"""`ctxasm explain`: what happened to every fragment, or to one line of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import prepare_request, takes_request
from contextasm.cli.output import format_json, format_table, show_problems, write_stderr, write_stdout

if TYPE_CHECKING:
    from contextasm.cli.commands.replay import OpenedRecord
    from contextasm.config.build import PreparedBuild
    from contextasm.config.options import Options
    from contextasm.model import Context, Workspace


def explain(
    request: Options,
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
    from contextasm.rendering.wording import decision_table, receipt, rule_trace_table

    if record is None:
        job = prepare_request(request, form)
        if line is not None:
            write_stdout(_line(job.workspace, job.run(), _relative(job, line), as_json=json))
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
        write_stdout(format_json(context_data(context)))
        return 0
    write_stdout(format_table(*decision_table(context.decisions, every=verbose or fragment is not None)))
    if fragment is not None:
        return 0
    if context.rule_traces:
        write_stdout("\n" + format_table(*rule_trace_table(context.rule_traces)))
    show_problems(context.problems)
    write_stderr(receipt(context))
    return 0


run = takes_request(explain)


def _relative(job: PreparedBuild, place: str) -> str:
    """A FILE:LINE as it was typed, as one of the workspace."""
    path, colon, number = place.rpartition(":")
    return f"{job.workspace.relative(path) if path else ''}{colon}{number}"


def _opened(record: str, request: Options, form: str | None) -> OpenedRecord:
    """The record that is named. Raises `ContextasmError` for flags of a request: it has one already."""
    from contextasm.cli.commands.replay import open_record
    from contextasm.config.resolve import process_environment
    from contextasm.model import ContextasmError

    given = request._replace(format=form)._asdict()
    for flag in (key for key, value in given.items() if value and key != "workspace"):
        hint = "leave it out; `ctxasm diff` compares a record with another build"
        raise ContextasmError(f"--{flag.rstrip('s')}", "does not go with a record", hint)
    return open_record(record, request.workspace, process_environment())


def _only(context: Context, fragment: str) -> Context:
    """A context with the decisions on one fragment alone. Raises `ContextasmError` if there are none."""
    from contextasm.model import ContextasmError
    from contextasm.text.matching import nearest

    decisions = tuple(each for each in context.decisions if fragment in {each.fragment, each.path})
    if not decisions:
        near = nearest(fragment, [each.fragment for each in context.decisions])
        hint = f"did you mean {near}?" if near else "`ctxasm explain --json` lists the ids"
        raise ContextasmError("--id", f"no fragment {fragment}", hint)
    return context._replace(decisions=decisions)


def _recorded_line(own: OpenedRecord, place: str, *, as_json: bool) -> int:
    """Tell the fate of one line in a recorded build, which takes building it again; the exit code."""
    from contextasm.cli.commands.replay import replay_record, show_differences

    done = replay_record(own)
    if not done.context or not done.same:
        return show_differences(own, done)
    write_stdout(_line(done.workspace, done.context, place, as_json=as_json))
    return 0


def _line(workspace: Workspace, context: Context, place: str, *, as_json: bool) -> str:
    """The fate of one line, in one line."""
    from contextasm.model import ContextasmError
    from contextasm.records.trace import trace_line
    from contextasm.rendering.wording import line_trace_words

    path, _, number = place.rpartition(":")
    if not path or not number.isdecimal() or not int(number):
        raise ContextasmError("--line", f"{place} names no line", "write FILE:LINE, such as IDENTITY.md:3")
    fate = trace_line(workspace, context, path, int(number))
    if as_json:
        return format_json(
            {"in": fate.shown, "layer": fate.layer, "reason": line_trace_words(fate.decision, fate.code)}
        )
    return f"{'in' if fate.shown else 'out'} {fate.layer or '-'} {line_trace_words(fate.decision, fate.code)}\n"
