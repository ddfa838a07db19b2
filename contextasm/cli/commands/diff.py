"""`ctxasm diff`: compare the contexts of two records, days, budgets or git revisions."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from difflib import unified_diff
from functools import partial
from typing import Annotated

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.commands.replay import OpenedRecord, find_opened_record, with_options_of
from contextasm.cli.output import format_json, format_table, show_taken, shown, write_stdout
from contextasm.cli.page_file import load_style, refuse_page, refuse_personal, write_page
from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import Flag, Options, ProcessEnvironment, Text
from contextasm.config.input.values import parse_day, parse_tokens
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.config.workspace_folder import open_workspace
from contextasm.model import SHARED, ContextasmError
from contextasm.records import diff as records
from contextasm.text.names.dates import is_date_form
from contextasm.workspace.git.folder import open_revision
from contextasm.workspace.outputs import OutputFile

_SIDE = "A record, a day (YYYY-MM-DD), a budget (@8k) or a git revision (HEAD~3)"


def diff(
    options: Options,
    *,
    a: Annotated[str, Argument("[A]", f"{_SIDE}.", "record")] = "HEAD",
    b: Annotated[str | None, Argument("B", "The other side (default: the workspace as it is).", "record")] = None,
    text: Annotated[bool, Flag("Print the lines that differ between the two contexts.")] = False,
    json: Annotated[bool, Flag("Print JSON (ctxasm.diff/1).")] = False,
    html: Annotated[Text, Flag("Write a page with layers, changes and lines to this file.", "FILE")] = None,
) -> None:
    """Show which fragments were added, removed, shortened or moved between two contexts, and what a prompt cache keeps.

    Each side is a build with the options given here, for a day, a budget or a git revision. A record is not built
    again; the other side is built with the options of the record. The page of --html leaves out private parts;
    --audience personal includes them.
    """
    given = [flag for flag, value in (("--html", html is not None), ("--text", text), ("--json", json)) if value]
    if len(given) > 1:
        raise ContextasmError(given[0], f"can't be used with {given[1]}", "leave one of them out")
    process = process_environment()
    now = process.now()
    process = process._replace(now=lambda: now)  # both sides are of the same day
    named = {name: _find_record(name, options, process) for name in (a, b) if name}
    opened = [record for record in named.values() if record]
    both, profile = with_options_of(options, opened)
    if html is not None or options.audience == SHARED:
        refuse_personal(opened, options)
    file = None if html is None else OutputFile.named("page", html)
    prepare = partial(prepare_build, process=process, stored_profile=profile, targets=[file] if file else [])
    sides = [_side(name, named.get(name or ""), both, process, prepare) for name in (a, b)]
    for words in dict.fromkeys(job.taken for _, job in sides if job):
        show_taken(words)
    difference = records.compare_contexts(*(side for side, _ in sides))
    if file:
        refuse_page(file, [job for _, job in sides if job], opened)
        write_page(file, records.difference_page(difference, load_style()))
    else:
        write_stdout(_output(difference, as_json=json, as_text=text))


run = Command(diff)


def _output(difference: records.Difference, *, as_json: bool, as_text: bool) -> str:
    """The difference as JSON, as the lines that differ, or as a table and a line of figures."""
    if as_json:
        return format_json(records.DiffDocument, records.diff_data(difference))
    if as_text:
        return shown(_text_diff(difference))
    table = format_table(*records.shift_table(difference)) + "\n" if difference.shifts else ""
    return f"{table}{records.summary(difference)}\n"


def _find_record(name: str, options: Options, process: ProcessEnvironment) -> OpenedRecord | None:
    """The record that a side names; None for a day, a budget or a revision."""
    if _is_budget(name) or is_date_form(name):
        return None
    if not name.endswith(".json") and os.path.isfile(os.path.join(process.folder, name)):
        return None  # a file may have the name of a branch
    return find_opened_record(name, options.workspace, process)


def _is_budget(name: str) -> bool:
    """Whether a side is a budget, such as `@8k`; to git, `@` and `@{u}` are revisions."""
    return name.startswith("@") and name[1:2] not in {"", "{", "~", "^", "@", ":"}


def _side(
    name: str | None,
    opened: OpenedRecord | None,
    options: Options,
    process: ProcessEnvironment,
    prepare: Callable[..., PreparedBuild],
) -> tuple[records.Side, PreparedBuild | None]:
    """One of the two contexts, and its build; None for a record. Without a name, that of the workspace as it is.

    `prepare` is `prepare_build` with all but the options and the workspace. Raises `ContextasmError`.
    """
    if opened:
        return records.Side(opened.path.stem, opened.record.context, opened.record.hashes), None
    with ExitStack() as held:
        revision = None
        if name and _is_budget(name):
            options = options._replace(budget=str(parse_tokens(name[1:], name)))
        elif name and is_date_form(name):
            options = options._replace(date=parse_day(name, "diff").isoformat())
        elif name is not None:
            root = open_workspace(options, process).root
            revision = held.enter_context(open_revision(root, name, process.environment))
            if revision.is_empty:
                hint = "name a revision in which it was committed"
                raise ContextasmError(name, f"has no file of the workspace {root}", hint)
        label = name or "now"
        try:
            job = prepare(options, workspace=revision)
            context = job.run()
        except ContextasmError as error:
            raise ContextasmError(f"{label}: {error.where}", error.what, error.hint, error.code) from error
    opened_files = (*context.documents, *context.cited)
    return records.Side(label, context, {document.path: document.digest for document in opened_files}), job


def _text_diff(difference: records.Difference) -> str:
    """The lines that differ, as `diff -u` prints them."""
    old, new = (side.context.text.split("\n")[:-1] for side in (difference.before, difference.after))
    lines = unified_diff(old, new, difference.before.label, difference.after.label, lineterm="")
    return "".join(f"{line}\n" for line in lines)
