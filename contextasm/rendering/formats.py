"""Output formats: a context as text, or as data for JSON. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from contextasm.model import Context, Decision, Request, RuleTrace, Section
from contextasm.rendering.frame import render_document
from contextasm.text.cleaning.secrets.scanner import count_masks

SCHEMA = "ctxasm.context/1"
MANIFEST_SCHEMA = "ctxasm.manifest/1"


def _json(context: Context) -> str:
    import json

    return json.dumps(context_data(context), ensure_ascii=False, indent=2) + "\n"


def context_data(context: Context) -> dict[str, object]:
    """A context as data for JSON, schema `ctxasm.context/1` (contextasm/rendering/schemas/context-1.json)."""
    from contextasm.rendering.metrics import context_metrics

    request = context.request
    return {
        "schema": SCHEMA,
        "content": context.text,
        "tokens": context.tokens,
        "budget": request.budget,
        "tokenizer": request.tokenizer,
        "truncated": context.truncated,
        "masked": count_masks(context.text),
        "etag": context.etag,
        "profile": context.profile,
        "report": context_metrics(context)._asdict(),
        "request": _request_data(request),
        "sections": [_section_data(section) for section in context.sections],
        "decisions": [decision_data(decision) for decision in context.decisions],
        "allowances": [
            {"layer": usage.layer, "limit": usage.limit, "wanted": usage.wanted, "used": usage.used}
            for usage in context.allowances
        ],
        "problems": [
            {"code": problem.code, "path": problem.path, "line": problem.line, "message": problem.advice}
            for problem in context.problems
        ],
        "rules": [rule_trace_data(trace) for trace in context.rule_traces],
    }


def _request_data(request: Request) -> dict[str, object]:
    return {
        "agent": request.agent,
        "team": request.team,
        "topic": request.topic,
        "date": request.date.isoformat(),
        "format": request.format,
        "privacy": request.privacy,
        "session": request.session,
        "open": list(request.open),
        "changed": list(request.changed),
        "additional": request.additional,
        "audience": request.audience,
    }


def _section_data(section: Section) -> dict[str, object]:
    return {
        "layer": section.layer,
        "heading": section.heading,
        "text": section.text,
        "tokens": section.tokens,
        "truncated": section.truncated,
        "stable": section.stable,
    }


def rule_trace_data(trace: RuleTrace) -> dict[str, object]:
    """The trace of a rule as data for JSON."""
    return {
        "rule": trace.rule,
        "path": trace.path,
        "line": trace.line,
        "fired": trace.fired,
        "reason": {"code": trace.reason.code, **dict(trace.reason.facts)},
        "lost": [{"code": reason.code, **dict(reason.facts)} for reason in trace.lost],
    }


def decision_data(decision: Decision) -> dict[str, object]:
    """A decision as data for JSON."""
    return {
        "fragment": decision.fragment,
        "layer": decision.layer,
        "path": decision.path,
        "line": decision.lines[0],
        "last_line": decision.lines[1],
        "outcome": decision.outcome,
        "reason": {"code": decision.reason.code, **dict(decision.reason.facts)},
        "tokens_before": decision.tokens_before,
        "tokens_after": decision.tokens_after,
        "kept": [list(span) for span in decision.kept],
        "score": dict(decision.score),
        "boosted_by": list(decision.boosted_by),
        "stands_for": list(decision.stands_for),
    }


def _messages(context: Context) -> str:
    """The `system` blocks of Anthropic's Messages API: first the stable sections, to be cached, then the others.

    The texts of the blocks, joined, are the document that the budget was held against.
    """
    import json

    stable = [*takewhile(lambda section: section.stable, context.sections)]
    head = render_document(stable, context.request.format)
    tail = context.text[len(head) :]
    blocks: list[dict[str, object]] = []
    if head:
        blocks.append({"type": "text", "text": head, "cache_control": {"type": "ephemeral"}})
    if tail:
        blocks.append({"type": "text", "text": tail})
    return json.dumps(blocks, ensure_ascii=False, indent=2) + "\n"


def manifest_data(context: Context) -> dict[str, object]:
    """Inputs and sections of a context as data for JSON, schema `ctxasm.manifest/1`."""
    return {
        "schema": MANIFEST_SCHEMA,
        "etag": context.etag,
        "tokens": context.tokens,
        "budget": context.request.budget,
        "tokenizer": context.request.tokenizer,
        "profile": context.profile,
        "inputs": [
            {"path": document.path, "bytes": document.size, "sha256": document.digest}
            for document in context.documents
            if document.withheld != "file"
        ],
        "sections": [
            {"layer": section.layer, "heading": section.heading, "tokens": section.tokens}
            for section in context.sections
        ],
    }


FORMATS: Mapping[str, Callable[[Context], str]] = {
    "markdown": lambda context: context.text,
    "xml": lambda context: context.text,
    "json": _json,
    "messages": _messages,
}
"""Functions that write a context, by format."""


def plan_data(contexts: Sequence[Context]) -> dict[str, object]:
    """The plan as data for JSON, schema `ctxasm.plan/1`."""
    return {
        "schema": "ctxasm.plan/1",
        "budgets": [
            {
                "budget": context.request.budget,
                "tokens": context.tokens,
                "layers": [
                    {"layer": usage.layer, "wanted": usage.wanted, "used": usage.used} for usage in context.allowances
                ],
                "problems": [problem.code for problem in context.problems],
            }
            for context in contexts
        ],
    }
