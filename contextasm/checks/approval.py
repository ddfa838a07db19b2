"""Check of the approval lock: files that instruct an agent and are not as `ctxasm.lock` approves them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextasm.checks.config import as_finding
from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection, error_finding
from contextasm.config.approval import HINT, KIND_WORDS, drift, instructing_files, load_approved
from contextasm.config.settings import LOCK_FILE
from contextasm.model import ContextasmError
from contextasm.workspace.snapshot import answer_digest


def check_lock(inspection: Inspection) -> Iterator[Finding]:
    """Report files that changed, came or went since the lock was written, and a broken lock; nothing without a lock."""
    try:
        approved = load_approved(inspection.workspace)
    except ContextasmError as error:
        yield as_finding(error, inspection.workspace.folder.root)
        return
    if approved is None:
        return
    paths = {*approved, *_instructing_files(inspection)}
    for change in drift(approved, {path: answer_digest(inspection.workspace.read(path)) for path in paths}):
        yield error_finding(change.path, 0, f"{KIND_WORDS[change.kind]} ({LOCK_FILE})", HINT)


def _instructing_files(inspection: Inspection) -> Sequence[str]:
    try:
        return instructing_files(inspection.workspace.folder, inspection.options, inspection.process).paths
    except ContextasmError:  # The checks `config` and `stale-output` report it.
        return ()
