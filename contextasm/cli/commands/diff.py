"""`ctxasm diff`: compare the contexts of two records, days, budgets or git revisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextasm.cli.options import takes_options
from contextasm.cli.output import format_json, format_table, write_stdout
from contextasm.config.options import Options

if TYPE_CHECKING:
    from contextasm.cli.commands.replay import OpenedRecord
    from contextasm.config.options import ProcessEnvironment
    from contextasm.records.diff import Difference, Side

_SIDE = "A record, a day (YYYY-MM-DD), a budget (@8k) or a git revision (HEAD~3)"


def diff(
    options: Options,
    a: Annotated[str, typer.Argument(metavar="A", help=f"{_SIDE}.")],
    b: Annotated[
        str | None, typer.Argument(metavar="B", help="The same choice (default: the workspace as it is).")
    ] = None,
    *,
    text: Annotated[bool, typer.Option("--text", help="Print the lines that differ between the two texts.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (ctxasm.diff/1).")] = False,
) -> int:
    """Show which fragments entered, left, were shortened or moved between two contexts, and what a prompt cache keeps.

    Each side is a build with the options given here: at that day, with that budget, or of the files of that git
    revision. A record is not built again; the other side is then built with the options of the record.
    """
    from contextasm.config.resolve import process_environment
    from contextasm.model import ContextasmError
    from contextasm.records.diff import compare_contexts
    from contextasm.records.diff_report import diff_data, shift_table, summary

    if text and json:
        raise ContextasmError("--text", "does not go with --json", "leave one of them out")
    process = process_environment()
    now = process.now()
    process = process._replace(now=lambda: now)  # both sides are of the same day
    records = {name: _find_record(name, options, process) for name in (a, b) if name}
    base = _with_options_of(options, [record for record in records.values() if record])
    before, after = (_side(name, records.get(name or ""), base, process) for name in (a, b))
    difference = compare_contexts(before, after)
    if json:
        output = format_json(diff_data(difference))
    elif text:
        output = _text_diff(difference)
    else:
        table = format_table(*shift_table(difference)) + "\n" if difference.shifts else ""
        output = f"{table}{summary(difference)}\n"
    write_stdout(output)
    return 0


run = takes_options(diff)


def _find_record(name: str, options: Options, process: ProcessEnvironment) -> OpenedRecord | None:
    """The record that a side names; None for a day, a budget or a revision."""
    from contextasm.cli.commands.replay import find_opened_record
    from contextasm.text.dates import is_date_form

    if name.startswith("@") or is_date_form(name):
        return None
    if not name.endswith(".json") and (process.folder / name).is_file():
        return None  # a file may have the name of a branch
    return find_opened_record(name, options.workspace, process)


def _with_options_of(options: Options, records: Sequence[OpenedRecord]) -> Options:
    """The options of a side that is built: those given here, else those of the records."""
    for opened in records:
        record = opened.record
        typed = {
            setting.key: setting.value
            for setting in record.making.settings
            if setting.origin.startswith(("--", "CTXASM_"))
        }
        layers = [f"{key.split('.')[1]}={value}" for key, value in typed.items() if key.startswith("layers.")]
        recorded = {key: value for key, value in typed.items() if key in options._fields}
        recorded |= {"topic": record.request.topic} | ({"workspace": str(opened.root)} if opened.root else {})
        missing: dict[str, Any] = {key: value for key, value in recorded.items() if getattr(options, key) is None}
        options = options._replace(**missing, layers=options.layers or tuple(layers))
    return options


def _side(name: str | None, opened: OpenedRecord | None, options: Options, process: ProcessEnvironment) -> Side:
    """One of the two contexts; without a name, that of the workspace as it is. Raises `ContextasmError`."""
    from contextasm.config.resolve import prepare_build
    from contextasm.config.values import parse_tokens
    from contextasm.records.diff import Side
    from contextasm.text.dates import is_date_form

    if opened:
        return Side(opened.path.stem, opened.record.context, opened.record.hashes)
    if name and name.startswith("@"):
        options = options._replace(budget=str(parse_tokens(name[1:], name)))
    elif name and is_date_form(name):
        options = options._replace(date=name)
    elif name is not None:
        return _revision_side(name, options, process)
    context = prepare_build(options, process).run()
    return Side(name or "now", context, {document.path: document.digest for document in context.documents})


def _revision_side(name: str, options: Options, process: ProcessEnvironment) -> Side:
    """The context of a git revision, with the settings of then. Raises `ContextasmError`, which names the revision."""
    from contextasm.config.resolve import open_workspace, prepare_build
    from contextasm.model import ContextasmError
    from contextasm.records.diff import Side
    from contextasm.workspace.git import GitWorkspace

    revision = GitWorkspace(open_workspace(options, process).root, name, process.environment)
    try:
        context = prepare_build(options, process, revision).run()
    except ContextasmError as error:
        raise ContextasmError(f"{name}: {error.where}", error.what, error.hint, error.code) from error
    finally:
        revision.close()
    return Side(name, context, {document.path: document.digest for document in context.documents})


def _text_diff(difference: Difference) -> str:
    """The lines that differ, as `diff -u` prints them."""
    from difflib import unified_diff

    old, new = (side.context.text.split("\n")[:-1] for side in (difference.before, difference.after))
    lines = unified_diff(old, new, difference.before.label, difference.after.label, lineterm="")
    return "".join(f"{line}\n" for line in lines)
