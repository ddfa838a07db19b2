"""Feedback on a record: checked against what the recorded build showed. Nothing is written here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from pathlib import Path

from contextasm.config.values import require_known
from contextasm.model import ContextasmError, Document, Workspace
from contextasm.records.record import Record, encode_record
from contextasm.records.replay import stored_inputs
from contextasm.rendering.metrics import context_metrics
from contextasm.text.feedback import Feedback

_SHOWN = {"included", "shortened", "truncated"}
"""Outcomes of fragments of which something is in the context."""


def shown_fragments(record: Record) -> tuple[str, ...]:
    """Ids of the fragments that the recorded build showed, whole or in part, each once, in the order of the record."""
    return tuple(dict.fromkeys(each.fragment for each in record.decisions if each.outcome in _SHOWN))


def checked_ids(record: Record, ids: Sequence[str], option: str) -> tuple[str, ...]:
    """The ids, each once. Raises `ContextasmError`, naming the option, for one that the recorded build did not show."""
    shown = shown_fragments(record)
    for name in dict.fromkeys(ids):
        _refuse_unshown(record, name, shown, option)
    return tuple(dict.fromkeys(ids))


def _refuse_unshown(record: Record, name: str, shown: Collection[str], option: str) -> None:
    if name in shown:
        return
    decision = next((each for each in record.decisions if each.fragment == name), None)
    if decision is None:
        require_known(name, shown, option, "fragment")
        return
    facts = dict(decision.reason.facts)
    hint = f"judge {facts['into']}, which stands for it" if "into" in facts else "judge what the agent saw"
    raise ContextasmError(option, f"{name} was not shown in this build, but {decision.outcome}", hint)


def feedback_on(
    record: Record,
    path: Path,
    workspace: Workspace,
    day: date,
    *,
    useful: Sequence[str],
    wrong: Sequence[str],
    missing: Sequence[str],
) -> Feedback:
    """The feedback on the record in the file at `path`. Raises `ContextasmError` for what can't be said of it."""
    useful, wrong = checked_ids(record, useful, "--useful"), checked_ids(record, wrong, "--wrong")
    if both := [name for name in useful if name in wrong]:
        raise ContextasmError("--wrong", f"{both[0]} is named by --useful, too", "choose one of them")
    if not (useful or wrong or missing):
        what = "nothing is said of the build"
        raise ContextasmError("ctxasm feedback", what, "add --useful ID, --wrong ID or --missing TEXT")
    return Feedback(
        record=encode_record(record).id,
        day=day.isoformat(),
        shown=len(shown_fragments(record)),
        coherence=record_coherence(record, path, workspace),
        useful=useful,
        wrong=wrong,
        missing=tuple(dict.fromkeys(missing)),
    )


def record_coherence(record: Record, path: Path, workspace: Workspace) -> float | None:
    """Coherence of a recorded context, from the files stored with the record, else from those of the workspace.

    None where one of these is no longer as recorded, and where less than two fragments with words were shown.
    """
    reads = stored_inputs(record, path)
    if reads is None:
        hashes = record.hashes
        reads = {name: workspace.read(name) for name in hashes}
        if any(not isinstance(read, Document) or read.digest != hashes[name] for name, read in reads.items()):
            return None
    documents = tuple(read for read in reads.values() if isinstance(read, Document))
    return context_metrics(record.context._replace(documents=documents)).coherence
