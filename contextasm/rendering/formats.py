"""Render: the context as text or as plain values, in each of the formats. Nothing is printed here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from contextasm.model import Context, Decision, RuleTrace, Section
from contextasm.selection.layout import Omission, SectionFormat
from contextasm.text.markdown import heading

MARKER = "... [truncated]"
"""Ends a cut section (digest 1.1)."""

SCHEMA = "ctxasm.context/1"
MANIFEST_SCHEMA = "ctxasm.manifest/1"

_UNFIT_FOR_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"


def _markdown(_layer: str, title: str, text: str) -> str:
    return f"## {title}\n{text}\n\n"


def _xml(layer: str, title: str, text: str) -> str:
    open_tag = f'<section layer="{_escaped(layer)}" heading="{_escaped(title)}">'
    return f"{open_tag}\n{_escaped(text)}\n</section>\n\n"


def _escaped(text: str) -> str:
    """Text that can't close its element; what XML has no form for becomes the replacement character."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return re.sub(_UNFIT_FOR_XML, "\ufffd", text)


def _detailed(count: Callable[[str], int]) -> Callable[[Omission], str]:
    """The marker that says what is missing: path, first missing line, tokens, headings. `count` gives tokens."""

    def marker(gap: Omission) -> str:
        text = "\n".join(gap.texts)
        titles = [found[1] for line in text.split("\n") if (found := heading(line)) and found[1]]
        more = f"; {'; '.join(titles[:5])}" if titles else ""
        rest = f" and {len(titles) - 5} more" if len(titles) > 5 else ""
        path = gap.path.encode(errors="backslashreplace").decode()
        return f"{MARKER} {path}:{gap.line}, {count(text)} tokens left out{more}{rest}"

    return marker


SECTIONS: Mapping[str, Callable[[str, str, str], str]] = {
    "markdown": _markdown,
    "xml": _xml,
    "json": _markdown,
    "messages": _markdown,
}
"""A section as emitted, by format. In `json` and `messages` the budget is held on the text inside."""

MARKERS: Mapping[str, Callable[[Callable[[str], int]], Callable[[Omission], str]]] = {
    "plain": lambda _count: lambda _gap: MARKER,
    "detailed": _detailed,
}
"""The line in place of missing text, by a profile's `marker`; made with a function from text to tokens."""


def section_format(form: str, marker: str, count: Callable[[str], int]) -> SectionFormat:
    """What surrounds and what replaces text, for a format and a profile's marker."""
    return SectionFormat(SECTIONS[form], MARKERS[marker](count))


def render_document(sections: Sequence[Section], form: str) -> str:
    """The sections one after the other, ending in one newline; empty where there are none."""
    framed = SECTIONS[form]
    text = "".join(framed(section.layer, section.heading, section.text) for section in sections)
    return text.rstrip("\n") + "\n" if text else ""


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
        "rules": [rule_trace_data(ruling) for ruling in context.rulings],
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
        "tokens_before": decision.before,
        "tokens_after": decision.after,
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
