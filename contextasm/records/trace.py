"""Trace: the fate of one line of a file, read off the decisions of a build."""

from __future__ import annotations

from typing import NamedTuple

from contextasm.model import Context, ContextasmError, Decision, Document, Workspace


class LineTrace(NamedTuple):
    """What became of a line."""

    shown: bool
    """At least in part."""
    layer: str
    """Empty where no layer had to do with it."""
    decision: Decision | None
    """The one that settled it; None where the line belongs to no fragment."""
    code: str = ""
    """Then `front-matter`, `blank-line`, `between` or `not-read` says why."""


def trace_line(workspace: Workspace, context: Context, path: str, line: int) -> LineTrace:
    """The fate of line `line`, counted from 1, of the file at `path` in a finished build.

    Raises `ContextasmError` where there is no such file or line.
    """
    document = workspace.read(path)
    if document is None:
        raise ContextasmError(path, "no such file in the workspace", "name one relative to the workspace")
    if isinstance(document, Document):
        lines = document.line - 1 + len(document.text.rstrip("\n").split("\n"))
        if line > lines:
            raise ContextasmError(f"{path}:{line}", f"the file has {lines} lines", "name one of them")
    own = [decision for decision in context.decisions if decision.path == path]
    for decision in own:
        if any(first <= line <= last for first, last in decision.kept):
            return LineTrace(True, decision.layer, decision)
    for decision in own:
        if decision.lines == (0, 0) or decision.lines[0] <= line <= decision.lines[1]:
            return LineTrace(False, decision.layer, decision)
    layer = own[0].layer if own else ""
    if not isinstance(document, Document) or all(path != read.path for read in context.documents):
        return LineTrace(False, layer, None, "not-read")
    if line < document.line:
        return LineTrace(False, layer, None, "front-matter")
    blank = not document.text.split("\n")[line - document.line].strip()
    return LineTrace(False, layer, None, "blank-line" if blank else "between")
