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
    """The cause where there is no decision: `managed-block`, `front-matter`, `blank-line`, `between` or `not-read`."""


def trace_line(workspace: Workspace, context: Context, path: str, line: int) -> LineTrace:
    """The trace of line `line`, counted from 1, of the file at `path` in a finished build.

    Raises `ContextasmError` where there is no such file or line.
    """
    document = workspace.read(path)
    if document is None:
        raise ContextasmError(path, "no such file in the workspace", "name one relative to the workspace")
    if isinstance(document, Document) and line > (lines := _line_count(document)):
        raise ContextasmError(f"{path}:{line}", f"the file has {lines} lines", "name one of them")
    decisions = [decision for decision in context.decisions if decision.path == path]
    if isinstance(document, Document) and document.block[0] <= line <= document.block[1]:
        return LineTrace(False, decisions[0].layer if decisions else "", None, "managed-block")
    for decision in decisions:
        if any(first <= line <= last for first, last in decision.kept):
            return LineTrace(True, decision.layer, decision)
    for decision in decisions:
        if decision.lines == (0, 0) or decision.lines[0] <= line <= decision.lines[1]:
            return LineTrace(False, decision.layer, decision)
    return LineTrace(
        False, decisions[0].layer if decisions else "", None, _code_without_decision(context, document, line)
    )


def _line_count(document: Document) -> int:
    return max(document.line - 1 + len(document.text.rstrip("\n").split("\n")), document.block[1])


def _code_without_decision(context: Context, document: Document | Problem, line: int) -> str:
    if not isinstance(document, Document) or all(document.path != opened.path for opened in context.documents):
        return "not-read"
    if line < document.line:
        return "front-matter"
    blank = not document.text.split("\n")[line - document.line].strip()
    return "blank-line" if blank else "between"
