"""Output formats: a context as text, or as data for JSON. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile

from contextasm.model import Context
from contextasm.rendering.frame import render_document


def _json(context: Context) -> str:
    import json

    from contextasm.rendering.documents import context_data

    return json.dumps(context_data(context), ensure_ascii=False, indent=2) + "\n"


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


FORMATS: Mapping[str, Callable[[Context], str]] = {
    "markdown": lambda context: context.text,
    "xml": lambda context: context.text,
    "json": _json,
    "messages": _messages,
}
"""Functions that write a context, by format."""
