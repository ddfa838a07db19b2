"""`ctxasm check`: whether the workspace is sound, for people, hooks and CI."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from contextasm.commands import say, takes_request, tell

if TYPE_CHECKING:
    from contextasm.prepare import Flags
    from contextasm.report import Finding
    from contextasm.workspace import Folder

Form = Literal["text", "json", "github", "sarif", "junit", "markdown"]


def check(
    request: Flags,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Only what is found in these files and folders.")
    ] = None,
    *,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format", "-f", metavar="NAME", help="text, json, github, sarif, junit or markdown; in Actions github."
        ),
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
    from contextasm import __version__
    from contextasm.checks import findings
    from contextasm.checks.scene import look
    from contextasm.model import ContextasmError
    from contextasm.prepare import open_workspace, surroundings
    from contextasm.report import FORMATS

    if update_baseline and not baseline:
        raise ContextasmError("--update-baseline", "there is no baseline to update", "name it with --baseline FILE")
    if update_baseline and paths:
        what = "a baseline lists what is found in the whole workspace"
        raise ContextasmError("--update-baseline", what, "leave the paths out")
    around = surroundings()
    folder = open_workspace(request, around)
    asked = [_path(folder, path) for path in paths or ()]
    scene = look(request, around, [path for path in asked if os.path.isfile(f"{folder.root}/{path}")])
    found = findings(scene)
    if baseline and update_baseline:
        _update(Path(baseline), found)
        return 0
    if baseline:
        found = _new(Path(baseline), found)
    if asked:
        found = [each for each in found if _among(each, asked)]
    if strict:
        found = [each._replace(severity="error") if each.severity == "warning" else each for each in found]
    form = form or ("github" if around.environment.get("GITHUB_ACTIONS") == "true" else "text")
    shown = [_from_repository(each, folder.root) for each in found] if form in {"github", "sarif"} else found
    say(FORMATS[form](shown, __version__))
    return int(any(each.severity == "error" for each in found))


run = takes_request(check)


def _path(folder: Folder, typed: str) -> str:
    """A file or folder of the workspace as it was typed; empty for the workspace itself."""
    from contextasm.model import ContextasmError

    full = os.path.realpath(typed)
    if not os.path.lexists(typed):
        full = os.path.realpath(os.path.join(folder.root, typed))
    if full == folder.root or folder.root.startswith(full.rstrip("/") + "/"):
        return ""
    if not full.startswith(folder.root + "/"):
        raise ContextasmError(typed, "is outside the workspace", f"name files below {folder.root}")
    if not os.path.lexists(full):
        raise ContextasmError(typed, "no such file or folder", "name one that is there")
    return os.path.relpath(full, folder.root)


def _among(finding: Finding, asked: Sequence[str]) -> bool:
    """Whether a finding lies in one of the files or folders."""
    return any(not path or finding.path == path or finding.path.startswith(f"{path}/") for path in asked)


def _update(path: Path, found: Sequence[Finding]) -> None:
    """Write the findings down as accepted."""
    from contextasm.report import baseline_text
    from contextasm.writing import write

    new = write(path, baseline_text(found).encode())
    tell(f"{path}: {'written' if new else 'unchanged'}: {len(found)} accepted")


def _new(path: Path, found: Sequence[Finding]) -> list[Finding]:
    """The findings that the baseline does not accept."""
    from contextasm.model import ContextasmError
    from contextasm.report import accepted

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        what = f"can't be read: {error.strerror}" if isinstance(error, OSError) else "is not UTF-8"
        raise ContextasmError(str(path), what, "write it with --update-baseline") from error
    new, known, gone = accepted(text, found, str(path))
    rest = f", and {len(gone)} no longer found: --update-baseline takes them out" if gone else ""
    tell(f"{path}: {len(known)} accepted{rest}")
    return list(new)


def _from_repository(finding: Finding, root: str) -> Finding:
    """A finding with its path taken from the top of the git repository, which is where GitHub looks."""
    top = next((str(each) for each in (Path(root), *Path(root).parents) if (each / ".git").exists()), root)
    prefix = os.path.relpath(root, top)
    return finding if prefix == "." or not finding.path else finding._replace(path=f"{prefix}/{finding.path}")
