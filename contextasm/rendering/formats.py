"""Render: the context as text or as plain values, in each of the formats. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile

from contextasm.model import Context, Decision, RuleTrace
from contextasm.rendering.frame import render_document

SCHEMA = "ctxasm.context/1"
MANIFEST_SCHEMA = "ctxasm.manifest/1"


def _json(context: Context) -> str:
    """The whole result, schema `ctxasm.context/1` (contextasm/rendering/schemas/context-1.json)."""
    import json

    return json.dumps(context_data(context), ensure_ascii=False, indent=2) + "\n"


def context_data(context: Context) -> dict[str, object]:
    """A context as plain values, in the form of `ctxasm.context/1`."""
    from contextasm.rendering.metrics import context_metrics

    request = context.request
    return {
        "schema": SCHEMA,
        "content": context.text,
        "tokens": context.tokens,
        "budget": request.budget,
        "tokenizer": request.tokenizer,
        "truncated": context.truncated,
        "etag": context.etag,
        "profile": context.profile,
        "report": context_metrics(context)._asdict(),
        "request": {
            "agent": request.agent,
            "team": request.team,
            "topic": request.topic,
            "date": request.date.isoformat(),
            "format": request.format,
            "session": request.session,
            "open": list(request.open),
            "changed": list(request.changed),
            "additional": request.additional,
        },
        "sections": [
            {
                "layer": section.layer,
                "heading": section.heading,
                "text": section.text,
                "tokens": section.tokens,
                "truncated": section.truncated,
                "stable": section.stable,
            }
            for section in context.sections
        ],
        "decisions": [decision_data(decision) for decision in context.decisions],
        "allowances": [
            {"layer": each.layer, "limit": each.limit, "wanted": each.wanted, "used": each.used}
            for each in context.allowances
        ],
        "problems": [
            {"code": problem.code, "path": problem.path, "line": problem.line, "message": problem.message}
            for problem in context.problems
        ],
        "rules": [rule_trace_data(ruling) for ruling in context.rule_traces],
    }


def rule_trace_data(ruling: RuleTrace) -> dict[str, object]:
    """What became of a rule, as plain values."""
    return {
        "rule": ruling.rule,
        "path": ruling.path,
        "line": ruling.line,
        "fired": ruling.fired,
        "reason": {"code": ruling.reason.code, **dict(ruling.reason.facts)},
        "lost": [{"code": reason.code, **dict(reason.facts)} for reason in ruling.lost],
    }


def decision_data(decision: Decision) -> dict[str, object]:
    """A decision as plain values."""
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
    }


def _messages(context: Context) -> str:
    """The `system` blocks of Anthropic's Messages API: what neither date nor topic can change, then the rest.

    The blocks' texts, put together, are the document that the budget was held against.
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
    """What a context was made of, as plain values (schema `ctxasm.manifest/1`)."""
    return {
        "schema": MANIFEST_SCHEMA,
        "etag": context.etag,
        "tokens": context.tokens,
        "budget": context.request.budget,
        "tokenizer": context.request.tokenizer,
        "profile": context.profile,
        "inputs": [
            {"path": document.path, "bytes": len(document.data), "sha256": document.digest}
            for document in context.documents
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
"""The context as it is emitted, by format."""
