"""`ctxasm explain`: show each fragment with its decision, tokens and reason, or the trace of one line of a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from contextasm.cli import output
from contextasm.cli.command_line import Argument, Command
from contextasm.cli.commands.replay import OpenedRecord, open_record, replay_record, require_same
from contextasm.cli.host_view import ALL, HostFlags, explain_host, read_hosts
from contextasm.cli.options import LockedOption, prepare_context, refuse_given, run_build, typed_flags
from contextasm.cli.page_file import load_style, refuse_page, refuse_personal, write_host_page, write_page
from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import Flag, Options, Text
from contextasm.config.input.settings import load_settings_file
from contextasm.config.input.values import parse_budgets
from contextasm.config.profiles.overrides import ProfileReader
from contextasm.config.resolve import process_environment
from contextasm.model import Context, ContextasmError, Layer, NamedTuple, Workspace
from contextasm.records.trace import trace_line
from contextasm.rendering.context_page import context_page
from contextasm.rendering.documents import ContextDocument, DecisionsDocument, context_data
from contextasm.rendering.tables import decision_table, rule_trace_table
from contextasm.rendering.wording import receipt
from contextasm.text.names.matching import nearest
from contextasm.workspace.folder import Folder
from contextasm.workspace.outputs import OutputFile


class LineDocument(TypedDict):
    """Whether a line of a file is in the context, as `ctxasm explain --line --json` prints it."""

    schema: Literal["ctxasm.line/1"]
    in_: bool
    """Whether the line is in the context."""
    layer: str
    """The id of the layer that decided; empty for none."""
    reason: str
    """Why, in words."""


class ExplainFlags(NamedTuple):
    """The flags that only `explain` has, as typed."""

    line: Annotated[Text, Flag("Show only whether this line is included, and why.", "FILE:LINE")] = None
    fragment: Annotated[
        Text,
        Flag("Show only the fragment with this id or file.", "ID", "--id", completed="memory"),
    ] = None
    html: Annotated[Text, Flag("Write the explanation as an HTML page to this file.", "FILE")] = None
    budgets: Annotated[Text, Flag("Show these budgets side by side on the page.", "N,N,...")] = None
    locked: LockedOption = False
    json: Annotated[bool, Flag("Print JSON instead of text.")] = False
    verbose: Annotated[bool, Flag("List each log that is too old to be shown.", names="-v")] = False
    staged: Annotated[bool, Flag("With --host, read the files from git's index.")] = False


def show_decisions(
    options: Options,
    *,
    record: Annotated[
        str | None,
        Argument("[RECORD]", "Explain this record instead (a file, or the first digits of its id).", "record"),
    ] = None,
    flags: ExplainFlags,
    hosts: HostFlags,
) -> None:
    """Show each fragment with its decision, tokens and reason.

    With --host, show which files a host loads by itself, and which lines it cuts.

    The page of --html leaves out private parts; --audience personal includes them.
    """
    _refuse_flags_of_hosts(record, flags, hosts.host)
    if hosts != HostFlags():
        _show_hosts(hosts, options, flags)
    elif flags.html is not None or flags.budgets is not None:
        _refuse_beside_page(flags)
        _write_page(options, record, flags)
    elif record is not None:
        opened = _open_record(record, options, locked=flags.locked)
        if flags.line is not None:
            result = replay_record(opened)  # a record holds no files
            _write_line(result.workspace, opened.folder, require_same(opened, result), flags)
        else:
            _write_decisions(opened.record.context, opened.folder, "", flags)
    else:
        job = prepare_context(options, locked=flags.locked)
        context = run_build(job)
        if flags.line is not None:
            output.show_taken(job.taken)
            _write_line(job.workspace, job.workspace, context, flags, job)
        else:
            _write_decisions(context, job.workspace, job.taken, flags)


run = Command(show_decisions)


def _refuse_flags_of_hosts(record: str | None, flags: ExplainFlags, host: str | None) -> None:
    """Raise `ContextasmError` for an argument that asks about a build, with a host, or about a host, without one."""
    if host is None:
        if flags.staged:
            raise ContextasmError("--staged", "needs a host", "name one with --host")
        return
    refuse_given({"--line": flags.line}, "--host", "use --html FILE, whose page shows each line")
    of_build = {"RECORD": record, "--id": flags.fragment, "--locked": flags.locked}
    if host == ALL and flags.html is None:
        raise ContextasmError(f"--host {ALL}", "a table shows only one host", "name one host, or add --html FILE")
    refuse_given({"--json": flags.json and flags.html is not None}, "--html", "leave one of them out")
    of_views = {"--budgets": flags.budgets, "--verbose": flags.verbose}
    refuse_given(of_build | of_views, "--host", "leave it out; --host builds nothing")


def _show_hosts(hosts: HostFlags, options: Options, flags: ExplainFlags) -> None:
    """Write what a host loads, or the page of it. Raises `ContextasmError`, also without one."""
    of_request = options._replace(audience=None) if flags.html is not None else options
    readings = read_hosts(hosts, of_request, staged=flags.staged)
    if not readings:
        raise ContextasmError(f"--host {ALL}", "no host has a file or folder here", "name one host")
    if flags.html is not None:
        write_host_page(readings, options, flags.html)
    else:
        explain_host(readings[0], as_json=flags.json)


def _refuse_beside_page(flags: ExplainFlags) -> None:
    """Raise `ContextasmError` for a flag that can't be used with a page, and for `--budgets` without one."""
    if flags.html is None:
        raise ContextasmError("--budgets", "only a page shows several budgets", "add --html FILE, or use `ctxasm plan`")
    others = {"--line": flags.line, "--id": flags.fragment, "--json": flags.json, "--verbose": flags.verbose}
    refuse_given(others, "--html", "leave one of them out")


MAX_BUDGETS = 6
"""Number of budgets that a page shows side by side."""


def _write_page(options: Options, record: str | None, flags: ExplainFlags) -> None:
    """Write the page of a build under one or more budgets, or of a record, which is built again.

    Raises `ContextasmError` for a record that gives other bytes, for a personal one, and for a file that a build could
    read.
    """
    page = OutputFile.named("page", flags.html or "")
    if record is None:
        sizes = _page_budgets(flags.budgets)
        job = prepare_context(options, [page], locked=flags.locked)
        refuse_page(page, [job])
        output.show_taken(job.taken)
        requests = [job.build.request._replace(budget=size) for size in sizes or (job.build.request.budget,)]
        contexts = [run_build(job, job.in_full._replace(request=request)) for request in requests]
    else:
        opened = _open_record(record, options._replace(audience=None), flags.budgets, locked=flags.locked)
        refuse_personal([opened], options)
        refuse_page(page, [], [opened])
        contexts = [require_same(opened, replay_record(opened))]
    output.show_common_problems(contexts)
    write_page(page, context_page(contexts, load_style()))


def _page_budgets(budgets: str | None) -> Sequence[int]:
    """The budgets in ascending order, each once; empty for that of the request."""
    sizes = sorted({*parse_budgets(budgets)}) if budgets is not None else []
    if len(sizes) > MAX_BUDGETS:
        raise ContextasmError("--budgets", f"{len(sizes)} budgets are too many", f"name at most {MAX_BUDGETS}")
    return sizes


def _write_decisions(context: Context, folder: Folder | None, taken: str, flags: ExplainFlags) -> None:
    """Write the decisions on all fragments or on one; rules, problems and receipt only with all."""
    is_one = flags.fragment is not None
    if flags.json or is_one:
        output.show_taken(taken)
    if flags.fragment is not None:
        context = _only_fragment(context, _known_name(folder, context, flags.fragment) if folder else flags.fragment)
    if flags.json:
        output.write_json(DecisionsDocument if is_one else ContextDocument, context_data(context))
        return
    output.write_table(*decision_table(context.decisions, every=flags.verbose or is_one))
    if is_one:
        return
    if context.rule_traces:
        output.write_stdout("\n" + output.format_table(*rule_trace_table(context.rule_traces)))
    output.show_problems(context.problems)
    output.write_stderr(receipt(context, taken))


def _known_name(folder: Folder, context: Context, typed: str) -> str:
    """A typed id or path as the context names it: the path may lead to the same file through a link."""
    names = {name for decision in context.decisions for name in (decision.fragment, decision.path)}
    if typed in names:
        return typed
    path = folder.relative(typed)
    if path in names or not folder.exists(path):
        return path
    real = os.path.realpath(os.path.join(folder.root, path))
    paths = {decision.path for decision in context.decisions}
    return next((name for name in sorted(paths) if os.path.realpath(os.path.join(folder.root, name)) == real), path)


def _open_record(name: str, options: Options, budgets: str | None = None, *, locked: bool) -> OpenedRecord:
    """The record of this name. Raises `ContextasmError` for options of a request, which the record has already."""
    given = {**typed_flags(options), "--budgets": budgets, "--locked": locked}
    refuse_given(given, "a record", "leave it out; `ctxasm diff` compares a record with another build")
    return open_record(name, options.workspace, process_environment())


def _only_fragment(context: Context, fragment: str) -> Context:
    """A context with only the decisions on one fragment. Raises `ContextasmError` if it has none."""
    decisions = tuple(decision for decision in context.decisions if fragment in {decision.fragment, decision.path})
    if not decisions:
        near = nearest(fragment, [decision.fragment for decision in context.decisions], 0.8)
        hint = f"did you mean {near}?" if near else "`ctxasm explain --json` lists the ids"
        raise ContextasmError("--id", f"no fragment has the id or file {fragment}", hint)
    return context._replace(decisions=decisions)


def _all_layers(job: PreparedBuild) -> Sequence[Layer]:
    """Layers of the profile, with the ones that are switched off or outside the scope."""
    reader = ProfileReader(load_settings_file(job.workspace), job.workspace, process_environment())
    return reader.with_all_layers(job.settings).layers


def _write_line(
    workspace: Workspace, folder: Folder | None, context: Context, flags: ExplainFlags, job: PreparedBuild | None = None
) -> None:
    """Write the trace of one line as text or as JSON. A path is typed as one below `folder`.

    Raises `ContextasmError` for what is not FILE:LINE.
    """
    path, colon, number = (flags.line or "").rpartition(":")
    path = _known_name(folder, context, path) if folder and path else path
    digits = number[:20]  # More digits than any file has lines; Python reads no number of over 4,300.
    if not path or not digits.isdecimal() or not int(digits):
        what = f"`{path}{colon}{number}` names no line"
        raise ContextasmError("--line", what, "write FILE:LINE, such as IDENTITY.md:3")
    trace = trace_line(workspace, context, path, int(digits), lambda: _all_layers(job) if job else ())
    if flags.json:
        output.write_json(LineDocument, {"in_": trace.shown, "layer": trace.layer, "reason": trace.reason})
    else:
        output.write_stdout(output.shown(f"{'in' if trace.shown else 'out'} {trace.layer or '-'} {trace.reason}\n"))
