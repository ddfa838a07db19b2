"""Feedback on a record: checked against what the recorded build showed. Nothing is written here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from pathlib import Path

from contextasm.model import ContextasmError, Document, Workspace
from contextasm.records.record import Record, parse_record_id
from contextasm.records.replay import stored_inputs
from contextasm.records.uses import SHOWN
from contextasm.rendering.metrics import context_coherence
from contextasm.text.data.events import Feedback
from contextasm.text.names.matching import nearest
from contextasm.workspace.reading import required_bytes


def shown_fragments(record: Record) -> Mapping[str, str]:
    """The fragments that the recorded build showed, whole or in part: the id of each by its id and by its place.

    A place is `FILE:LINE` with the fragment's first line, as `ctxasm explain` prints it.
    """
    shown = [decision for decision in record.context.decisions if decision.outcome in SHOWN]
    places = {f"{decision.path}:{decision.lines[0]}": decision.fragment for decision in reversed(shown)}
    return places | {decision.fragment: decision.fragment for decision in shown}


def _checked_ids(record: Record, names: Sequence[str], option: str) -> tuple[str, ...]:
    """The id of each name, once. Raises `ContextasmError` for a name of nothing that the recorded build showed."""
    shown = shown_fragments(record)
    for name in names:
        if name not in shown:
            raise _unshown(record, name, shown, option)
    return tuple(dict.fromkeys(shown[name] for name in names))


def _unshown(record: Record, name: str, shown: Collection[str], option: str) -> ContextasmError:
    decision = next((decision for decision in record.context.decisions if decision.fragment == name), None)
    if decision is None:
        near = nearest(name, shown)
        hint = f"did you mean {near}?" if near else "`ctxasm explain RECORD` lists the fragments"
        return ContextasmError(option, f"{name} is not a fragment of this build", hint)
    facts = dict(decision.reason.facts)
    hint = f"judge {facts['into']}, which was shown in its place" if "into" in facts else "judge a shown fragment"
    return ContextasmError(option, f"{name} was not shown in this build, but was {decision.outcome}", hint)


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
    useful, wrong = _checked_ids(record, useful, "--useful"), _checked_ids(record, wrong, "--wrong")
    if both := [name for name in useful if name in wrong]:
        raise ContextasmError("--wrong", f"{both[0]} is also given with --useful", "choose one of them")
    if not (useful or wrong or missing):
        what = "nothing is judged"
        raise ContextasmError("ctxasm feedback", what, "add --useful ID, --wrong ID or --missing TEXT")
    return Feedback(
        record=parse_record_id(required_bytes(str(path), "name a record"), str(path)),
        day=day.isoformat(),
        shown=len({*shown_fragments(record).values()}),
        coherence=record_coherence(record, path, workspace),
        useful=useful,
        wrong=wrong,
        missing=tuple(dict.fromkeys(missing)),
    )


def record_coherence(record: Record, path: Path, workspace: Workspace) -> float | None:
    """Coherence of a recorded context, from the files stored with the record, else from the files of the workspace.

    None if one of these is no longer as recorded, and if less than two fragments with words were shown.
    """
    reads = stored_inputs(record, path)
    if reads is None:
        hashes = record.hashes
        reads = {name: workspace.read(name) for name in hashes}
        if any(not isinstance(read, Document) or read.digest != hashes[name] for name, read in reads.items()):
            return None
    documents = tuple(read for read in reads.values() if isinstance(read, Document))
    return context_coherence(record.context._replace(documents=documents))
