"""`ctxasm check`: whether the workspace is sound, for people, hooks and CI."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from contextasm.checks.formats import FORMATS
from contextasm.cli.options import takes_request
from contextasm.cli.output import write_stderr, write_stdout

if TYPE_CHECKING:
    from contextasm.checks.finding import Finding
    from contextasm.config.options import Options, ProcessEnvironment
    from contextasm.workspace.folder import Folder

    FormatName = str
else:
    FormatName = Literal[tuple(FORMATS)]

_NAMES = [*FORMATS]


def check(
    request: Options,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Only what is found in these files and folders.")
    ] = None,
    *,
    form: Annotated[
        FormatName | None,
        typer.Option("--format", "-f", metavar="NAME", help=f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Leave out the findings that this file lists as accepted.")
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Make the --baseline file list what is found now.")
    ] = False,
) -> int:
    """Say whether the workspace is sound: settings, dates, budgets, memories, text, outputs.

    Every agent is built with every team, in memory. Exits 1 if there is an error.
    """
    from contextasm.config.resolve import open_workspace, process_environment

    _refuse_update(baseline, paths, update=update_baseline)
    around = process_environment()
    folder = open_workspace(request, around)
    found = _found(request, around, folder, paths or ())
    if baseline and update_baseline:
        _update(Path(baseline), found)
        return 0
    if baseline:
        found = _new(Path(baseline), found)
    if paths:
        asked = [_path(folder, path) for path in paths]
        found = [each for each in found if _among(each, asked)]
    if strict:
        found = [each._replace(severity="error") if each.severity == "warning" else each for each in found]
    write_stdout(_shown(found, form or _usual_form(around.environment), folder.root))
    return int(any(each.severity == "error" for each in found))


run = takes_request(check)


def _refuse_update(baseline: str | None, paths: Sequence[str] | None, *, update: bool) -> None:
    """Raise where a baseline can't be made as asked."""
    from contextasm.model import ContextasmError

    if update and not baseline:
        raise ContextasmError("--update-baseline", "there is no baseline to update", "name it with --baseline FILE")
    if update and paths:
        what = "a baseline lists what is found in the whole workspace"
        raise ContextasmError("--update-baseline", what, "leave the paths out")


def _found(request: Options, around: ProcessEnvironment, folder: Folder, paths: Sequence[str]) -> list[Finding]:
    """Everything that is found; files that are named are read wherever they are in the workspace."""
    from contextasm.checks.inspection import inspect
    from contextasm.checks.registry import run_checks

    asked = [_path(folder, path) for path in paths]
    return run_checks(inspect(request, around, [path for path in asked if os.path.isfile(f"{folder.root}/{path}")]))


def _usual_form(environment: Mapping[str, str]) -> FormatName:
    """The form of a run that asks for none."""
    return "github" if environment.get("GITHUB_ACTIONS") == "true" else "text"


def _shown(found: Sequence[Finding], form: FormatName, root: str) -> str:
    """The findings as they are written."""
    from contextasm import __version__

    if form in {"github", "sarif"}:
        found = [_from_repository(each, root) for each in found]
    return FORMATS[form](found, __version__)


def _path(folder: Folder, typed: str) -> str:
    """A file or folder of the workspace as it was typed; empty for the workspace itself."""
    from contextasm.model import ContextasmError

    full = os.path.abspath(typed if os.path.lexists(typed) else os.path.join(folder.root, typed))
    # A file that is a link goes by its own name, as in the findings.
    full = os.path.realpath(full) if os.path.isdir(full) else os.path.join(*_real_folder(full))
    if full == folder.root or folder.root.startswith(full.rstrip("/") + "/"):
        return ""
    if not full.startswith(folder.root + "/"):
        raise ContextasmError(typed, "is outside the workspace", f"name files below {folder.root}")
    if not os.path.lexists(full):
        raise ContextasmError(typed, "no such file or folder", "name one that is there")
    return os.path.relpath(full, folder.root)


def _real_folder(path: str) -> tuple[str, str]:
    """The folder of a path, links followed, and the name in it."""
    folder, name = os.path.split(path)
    return os.path.realpath(folder), name


def _among(finding: Finding, asked: Sequence[str]) -> bool:
    """Whether a finding lies in one of the files or folders."""
    return any(not path or finding.path == path or finding.path.startswith(f"{path}/") for path in asked)


def _update(path: Path, found: Sequence[Finding]) -> None:
    """Write the findings down as accepted."""
    from contextasm.checks.baseline import baseline_text
    from contextasm.workspace.atomic import write

    new = write(path, baseline_text(found).encode())
    write_stderr(f"{path}: {'written' if new else 'unchanged'}: {len(found)} accepted")


def _new(path: Path, found: Sequence[Finding]) -> list[Finding]:
    """The findings that the baseline does not accept."""
    from contextasm.checks.baseline import split_accepted
    from contextasm.model import ContextasmError

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        what = f"can't be read: {error.strerror}" if isinstance(error, OSError) else "is not UTF-8"
        raise ContextasmError(str(path), what, "write it with --update-baseline") from error
    new, known, gone = split_accepted(text, found, str(path))
    rest = f", and {len(gone)} no longer found: --update-baseline takes them out" if gone else ""
    write_stderr(f"{path}: {len(known)} accepted{rest}")
    return list(new)


def _from_repository(finding: Finding, root: str) -> Finding:
    """A finding with its path taken from the top of the git repository, which is where GitHub looks."""
    top = next((str(each) for each in (Path(root), *Path(root).parents) if (each / ".git").exists()), root)
    prefix = os.path.relpath(root, top)
    return finding if prefix == "." or not finding.path else finding._replace(path=f"{prefix}/{finding.path}")
