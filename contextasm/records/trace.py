"""Trace of one line of a file, read off the decisions of a finished build."""

from __future__ import annotations

from typing import NamedTuple

from contextasm.model import Context, ContextasmError, Decision, Document, Problem, Workspace


class LineTrace(NamedTuple):
    """Where a line went, and the decision that is the cause."""

    shown: bool
    """Whether the line is shown, at least in part."""
    layer: str
    """Empty where no layer read the file."""
    decision: Decision | None
    """The cause; None where the line belongs to no fragment."""
    code: str = ""
    """The cause where there is no decision: `front-matter`, `blank-line`, `between` or `not-read`."""


def trace_line(workspace: Workspace, context: Context, path: str, line: int) -> LineTrace:
    """The trace of line `line`, counted from 1, of the file at `path` in a finished build.

    Raises `ContextasmError` where there is no such file or line.
    """
    document = workspace.read(path)
    _require_line(path, line, document)
    decisions = [decision for decision in context.decisions if decision.path == path]
    for decision in decisions:
        if any(first <= line <= last for first, last in decision.kept):
            return LineTrace(True, decision.layer, decision)
    for decision in decisions:
        if decision.lines == (0, 0) or decision.lines[0] <= line <= decision.lines[1]:
            return LineTrace(False, decision.layer, decision)
    layer = decisions[0].layer if decisions else ""
    if not isinstance(document, Document) or all(path != opened.path for opened in context.documents):
        return LineTrace(False, layer, None, "not-read")
    if line < document.line:
        return LineTrace(False, layer, None, "front-matter")
    blank = not document.text.split("\n")[line - document.line].strip()
    return LineTrace(False, layer, None, "blank-line" if blank else "between")


def _require_line(path: str, line: int, document: Document | Problem | None) -> None:
    """Raise `ContextasmError` for a path outside the workspace, and where there is no such file or line."""
    if {"", ".", ".."} & set(path.split("/")):
        raise ContextasmError(path, "is outside the workspace", "name a file of the workspace")
    if document is None:
        raise ContextasmError(path, "no such file in the workspace", "name one relative to the workspace")
    if isinstance(document, Document):
        lines = document.line - 1 + len(document.text.rstrip("\n").split("\n"))
        if line > lines:
            raise ContextasmError(f"{path}:{line}", f"the file has {lines} lines", "name one of them")
