"""The receipt of a build: one line with the tokens of the document, and what is not in it."""

from __future__ import annotations

from contextasm.model import Context
from contextasm.text.secret_scanner import count_masks


def receipt(context: Context, taken: str = "") -> str:
    """One line with the tokens used, their layers, fallbacks, private parts, and what else is left out by outcome.

    `taken` says which profile was taken for a folder without settings; empty for none.
    """
    request = context.request
    parts = " ".join(f"{name}={tokens:,}" for name, tokens in token_parts(context).items())
    size = f"{context.tokens:,} of {request.budget:,} tokens ({request.tokenizer})"
    fallbacks = dict.fromkeys(decision.layer for decision in context.decisions if decision.reason.code == "fallback")
    fell_back = f"nothing matches the topic in {', '.join(fallbacks)}" if fallbacks else ""
    spent = f"{size}, headings included: {parts}" if parts else size
    left_out = (_left_out_words(context), _private_words(context))
    return "; ".join(filter(None, (spent, fell_back, *left_out, _mask_words(context), taken)))


def _mask_words(context: Context) -> str:
    """The number of masked secrets in the document, and how many there are of each kind."""
    counts = count_masks(context.text)
    kinds = ", ".join(f"{kind} {count}" if count > 1 else kind for kind, count in counts.items())
    total = sum(counts.values())
    return f"{total:,} secret{'s' * (total != 1)} masked ({kinds})" if counts else ""


def _private_words(context: Context) -> str:
    count = sum(decision.reason.code == "private" for decision in context.decisions)
    return f"{count:,} private part{'s' if count > 1 else ''} left out, for the context is shared" if count else ""


def _left_out_words(context: Context) -> str:
    """The numbers of fragments that are not shown whole, by outcome; those that are shortened count as truncated."""
    counts = dict.fromkeys(("merged", "shortened", "truncated", "dropped", "excluded"), 0)
    for decision in context.decisions:
        if decision.outcome in counts:
            counts[decision.outcome] += int(dict(decision.reason.facts).get("count", 1))
    shortened = counts.pop("shortened")
    counts["truncated"] += shortened
    words = {outcome: f"{count:,} {outcome}" for outcome, count in counts.items() if count}
    if shortened:
        words["truncated"] += f" ({shortened:,} of them shortened)"
    return ", ".join(words.values())


def token_parts(context: Context) -> dict[str, int]:
    """Tokens of each layer that is shown, by id, and of `joints`, if they have any; they add up to the document's.

    A layer has the tokens that it has everywhere: those of its text alone. `joints` is the rest: where two layers meet,
    the whole may have more tokens than its parts, or fewer, since a token that both begin is one.
    """
    tokens = {usage.layer: usage.used for usage in context.allowances if usage.used}
    joints = context.tokens - sum(tokens.values())
    return {**tokens, "joints": joints} if joints else tokens
