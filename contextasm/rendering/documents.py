"""JSON documents of a context, and the forms of decisions and problems that other documents share.

A document is a `TypedDict` whose `schema` is its name and version. It gets its fields from the values of the same
names, and is next to the code that fills it; nothing here is imported by a build that writes no JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from contextasm.model import Context, Decision, LayerUsage, Memory, Problem, Reason, RuleTrace, Score, Section, Span
from contextasm.model.named_tuple import NamedTuple
from contextasm.rendering.json_codec import Code, Count, Day, Digest, Positive, to_json
from contextasm.rendering.metrics import ContextMetrics, context_metrics
from contextasm.text.cleaning.secrets.scanner import count_masks

ReasonData = Mapping[str, str | float]
"""A code that does not change between versions, and its figures and words by name."""


class DecisionData(TypedDict):
    """The decision on one fragment, with its reason."""

    fragment: str
    """The fragment's id: its path, or the id of a memory."""
    layer: str
    """The id of the layer that the fragment was found for."""
    path: str
    """The file of the fragment, relative to the workspace."""
    line: Count
    """The first line of the fragment in its file, counted from 1; 0 if the file was not opened."""
    last_line: Count
    """The last line of the fragment in its file; 0 if the file was not opened."""
    outcome: Literal["included", "shortened", "truncated", "named", "dropped", "excluded", "merged"]
    """What happened to the fragment."""
    reason: ReasonData
    """Why: a code that does not change between versions, and its figures and words by name."""
    tokens_before: Count | None
    """The tokens of the whole fragment; null if it was ruled out before anything was counted."""
    tokens_after: Count
    """The tokens of what is shown of the fragment; 0 if nothing is."""
    kept: list[Span]
    """The lines of the file that are shown, wholly or, at the end of a cut, in part."""
    score: Mapping[str, float]
    """The parts of the fragment's score by name, `total` among them; empty if nothing was scored."""
    boosted_by: list[str]
    """The rules that give the part `boost` of the score, in order of precedence."""
    stands_for: list[str]
    """The places of the copies that are left out for it, such as `memories/m.md:3`."""


def decision_data(decision: Decision) -> dict[str, Any]:
    """A decision as data for JSON, in the form of `DecisionData`."""
    first, last = decision.lines
    computed = {"line": first, "last_line": last, "outcome": decision.outcome, "reason": _reason_data(decision.reason)}
    data: dict[str, Any] = to_json(DecisionData, decision._asdict() | computed)
    return data


def _reason_data(reason: Reason) -> Mapping[str, str | float]:
    return {"code": reason.code, **dict(reason.facts)}


class DecisionsDocument(TypedDict):
    """The decisions on one fragment, as `ctxasm explain --id --json` prints them."""

    schema: Literal["ctxasm.decisions/1"]
    decisions: list[DecisionData]
    """Those on the fragment of the id, or on the fragments of the file."""


class RuleTraceData(TypedDict):
    """The outcome of one rule."""

    rule: str
    """The rule's name."""
    path: str
    """Its file."""
    line: Positive
    """The line of the file at which it begins."""
    fired: bool
    """Whether all its conditions held."""
    reason: ReasonData
    """Why, as a code with its figures."""
    lost: list[ReasonData]
    """What of it came to nothing, and why."""


class RuleTracesDocument(TypedDict):
    """The outcome of each rule for a request, as `ctxasm rules eval --json` prints it."""

    schema: Literal["ctxasm.rule-traces/1"]
    rules: list[RuleTraceData]
    """Every rule of the workspace, in order of precedence."""


def rule_trace_data(trace: RuleTrace) -> dict[str, Any]:
    """The trace of a rule, with what `RuleTraceData` has of it."""
    return trace._asdict() | {"reason": _reason_data(trace.reason), "lost": [*map(_reason_data, trace.lost)]}


class ProblemData(TypedDict):
    """Something wrong that did not stop the build."""

    code: Code
    """The kind of problem, in a word that does not change between versions."""
    path: str
    """The file, relative to the workspace, or what else the message is about, such as a layer or `budget`."""
    line: Count
    """The line of the file, counted from 1; 0 if no line is meant."""
    message: str
    """What is wrong and what to do, in words for people."""


def problem_data(problem: Problem) -> dict[str, Any]:
    """A problem, with what `ProblemData` has of it."""
    return problem._asdict() | {"message": problem.advice}


class RequestData(TypedDict):
    """The request, with nothing left open."""

    agent: str
    """The agent; empty if the profile names none."""
    team: str
    """The team; empty for none."""
    topic: str
    """What the conversation is about; empty for no topic."""
    date: Day
    """The day that counted as today."""
    format: str
    """The format that the document was framed for."""
    privacy: Literal["mask", "drop", "off"]
    """Treatment of secrets in texts."""
    session: str
    """The session that goes on; empty for the latest one."""
    open: list[str]
    """Paths of the files that are open."""
    changed: list[str]
    """Paths of the files that git calls changed, if a layer asks."""
    additional: str
    """Text to be shown as it is; empty for none."""
    audience: Literal["personal", "shared"]
    """The readers; a shared context lacks everything private."""
    strategy: str
    """The named variant of the profile; empty for the profile as it is."""
    request_id: str
    """The caller's name of the request; empty for none."""
    show_expired: bool
    """Whether memories are shown, with a label, before their first day and after their last one."""


class ContextDocument(TypedDict):
    """An assembled context with all that was decided, as `ctxasm build -f json` and `ctxasm explain --json` give it."""

    schema: Literal["ctxasm.context/1"]
    content: str
    """The document: the text that the budget was held against."""
    tokens: Count
    """The tokens of the document, counted once as a whole."""
    budget: Count
    """The tokens that the document might have."""
    tokenizer: str
    """How tokens were counted."""
    stable_tokens: Count
    """The tokens of the sections at the beginning that another day, or another topic, does not change."""
    truncated: bool
    """Whether anything that was in question was cut or dropped."""
    masked: Mapping[str, Positive]
    """Number of masked secrets in the document, by kind."""
    etag: Digest
    """SHA-256 of the document in UTF-8, in hexadecimal."""
    profile: str
    """The name of the profile."""
    report: ContextMetrics
    """Figures about the context, none of which decides anything."""
    request: RequestData
    """The request, with nothing left open."""
    sections: list[Section]
    """The sections of the document, in its order."""
    decisions: list[DecisionData]
    """One decision for every fragment that was found."""
    allowances: list[LayerUsage]
    """What each layer might take and took, and its entries, in the order of the layers."""
    problems: list[ProblemData]
    """What was wrong but did not stop the build."""
    rules: list[RuleTraceData]
    """Every rule of the workspace, in order of precedence."""


def context_data(context: Context) -> dict[str, Any]:
    """A context as data for JSON, in the form of `ContextDocument`."""
    request = context.request
    data: dict[str, Any] = to_json(
        ContextDocument,
        {
            **request._asdict(),
            **context._asdict(),
            "content": context.text,
            "stable_tokens": sum(section.tokens for section in context.stable_sections),
            "truncated": context.truncated,
            "masked": count_masks(context.text),
            "report": context_metrics(context),
            "request": request._asdict() | {"date": request.date.isoformat()},
            "decisions": [*map(decision_data, context.decisions)],
            "problems": [*map(problem_data, context.problems)],
            "rules": [*map(rule_trace_data, context.rule_traces)],
        },
    )
    return data


class Input(NamedTuple):
    """A file that was opened."""

    path: str
    """The file, relative to the workspace."""
    bytes: Count
    """The length of the file."""
    sha256: Digest
    """SHA-256 of the file's bytes, in hexadecimal."""


class SectionSize(TypedDict):
    """A section of the document."""

    layer: str
    """The id of the layer that the section belongs to."""
    heading: str
    """The heading, without its marks; empty if the groups in the text have headings as high."""
    tokens: Positive
    """The tokens of the section, its heading and the blank line after it included."""


class ManifestDocument(TypedDict):
    """The inputs and sections of a context, as `ctxasm build --manifest FILE` writes them."""

    schema: Literal["ctxasm.manifest/1"]
    etag: Digest
    """SHA-256 of the document in UTF-8, in hexadecimal."""
    tokens: Count
    """The tokens of the document, counted once as a whole."""
    budget: Count
    """The tokens that the document might have."""
    tokenizer: str
    """How tokens were counted."""
    profile: str
    """The name of the profile."""
    strategy: str
    """The named variant of the profile; empty for the profile as it is."""
    inputs: list[Input]
    """Every file of the workspace that was opened, and the events of `--history`, in path order."""
    sections: list[SectionSize]
    """The sections of the document, in its order."""
    layers: list[LayerUsage]
    """What each layer might take and took, and its entries, in the order of the layers."""


def manifest_data(context: Context) -> dict[str, Any]:
    """Inputs and sections of a context, with what `ManifestDocument` has of it."""
    from contextasm.text.data.history import history_document  # here: other JSON does not need it

    handed_in = [history_document(context.request)] if context.request.history else []
    opened = {document.path: document for document in (*context.cited, *context.documents, *handed_in)}
    documents = [opened[path] for path in sorted(opened) if opened[path].withheld != "file"]
    inputs = [Input(document.path, document.size, document.digest) for document in documents]
    return {**context.request._asdict(), **context._asdict(), "inputs": inputs, "layers": context.allowances}


class HitData(TypedDict):
    """One memory that matches."""

    id: str
    """The memory's id."""
    path: str
    """The file, relative to the workspace."""
    line: Positive
    """The line at which its text begins, counted from 1."""
    type: str
    """Its type."""
    text: str
    """The text without list mark, type and attributes."""
    score: float
    """The sum that it is ranked by."""
    parts: Mapping[str, float]
    """The parts of the score, by name."""


def hit_data(memory: Memory, score: Score) -> dict[str, Any]:
    """A hit, with what `HitData` has of it."""
    parts = dict(score)
    data: dict[str, Any] = to_json(HitData, memory._asdict() | {"score": parts.pop("total"), "parts": parts})
    return data


class LayerPlan(TypedDict):
    """One layer."""

    layer: str
    """Its id."""
    wanted: Count
    """The tokens of all that it found."""
    used: Count
    """The tokens that it takes."""


class BudgetPlan(TypedDict):
    """One budget."""

    budget: Count
    """The tokens that the context may have."""
    tokens: Count
    """The tokens that it has."""
    layers: list[LayerPlan]
    """Every layer, in the order of the profile."""
    problems: list[Code]
    """Codes of the problems of the build."""


class PlanDocument(TypedDict):
    """The tokens of each layer under several budgets, as `ctxasm plan --json` prints them."""

    schema: Literal["ctxasm.plan/1"]
    budgets: list[BudgetPlan]
    """Every budget, as given."""


def budget_plan(context: Context) -> dict[str, object]:
    """The plan of one budget, with what `BudgetPlan` has of it."""
    problems = [problem.code for problem in context.problems]
    return context.request._asdict() | context._asdict() | {"layers": context.allowances, "problems": problems}
