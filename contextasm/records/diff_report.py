"""The difference between two contexts in words, as a table and as plain values."""

from __future__ import annotations

from collections.abc import Sequence

from contextasm.records.diff import Difference, Shift
from contextasm.rendering.wording import Rows, reason_words

SCHEMA = "ctxasm.diff/1"


def shift_table(difference: Difference) -> tuple[Sequence[str], Rows, Sequence[int]]:
    """Header, rows and columns of figures: what became of each fragment, and why."""
    rows = [
        (shift.kind, _layers(shift), f"{shift.tokens[1] - shift.tokens[0]:+,}", _place(shift), _why(shift))
        for shift in difference.shifts
    ]
    return ("what", "layer", "tokens", "where", "why"), rows, (2,)


def _layers(shift: Shift) -> str:
    old, new = shift.layers
    return new if old == new else f"{old} -> {new}"


def _place(shift: Shift) -> str:
    """File and line, as it is now or as it was."""
    here = shift.after or shift.before
    if here is None:
        return shift.fragment
    return f"{here.path}:{here.lines[0]}" if here.lines[0] else here.path


def _why(shift: Shift) -> str:
    """The reason of the side that differs from the usual: why it left, why it was out before, why it is cut."""
    if shift.kind == "entered":
        return f"was out: {reason_words(shift.before.reason)}" if shift.before else "is new"
    if shift.kind == "left":
        return reason_words(shift.after.reason) if shift.after else "is gone"
    if shift.kind == "shortened" and shift.after:
        return reason_words(shift.after.reason)
    if shift.kind == "lengthened" and shift.before:
        return f"was cut: {reason_words(shift.before.reason)}"
    return {"changed": "its text changed", "moved": "found by another layer"}.get(shift.kind, "")


def summary(difference: Difference) -> str:
    """The figures of both texts in one line."""
    old, new = difference.before.context, difference.after.context
    length = len(new.text.encode())
    share = f" ({difference.kept * 100 // length} % of {length:,})" if length else ""
    return (
        f"{difference.before.label}: {old.tokens:,} tokens; {difference.after.label}: {new.tokens:,} tokens "
        f"({new.tokens - old.tokens:+,}); the first {difference.kept:,} bytes{share} are identical"
    )


def diff_data(difference: Difference) -> dict[str, object]:
    """The difference as plain values (schema `ctxasm.diff/1`, contextasm/rendering/schemas/diff-1.json)."""
    return {
        "schema": SCHEMA,
        **{
            key: {
                "label": side.label,
                "etag": side.context.etag,
                "tokens": side.context.tokens,
                "bytes": len(side.context.text.encode()),
                "budget": side.context.request.budget,
                "date": side.context.request.date.isoformat(),
            }
            for key, side in (("before", difference.before), ("after", difference.after))
        },
        "identical_bytes": difference.kept,
        "changes": [_shift_data(shift) for shift in difference.shifts],
    }


def _shift_data(shift: Shift) -> dict[str, object]:
    here = shift.after or shift.before
    return {
        "kind": shift.kind,
        "fragment": shift.fragment,
        "path": here.path if here else None,
        "line": here.lines[0] if here else None,
        "layer_before": shift.layers[0],
        "layer_after": shift.layers[1],
        "tokens_before": shift.tokens[0],
        "tokens_after": shift.tokens[1],
        "reason_before": shift.before.reason.code if shift.before else None,
        "reason_after": shift.after.reason.code if shift.after else None,
        "why": _why(shift),
    }
