"""`ctxasm diff`: compare the contexts of two records, days, budgets or git revisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from contextasm.cli.options import record_argument, takes_options
from contextasm.cli.output import format_json, format_table, shown, write_stdout
from contextasm.config.options import Options
from contextasm.config.settings import FILE

if TYPE_CHECKING:
    from contextasm.cli.commands.replay import OpenedRecord
    from contextasm.config.options import ProcessEnvironment
    from contextasm.model import Profile
    from contextasm.records.diff import Difference, Side
    from contextasm.workspace.git import GitWorkspace

_SIDE = "A record, a day (YYYY-MM-DD), a budget (@8k) or a git revision (HEAD~3)"


def diff(
    options: Options,
    a: Annotated[str, record_argument("A", f"{_SIDE}.")],
    b: Annotated[str | None, record_argument("B", "The same choice (default: the workspace as it is).")] = None,
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
        output = shown(_text_diff(difference))
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

    if _is_budget(name) or is_date_form(name):
        return None
    if not name.endswith(".json") and (process.folder / name).is_file():
        return None  # a file may have the name of a branch
    return find_opened_record(name, options.workspace, process)


def _is_budget(name: str) -> bool:
    """Whether a side is a budget, such as `@8k`; to git, `@` and `@{u}` are revisions."""
    return name.startswith("@") and name[1:2] not in {"", "{", "~", "^", "@", ":"}


class _Base(NamedTuple):
    """Options and profile of the sides that are built."""

    options: Options
    profile: Profile | None = None
    """Profile stored with a record; None for the one that the options name."""


def _with_options_of(options: Options, records: Sequence[OpenedRecord]) -> _Base:
    """The options of a side that is built: those given here, else those of the records, with their profile."""
    profile = None
    for opened in records:
        if options.profile is None and options.strategy is None and options.scope is None:
            profile = profile or _typed_profile(opened)
        recorded = {key: value for key, value in _recorded_options(opened).items() if value}
        missing: dict[str, Any] = {key: value for key, value in recorded.items() if not getattr(options, key)}
        options = options._replace(**missing)
    return _Base(options, profile)


def _recorded_options(opened: OpenedRecord) -> Mapping[str, Any]:
    """The options of a record by name; variables of its environment count as typed."""
    record = opened.record
    variables = {
        setting.key: setting.value for setting in record.making.settings if setting.origin.startswith("CTXASM_")
    }
    workspace = {"workspace": str(opened.root)} if opened.root else {}
    typed = {key: value for key, value in record.making.options._asdict().items() if value is not None}
    return {**variables, **typed, "topic": record.request.topic, "audience": record.request.audience, **workspace}


def _typed_profile(opened: OpenedRecord) -> Profile | None:
    """The stored profile of a record for which a file was named on the command line or in the environment."""
    from contextasm.cli.output import write_stderr
    from contextasm.config.profile_loader import is_profile_path
    from contextasm.records.replay import changed_config

    making = opened.record.making
    setting = next((setting for setting in making.settings if setting.key == "profile"), None)
    if setting is None or not is_profile_path(setting.value) or not setting.origin.startswith(("--", "CTXASM_")):
        return None
    for change in changed_config(opened.record, opened.root) if opened.root else ():
        if change.path != FILE and not change.path.startswith("rules/"):
            write_stderr(f"ctxasm: note: {change.path}: {change.kind}; both sides have the profile of the record")
    return making.profile


def _side(name: str | None, opened: OpenedRecord | None, base: _Base, process: ProcessEnvironment) -> Side:
    """One of the two contexts; without a name, that of the workspace as it is. Raises `ContextasmError`."""
    from contextasm.config.values import parse_day, parse_tokens
    from contextasm.records.diff import Side
    from contextasm.text.dates import is_date_form

    if opened:
        return Side(opened.path.stem, opened.record.context, opened.record.hashes)
    if name and _is_budget(name):
        base = base._replace(options=base.options._replace(budget=str(parse_tokens(name[1:], name))))
    elif name and is_date_form(name):
        base = base._replace(options=base.options._replace(date=parse_day(name, "diff").isoformat()))
    elif name is not None:
        return _revision_side(name, base, process)
    return _built_side(name or "now", base, process)


def _revision_side(name: str, base: _Base, process: ProcessEnvironment) -> Side:
    """The context of a git revision, with the settings of then. Raises `ContextasmError`, which names the revision."""
    from contextasm.config.workspace_folder import open_workspace
    from contextasm.model import ContextasmError
    from contextasm.workspace.git import GitWorkspace

    revision = GitWorkspace(open_workspace(base.options, process).root, name, process.environment)
    try:
        if revision.is_empty:
            hint = "name a revision in which it was committed"
            raise ContextasmError(name, f"holds no file of the workspace {revision.root}", hint)
        options = _with_names_of_then(base.options, revision, process)
        return _built_side(name, base._replace(options=options), process, revision)
    finally:
        revision.close()


def _with_names_of_then(options: Options, revision: GitWorkspace, process: ProcessEnvironment) -> Options:
    """The options with the names that agent and team had in a revision, where git saw their folders renamed since."""
    from contextasm.cli.output import write_stderr

    for kind in ("agent", "team"):
        name = getattr(options, kind) or process.environment.get(f"CTXASM_{kind.upper()}", "")
        if name and not revision.exists(f"{kind}s/{name}"):
            old = revision.name_of_then(f"{kind}s", name)
            if old:
                write_stderr(f"ctxasm: note: {revision.revision}: {kind} {name} was {old} then")
                options = options._replace(agent=old) if kind == "agent" else options._replace(team=old)
    return options


def _built_side(label: str, base: _Base, process: ProcessEnvironment, revision: GitWorkspace | None = None) -> Side:
    """The context of a build. Raises `ContextasmError`, which names the side."""
    from contextasm.config.resolve import prepare_build
    from contextasm.model import ContextasmError
    from contextasm.records.diff import Side

    try:
        context = prepare_build(base.options, process, revision, stored_profile=base.profile).run()
    except ContextasmError as error:
        raise ContextasmError(f"{label}: {error.where}", error.what, error.hint, error.code) from error
    return Side(label, context, {document.path: document.digest for document in context.documents})


def _text_diff(difference: Difference) -> str:
    """The lines that differ, as `diff -u` prints them."""
    from difflib import unified_diff

    old, new = (side.context.text.split("\n")[:-1] for side in (difference.before, difference.after))
    lines = unified_diff(old, new, difference.before.label, difference.after.label, lineterm="")
    return "".join(f"{line}\n" for line in lines)
