"""Trace of one line of a file, read off the decisions of a finished build."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextasm.model import Context, ContextasmError, Decision, Document, Layer, NamedTuple, Problem, Workspace
from contextasm.retrieval.reading.files import layer_paths
from contextasm.rules.apply import section
from contextasm.text.markdown.blocks import headings

GAP_CODES = {"block": "managed-block", "secret": "masked"}
"""Cause of a line that is in no text, by the reason of its gap."""


class LineTrace(NamedTuple):
    """Where a line went, and the decision that is the cause."""

    shown: bool
    """Whether the line is shown, at least in part."""
    layer: str
    """Empty if no layer read the file."""
    decision: Decision | None
    """The cause; None if the line belongs to no fragment."""
    code: str = ""
    """The cause if it is not a decision.

    One of `managed-block`, `masked`, `front-matter`, `blank-line`, `between`, `taken-out`, `not-read` and `left-out`,
    or the code of the problem that kept the file from being read.
    """


TAKEN_OUT = {"private", "same-text", "imports", "status", "superseded", "future", "not-yet", "expired"}
"""Codes of reasons of parts that a fragment may be shown without."""


def trace_line(
    workspace: Workspace, context: Context, path: str, line: int, layers: Callable[[], Sequence[Layer]] = lambda: ()
) -> LineTrace:
    """The trace of line `line`, counted from 1, of the file at `path` in a finished build.

    `layers` gives all layers of the profile, also the ones that the build leaves out. It is called only for unread
    files.
    Raises `ContextasmError` if the file or the line does not exist.
    """
    document = workspace.read(path)
    _require_line(path, line, document)
    decisions = [decision for decision in context.decisions if decision.path == path]
    gaps = document.gaps if isinstance(document, Document) else ()
    if gap := next((gap for gap in gaps if gap.first <= line <= gap.last), None):
        return LineTrace(False, decisions[0].layer if decisions else "", None, GAP_CODES[gap.reason])
    for decision in decisions:
        if any(first <= line <= last for first, last in decision.kept):
            return LineTrace(True, decision.layer, decision)
    if isinstance(document, Document) and (below := _shown_below(context, document, line, decisions)):
        return LineTrace(True, below.layer, below)
    # What a fragment is shown without, such as private lines or copies, may be inside its lines.
    decisions.sort(key=lambda decision: decision.reason.code not in TAKEN_OUT)
    for decision in decisions:
        if decision.lines == (0, 0) or decision.lines[0] <= line <= decision.lines[1]:
            code = "taken-out" if decision.outcome == "included" and decision.kept else ""
            return LineTrace(False, decision.layer, None if code else decision, code)
    layer = decisions[0].layer if decisions else ""
    code = _code_without_decision(context, document, line)
    if code == "not-read" and not layer and (left_out := _reading_layer(workspace, context, path, layers())):
        return LineTrace(False, left_out, None, "left-out")
    return LineTrace(False, layer, None, code)


def _shown_below(context: Context, document: Document, line: int, decisions: Sequence[Decision]) -> Decision | None:
    """The decision on what is shown below a heading, if the heading is above it; None for any other line."""
    lines = document.text.split("\n")
    title = next((words for number, _, words in headings(lines) if number == line - document.line), "")
    if not title:
        return None
    span = section(lines[line - document.line :], title)
    end = line + span[1] if span else line
    for each in decisions:
        if each.kept and line < each.lines[0] < end and _heads(context, each.layer, title):
            return each
    return None


def _heads(context: Context, layer: str, title: str) -> bool:
    """Whether a heading that a layer has above its texts names a title."""
    texts = (section.text.split("\n") for section in context.sections if section.layer == layer)
    return any(title in words.split(" / ") for lines in texts for _, _, words in headings(lines))


def _code_without_decision(context: Context, document: Document | Problem | None, line: int) -> str:
    if isinstance(document, Problem):
        return document.code
    if document is None or all(document.path != opened.path for opened in context.documents):
        return "not-read"
    if line < document.line:
        return "front-matter"
    blank = not document.text.split("\n")[line - document.line].strip()
    return "blank-line" if blank else "between"


def _require_line(path: str, line: int, document: Document | Problem | None) -> None:
    """Raise `ContextasmError` for a path outside the workspace, and for a file or line that does not exist."""
    if {"", ".", ".."} & set(path.split("/")):
        raise ContextasmError(path, "is outside the workspace", "name a file of the workspace")
    if document is None:
        raise ContextasmError(path, "no such file in the workspace", "name one relative to the workspace")
    if isinstance(document, Document) and line > (
        lines := max([len(document.whole.rstrip("\n").split("\n")), *(gap.last for gap in document.gaps)])
    ):
        raise ContextasmError(f"{path}:{line}", f"the file has {lines} lines", "name one of them")


def _reading_layer(workspace: Workspace, context: Context, path: str, layers: Sequence[Layer]) -> str:
    """The id of the layer that reads a file but is left out of the build; empty for none."""
    used = {usage.layer for usage in context.allowances}
    for layer in (layer for layer in layers if layer.id not in used):
        if any(path in layer_paths(workspace, template, context.request) for template in layer.query.paths):
            return layer.id
    return ""
