"""Trace of one line of a file, read off the decisions of a finished build."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextasm.model import Context, ContextasmError, Decision, Document, Layer, NamedTuple, Problem, Workspace
from contextasm.rendering.wording import LINE_TRACES, reason_words
from contextasm.retrieval.reading.files import layer_paths
from contextasm.rules.apply import section
from contextasm.text.markdown.blocks import headings
from contextasm.text.names.glob import glob_matches


class LineTrace(NamedTuple):
    """Where a line went, and why."""

    shown: bool
    """Whether the line is shown, at least in part."""
    layer: str
    """Empty if no layer read the file."""
    reason: str
    """In words: the outcome of the line's fragment with its reason, or why the line belongs to no fragment."""


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
        return LineTrace(False, decisions[0].layer if decisions else "", LINE_TRACES[gap.reason])
    for decision in decisions:
        if any(first <= line <= last for first, last in decision.kept):
            return _trace_of(decision, shown=True)
    if isinstance(document, Document) and (below := _shown_below(context, document, line, decisions)):
        return _trace_of(below, shown=True)
    # What a fragment is shown without, such as private lines or copies, may be inside its lines.
    decisions.sort(key=lambda decision: decision.reason.code not in TAKEN_OUT)
    for decision in decisions:
        if decision.lines == (0, 0) or decision.lines[0] <= line <= decision.lines[1]:
            is_taken_out = decision.outcome == "included" and decision.kept
            trace = _trace_of(decision, shown=False)
            return trace._replace(reason=LINE_TRACES["taken-out"]) if is_taken_out else trace
    layer = decisions[0].layer if decisions else ""
    reason = _reason_without_decision(context, document, line)
    if reason == LINE_TRACES["not-read"] and not layer:
        layer = _reading_layer(workspace, context, path, layers())
        reason = LINE_TRACES["left-out"] if layer else reason
        if not layer and (layer := _layer_of_open_files(path, layers())):
            reason = LINE_TRACES["not-open"]
    return LineTrace(False, layer, reason)


def _trace_of(decision: Decision, *, shown: bool) -> LineTrace:
    return LineTrace(shown, decision.layer, f"{decision.outcome}: {reason_words(decision.reason)}")


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


def _reason_without_decision(context: Context, document: Document | Problem | None, line: int) -> str:
    if isinstance(document, Problem):
        return f"the file {document.message}"
    if document is None or all(document.path != opened.path for opened in context.documents):
        code = "not-read"
    elif line < document.line:
        code = "front-matter"
    else:
        code = "between" if document.text.split("\n")[line - document.line].strip() else "blank-line"
    return LINE_TRACES[code]


def _require_line(path: str, line: int, document: Document | Problem | None) -> None:
    """Raise `ContextasmError` for a path outside the workspace, and for a file or line that does not exist."""
    if {"", ".", ".."} & set(path.split("/")):
        raise ContextasmError(path, "is outside the workspace", "name a file of the workspace")
    if document is None:
        raise ContextasmError(path, "is not a file of the workspace", "name a file relative to the workspace")
    if isinstance(document, Document) and line > (
        lines := max([len(document.whole.rstrip("\n").split("\n")), *(gap.last for gap in document.gaps)])
    ):
        raise ContextasmError(f"{path}:{line}", f"the file has {lines} lines", "name one of these lines")


def _layer_of_open_files(path: str, layers: Sequence[Layer]) -> str:
    """The id of the layer that reads a file only if a file in its folder is open; empty for none."""
    instructing = (layer for layer in layers if any(source.uses_open for source in layer.query.traits))
    matching = (layer.id for layer in instructing for path_ in layer.query.paths if glob_matches(f"**/{path_}", path))
    return next(matching, "")


def _reading_layer(workspace: Workspace, context: Context, path: str, layers: Sequence[Layer]) -> str:
    """The id of the layer that reads a file but is left out of the build; empty for none."""
    used = {usage.layer for usage in context.allowances}
    for layer in (layer for layer in layers if layer.id not in used):
        if any(path in layer_paths(workspace, template, context.request) for template in layer.query.paths):
            return layer.id
    return ""
