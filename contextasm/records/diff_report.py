"""The difference of two contexts as a table, as one line and as JSON values."""

from __future__ import annotations

from collections.abc import Sequence

from contextasm.model import Decision
from contextasm.records.diff import Difference, Shift
from contextasm.rendering.tables import Rows
from contextasm.rendering.wording import reason_words

SCHEMA = "ctxasm.diff/1"


def shift_table(difference: Difference) -> tuple[Sequence[str], Rows, Sequence[int]]:
    """Header, rows and columns of figures: the change of each fragment, and the reason."""
    rows = [
        (
            shift.kind,
            layer_words(shift),
            f"{shift.tokens[1] - shift.tokens[0]:+,}",
            shift_place(shift),
            shift_reason(shift),
        )
        for shift in difference.shifts
    ]
    return ("what", "layer", "tokens", "where", "why"), rows, (2,)


def layer_words(shift: Shift) -> str:
    """The layer of a change; both layers of a fragment that moved."""
    old, new = shift.layers
    return new if old == new else f"{old} -> {new}"


def shift_place(shift: Shift) -> str:
    """The file and line of a change, or the heading of the section that changed."""
    decision = shift.after or shift.before
    if decision is None:
        return shift.fragment
    return f"{decision.path}:{decision.lines[0]}" if decision.lines[0] else decision.path


def shift_reason(shift: Shift) -> str:
    """The reason in words: that of the side on which the fragment is missing or cut."""
    if shift.kind == "entered":
        absence = _absence_words(shift, shift.before)
        return f"was out: {absence}" if absence else "is new"
    if shift.kind == "left":
        return _absence_words(shift, shift.after) or "is gone"
    if shift.kind == "shortened" and shift.after:
        return reason_words(shift.after.reason)
    if shift.kind == "lengthened" and shift.before:
        return f"was cut: {reason_words(shift.before.reason)}"
    return {"changed": "its text changed", "moved": "found by another layer"}.get(shift.kind, "")


def _absence_words(shift: Shift, decision: Decision | None) -> str:
    if shift.timed_out:
        return "its layer did not answer in time"
    return reason_words(decision.reason) if decision else ""


def summary(difference: Difference) -> str:
    """The figures of both texts in one line."""
    old, new = difference.before.context, difference.after.context
    length = len(new.text.encode())
    share = f" ({difference.identical_bytes * 100 // length} % of {length:,})" if length else ""
    return (
        f"{difference.before.label}: {old.tokens:,} tokens; {difference.after.label}: {new.tokens:,} tokens "
        f"({new.tokens - old.tokens:+,}); the first {difference.identical_bytes:,} bytes{share} are identical"
    )


def diff_data(difference: Difference) -> dict[str, object]:
    """The difference as JSON values (schema `ctxasm.diff/1`, contextasm/rendering/schemas/diff-1.json)."""
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
        "identical_bytes": difference.identical_bytes,
        "changes": [_shift_data(shift) for shift in difference.shifts],
    }


def _shift_data(shift: Shift) -> dict[str, object]:
    decision = shift.after or shift.before
    return {
        "kind": shift.kind,
        "fragment": shift.fragment,
        "path": decision.path if decision else None,
        "line": decision.lines[0] if decision else None,
        "layer_before": shift.layers[0],
        "layer_after": shift.layers[1],
        "tokens_before": shift.tokens[0],
        "tokens_after": shift.tokens[1],
        "reason_before": shift.before.reason.code if shift.before else None,
        "reason_after": shift.after.reason.code if shift.after else None,
        "why": shift_reason(shift),
    }
