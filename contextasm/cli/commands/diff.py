"""`ctxasm diff`: what entered and left the context between two records, days, budgets or git revisions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextasm.cli.options import takes_request
from contextasm.cli.output import format_json, format_table, write_stdout

if TYPE_CHECKING:
    from contextasm.cli.commands.replay import OpenedRecord
    from contextasm.config.options import Options, ProcessEnvironment
    from contextasm.records.diff import Difference, Side

_DATE = r"\d{4}-\d{2}-\d{2}"

_SIDE = "A record, a day (YYYY-MM-DD), a budget (@8k) or a git revision (HEAD~3)"


def diff(
    request: Options,
    a: Annotated[str, typer.Argument(metavar="A", help=f"{_SIDE}.")],
    b: Annotated[str | None, typer.Argument(metavar="B", help="Likewise; else the workspace as it is.")] = None,
    *,
    form: Annotated[str | None, typer.Option("--format", "-f", metavar="NAME", help="As for build.")] = None,
    text: Annotated[bool, typer.Option("--text", help="The lines of both texts that differ, instead.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON (ctxasm.diff/1).")] = False,
) -> int:
    """Show what entered, left, was shortened or moved between two contexts, and what a prompt cache would keep of them.

    Each side is a build with the options given here, at that day, with that budget, or of the files as they are in
    that git revision. A record stands as it is, and the other side is then asked for with the options of the record.
    """
    from contextasm.config.resolve import process_environment
    from contextasm.model import ContextasmError
    from contextasm.records.diff import compare_contexts
    from contextasm.records.diff_report import diff_data, shift_table, summary

    if text and json:
        raise ContextasmError("--text", "does not go with --json", "leave one of them out")
    around = process_environment()
    now = around.now()
    around = around._replace(now=lambda: now)
    records = {name: _record(name, request, around) for name in (a, b) if name}
    base = _base(request._replace(format=form), [each for each in records.values() if each])
    before, after = (_side(name, records.get(name or ""), base, around) for name in (a, b))
    difference = compare_contexts(before, after)
    if json:
        write_stdout(format_json(diff_data(difference)))
    elif text:
        write_stdout(_text(difference))
    else:
        write_stdout(
            (format_table(*shift_table(difference)) + "\n" if difference.shifts else "") + summary(difference) + "\n"
        )
    return 0


run = takes_request(diff)


def _record(name: str, request: Options, around: ProcessEnvironment) -> OpenedRecord | None:
    """The record that a word means; None where it means something else."""
    from contextasm.cli.commands.replay import find_opened_record

    if name.startswith("@") or re.fullmatch(_DATE, name):
        return None
    if not name.endswith(".json") and (around.folder / name).is_file():
        return None  # a file may have the name of a branch
    return find_opened_record(name, request.workspace, around)


def _base(request: Options, records: list[OpenedRecord]) -> Options:
    """The flags of a side that is built: those given here, else those that the record was made with."""
    for own in records:
        record = own.record
        settings = {each.key: each for each in record.making.settings}
        typed = {key: each.value for key, each in settings.items() if each.origin.startswith(("--", "CTXASM_"))}
        layers = [f"{key.split('.')[1]}={typed[key]}" for key in typed if key.startswith("layers.") and key in settings]
        known = {key: value for key, value in typed.items() if key in request._fields}
        known |= {"topic": record.request.topic} | ({"workspace": str(own.root)} if own.root else {})
        missing: dict[str, Any] = {key: value for key, value in known.items() if getattr(request, key) is None}
        request = request._replace(**missing, layers=request.layers or tuple(layers))
    return request


def _side(name: str | None, own: OpenedRecord | None, flags: Options, around: ProcessEnvironment) -> Side:
    """One of the two contexts. Raises `ContextasmError`, with the side's name where it is a revision."""
    from contextasm.config.resolve import prepare_build
    from contextasm.config.values import parse_tokens
    from contextasm.records.diff import Side

    if own:
        return Side(own.path.stem, own.record.context, own.record.hashes)
    if name and name.startswith("@"):
        job = prepare_build(flags._replace(budget=str(parse_tokens(name[1:], name))), around)
    elif name and re.fullmatch(_DATE, name):
        job = prepare_build(flags._replace(date=name), around)
    elif name is not None:
        return _revision(name, flags, around)
    else:
        job = prepare_build(flags, around)
    context = job.run()
    return Side(name or "now", context, {each.path: each.digest for each in context.documents})


def _revision(name: str, flags: Options, around: ProcessEnvironment) -> Side:
    """The context of a git revision, its settings included."""
    from contextasm.config.resolve import open_workspace, prepare_build
    from contextasm.model import ContextasmError
    from contextasm.records.diff import Side
    from contextasm.workspace.git import GitWorkspace

    revision = GitWorkspace(open_workspace(flags, around).root, name, around.environment)
    try:
        context = prepare_build(flags, around, revision).run()
    except ContextasmError as error:
        raise ContextasmError(f"{name}: {error.where}", error.what, error.hint, error.code) from error
    finally:
        revision.close()
    return Side(name, context, {each.path: each.digest for each in context.documents})


def _text(difference: Difference) -> str:
    """The lines that differ, as `diff -u` shows them."""
    from difflib import unified_diff

    old, new = (side.context.text.split("\n")[:-1] for side in (difference.before, difference.after))
    lines = unified_diff(old, new, difference.before.label, difference.after.label, lineterm="")
    return "".join(f"{line}\n" for line in lines)
