"""Run a prepared build: under its deadline and its approval lock, with the counts of its tokens kept for later ones."""

from __future__ import annotations

from contextasm.config.build import PreparedBuild
from contextasm.model import Build, Context
from contextasm.pipeline import assemble
from contextasm.workspace.recording import RecordingWorkspace


def run(prepared: PreparedBuild, build: Build | None = None) -> Context:
    """The context of a build with the tokenizer of a prepared one; for None, of that one in full.

    Raises `ContextasmError` for a file that the build reads and that is not as approved.
    """
    build = prepared.started(build or prepared.in_full)
    context = assemble(build)
    if prepared.approved is not None:
        from contextasm.config.approval import refuse_document_drift  # here: most builds need no lock

        # Whatever a caller's build records on top, this one holds all that was read.
        assert isinstance(prepared.build.workspace, RecordingWorkspace)
        refuse_document_drift(prepared.approved, build.profile.layers, build.request, prepared.build.workspace)
    if prepared.counts:
        prepared.counts.save()
    return context
