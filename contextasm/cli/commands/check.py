"""`ctxasm check`: check the workspace, for people, hooks and CI."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Annotated

from contextasm import __version__
from contextasm.checks.finding import Finding, baseline_text, refuse_other_text, sort_findings, split_accepted
from contextasm.checks.formats import FORMATS, FormatName, escape_unprintable, summary_line
from contextasm.checks.hosts.files import HostReading
from contextasm.checks.hosts.report import check_hosts
from contextasm.checks.inspection import Inspection
from contextasm.checks.registry import run_checks
from contextasm.cli.command_line import Argument, Command
from contextasm.cli.host_view import ALL, HostFlags, read_hosts, write_scope
from contextasm.cli.options import all_but, refuse_given
from contextasm.cli.output import is_rich_terminal, show_lacking, show_taken, write_stderr, write_stdout
from contextasm.config.input.options import Flag, Options, ProcessEnvironment, Text
from contextasm.config.input.settings import resolve_settings
from contextasm.config.input.yaml_loader import YamlMapping
from contextasm.config.resolve import process_environment, resolve_date
from contextasm.config.workspace_folder import open_workspace
from contextasm.model import ContextasmError, NamedTuple, utf8_text
from contextasm.workspace.atomic import write
from contextasm.workspace.folder import Folder, is_below, repository_top
from contextasm.workspace.git.folder import open_index
from contextasm.workspace.outputs import OutputFile, current_bytes, refuse_inputs
from contextasm.workspace.reading import required_bytes

_NAMES = [*FORMATS]


class CheckFlags(NamedTuple):
    """The flags that only `check` has, as typed."""

    form: Annotated[FormatName | None, Flag(f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}.", "NAME", "--format -f")] = None
    strict: Annotated[bool, Flag("Count warnings as errors.")] = False
    baseline: Annotated[Text, Flag("Leave out the findings that this file lists as accepted.", "FILE")] = None
    staged: Annotated[bool, Flag("Check the files in git's index, as the next commit will have them.")] = False
    update_baseline: Annotated[bool, Flag("Write the current findings to the --baseline file.")] = False
    json: Annotated[bool, Flag("Print JSON, as with --format json.")] = False

    def format_in(self, environment: Mapping[str, str]) -> FormatName:
        """The name of the format; the default is the one that GitHub reads if it runs this."""
        default: FormatName = "github" if environment.get("GITHUB_ACTIONS") == "true" else "text"
        return "json" if self.json else self.form or default


def check(
    options: Options,
    *,
    paths: Annotated[tuple[str, ...], Argument("PATH", "Show only findings in these files and folders.")] = (),
    hosts: HostFlags,
    flags: CheckFlags,
) -> int:
    """Check the workspace: settings, dates, budgets, memories, text, outputs.

    Every agent is built with every team, without writing a file. With --audience shared, private parts are not checked.
    The exit code is 1 if there is an error.
    """
    process = process_environment()
    if hosts.host is not None:
        own = {"--baseline": flags.baseline, "--update-baseline": flags.update_baseline}
        refuse_given(own, "--host", "leave it out")
        refuse_given(dict.fromkeys(paths, True), "--host", "name the folder to check with -w DIR")
    readings = read_hosts(hosts, options, staged=flags.staged)
    if readings is not None:
        code = _check_hosts(readings, options, flags, process)
        for reading in readings:
            write_scope(reading, is_one_of_many=hosts.host == ALL)
        return code
    _refuse_update(flags.baseline, paths, update=flags.update_baseline)
    baseline = OutputFile.named("baseline", flags.baseline).path if flags.baseline else None
    found, root, selected = _inspect(options, process, paths, flags)
    if baseline and flags.update_baseline:
        _write_baseline(baseline, found)
        return 0
    if baseline:
        found = _without_accepted(baseline, found)
    if selected:
        found = [finding for finding in found if _is_selected(finding, selected)]
    return _write_findings(found, flags, root, process)


run = Command(check, all_but("format"))


def _check_hosts(
    readings: Sequence[HostReading], options: Options, flags: CheckFlags, process: ProcessEnvironment
) -> int:
    """Write what hosts keep from the model of the files that they load by themselves; returns the exit code."""
    if not readings:
        write_stderr("no host has a file or folder here")
    flagged = resolve_settings({"date": options.date}, process.environment, YamlMapping("", 1))
    today = resolve_date(flagged, process).value
    assert isinstance(today, date)
    return _write_findings(check_hosts(readings, today), flags, readings[0].root if readings else "", process)


def _refuse_update(baseline: str | None, paths: Sequence[str], *, update: bool) -> None:
    """Raise `ContextasmError` for an update without a baseline, or of a part of the workspace."""
    if update and not baseline:
        raise ContextasmError("--update-baseline", "no baseline is named", "name one with --baseline FILE")
    if update and paths:
        what = "a baseline lists the findings of the whole workspace"
        raise ContextasmError("--update-baseline", what, "leave the paths out")


def _inspect(
    options: Options, process: ProcessEnvironment, paths: Sequence[str], flags: CheckFlags
) -> tuple[Sequence[Finding], str, Sequence[str]]:
    """All findings, the workspace's folder, and the typed paths as paths in it.

    Raises `ContextasmError`, also for a baseline that can't be updated.
    """
    folder = open_workspace(options, process)
    opened: AbstractContextManager[Folder] = nullcontext(folder)
    if flags.staged:
        opened = open_index(folder.root, process.environment, process.folder)
    with opened as workspace:
        selected = [_workspace_path(workspace, path) for path in paths]
        files = [path for path in selected if workspace.is_file(path)]  # also if no layer reads it
        # A baseline is compared with the findings of the whole workspace.
        inspection = Inspection(options, process, files, () if flags.baseline else selected, workspace)
        if flags.baseline and flags.update_baseline:
            _refuse_baseline(flags.baseline, inspection)
        if inspection.prepared:
            show_taken(inspection.prepared.taken)
        show_lacking(inspection.documents.values(), "checks")
        return run_checks(inspection), folder.root, selected


def _refuse_baseline(baseline: str, inspection: Inspection) -> None:
    """Raise `ContextasmError` for a file that holds something else, or that a build or a check could read."""
    target = OutputFile.named("baseline", baseline)
    refuse_inputs([target], inspection.input_files)
    refuse_other_text((current_bytes(target.path) or b"").decode("utf-8", "replace"), baseline)


def _write_findings(findings: Sequence[Finding], flags: CheckFlags, root: str, process: ProcessEnvironment) -> int:
    """Write the findings, with `--strict` their warnings as errors; returns the exit code."""
    findings = [_as_error(finding) for finding in findings] if flags.strict else findings
    form, is_failed = flags.format_in(process.environment), any(finding.severity == "error" for finding in findings)
    if form in {"github", "sarif"}:
        findings = [_from_repository(finding, root) for finding in findings]
    is_rich = form == "text" and is_rich_terminal()
    write_stdout(terminal_findings(findings) if is_rich else FORMATS[form](findings, __version__))
    return int(is_failed)


def _workspace_path(workspace: Folder, typed: str) -> str:
    """The path in the workspace of a typed file or folder; empty for the workspace itself. Raises `ContextasmError`."""
    path = workspace.relative(typed)
    if os.path.isabs(path) or ".." in path.split("/"):
        if is_below(workspace.root, os.path.realpath(typed)):
            return ""
        raise ContextasmError(typed, "is outside the workspace", f"name files below {workspace.root}")
    if path and not workspace.exists(path):
        raise ContextasmError(typed, "does not exist", "name an existing file or folder")
    # A file that is a link has its own name, as in the findings; a folder its real one.
    full = f"{workspace.root}/{path}"
    return workspace.relative(os.path.realpath(full)) if os.path.isdir(full) else path


def _is_selected(finding: Finding, selected: Sequence[str]) -> bool:
    return any(not path or finding.path == path or finding.path.startswith(f"{path}/") for path in selected)


def _as_error(finding: Finding) -> Finding:
    """The finding, as an error if it is a warning."""
    return finding._replace(severity="error") if finding.severity == "warning" else finding


def _write_baseline(path: Path, findings: Sequence[Finding]) -> None:
    """Write the findings to the baseline as accepted."""
    changed = write(path, baseline_text(findings).encode())
    write_stderr(f"{path}: {'written' if changed else 'unchanged'}: {len(findings)} accepted")


def _without_accepted(path: Path, findings: Sequence[Finding]) -> Sequence[Finding]:
    """The findings that the baseline does not accept. Raises `ContextasmError` for a file that can't be read."""
    hint = "write it with --update-baseline"
    text = utf8_text(required_bytes(str(path), hint), str(path), hint)
    new, accepted, gone = split_accepted(text, findings, str(path))
    rest = f"; {len(gone)} no longer found (--update-baseline removes them)" if gone else ""
    write_stderr(f"{path}: {len(accepted)} accepted{rest}")
    return new


def _from_repository(finding: Finding, root: str) -> Finding:
    """The finding with its path relative to the top of the git repository, as GitHub needs it."""
    prefix = os.path.relpath(root, repository_top(root) or root)
    return finding if prefix == "." or not finding.path else finding._replace(path=f"{prefix}/{finding.path}")


STYLES: Mapping[str, str] = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def terminal_findings(findings: Sequence[Finding]) -> str:
    """The findings under a heading for each file, wrapped to the width of the terminal, and a summary."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = StringIO()
    console = Console(file=out, width=Console().width, force_terminal=True, highlight=False)
    for path, group in groupby(sort_findings(findings), lambda finding: finding.path):
        console.print(Text(escape_unprintable(path or "workspace"), "bold"))
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(justify="right", width=5)
        grid.add_column(width=max(map(len, STYLES)))
        grid.add_column(overflow="fold")
        for finding in group:
            text = Text(f"{escape_unprintable(finding.message)} [{finding.id}]")
            text.append(f"\n{escape_unprintable(finding.hint)}" if finding.hint else "", "dim")
            grid.add_row(str(finding.line or "-"), Text(finding.severity, STYLES[finding.severity]), text)
        console.print(grid)
        console.print()
    console.print(Text(summary_line(findings), "bold"))
    return out.getvalue()
