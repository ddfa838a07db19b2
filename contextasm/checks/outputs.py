"""Checks of files that were built: their builds are repeated in memory and compared with them. Nothing is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote

from contextasm.checks.config import as_finding
from contextasm.checks.finding import Finding, error_finding
from contextasm.checks.inspection import Inspection
from contextasm.config.approval import HINT, KIND_WORDS, instructing_files, load_approved
from contextasm.config.input.options import Options
from contextasm.config.input.settings import FILE, LOCK_FILE
from contextasm.config.inputs import build_inputs
from contextasm.config.keys.outputs import Output
from contextasm.config.resolve import prepare_build
from contextasm.model import ContextasmError, Document, Problem
from contextasm.rendering.formats import format_context
from contextasm.text.markdown.managed_block import ManagedBlock, find_block
from contextasm.workspace.atomic import as_bytes, refuse_unwritable
from contextasm.workspace.outputs import FileIdentity, OutputFile, overwritten_inputs
from contextasm.workspace.recording import answer_digest, drift


def check_stale_outputs(inspection: Inspection) -> Iterator[Finding]:
    """Report outputs that differ from the text that a build gives now, are missing, or can't be built."""
    for output, fault in zip(inspection.outputs, _output_faults(inspection), strict=True):
        if fault:
            yield error_finding(FILE, output.line, f"{output.file} can't be an output: {fault}", "name another file")
            continue
        try:
            text = _build_output(inspection, output)
        except ContextasmError as error:
            finding = as_finding(error, inspection.folder.root)
            yield error_finding(FILE, output.line, f"{output.file} can't be built: {finding.message}", error.hint)
            continue
        document = inspection.workspace.read(output.file)
        hint = _output_hint(inspection, output, document)
        if not isinstance(document, Document):
            what = document.message if document else "is missing"
            yield error_finding(output.file, 0, f"{what}, but {FILE} lists it as an output", hint)
        elif document.data != as_bytes(text):
            yield error_finding(output.file, 0, "is stale: a build now gives another text", hint)


def _output_faults(inspection: Inspection) -> Iterator[str]:
    """The reason why no build can write each output; empty for none."""
    root, outputs = inspection.folder.root, inspection.outputs
    targets = [OutputFile.named("text", f"{root}/{output.file}") for output in outputs]
    reasons: dict[FileIdentity, str] = {}
    if inspection.prepared:
        overwritten = overwritten_inputs(targets, build_inputs(inspection.prepared, inspection.process.folder))
        reasons = {target.identity: what for target, what in overwritten}
    firsts: dict[FileIdentity, Output] = {}
    for output, target in zip(outputs, targets, strict=True):
        first = firsts.setdefault(target.identity, output)
        twin = "" if first is output else f"it is the same file as {first.file}"
        yield twin or reasons.get(target.identity, "")


def check_managed_blocks(inspection: Inspection) -> Iterator[Finding]:
    """Report managed blocks that were edited by hand, and broken markers of managed blocks."""
    for path, document in inspection.documents.items():
        block = find_block(document.data.decode("utf-8", "surrogateescape"))
        if isinstance(block, ManagedBlock):
            if block.ours and block.edited:
                hint = "move your edits out of the block, then run `ctxasm build --into FILE --force`"
                yield error_finding(path, block.line, "the managed block was edited by hand", hint)
        elif block:
            line, fault = block
            hint = "keep one begin marker and one end marker after it, or delete both"
            yield error_finding(path, line, f"the markers of the managed block are broken: {fault}", hint)


def _build_output(inspection: Inspection, output: Output) -> str:
    root = inspection.folder.root
    typed = inspection.options
    options = Options(workspace=root, date=typed.date, tz=typed.tz, **dict(output.words))  # type: ignore[arg-type]
    # The path of a profile is one of the workspace, wherever the check is run.
    process = inspection.process._replace(folder=root)
    target = OutputFile.named("text", f"{root}/{output.file}")
    prepared = prepare_build(options, process, inspection.folder, targets=(target,))
    if prepared.build.profile.fits:
        raise ContextasmError(FILE, "its profile writes a block", "remove it; `ctxasm build --check` checks the block")
    return format_context(prepared.run())


def _output_hint(inspection: Inspection, output: Output, current: Document | Problem | None) -> str:
    """The command that writes an output, or what has to be done before it can."""
    root = Path(inspection.folder.root)
    path = root / output.file
    if isinstance(current, Problem) and current.code == "outside-workspace":
        return f"remove the link, or name another file in {FILE}"
    if path.is_dir():
        return f"remove the folder, or name another file in {FILE}"
    words = [word for key, value in output.words for word in (f"--{key}", quote(value))]
    command = " ".join(("ctxasm build", *words, "-o", quote(output.file)))
    if not path.parent.is_dir():
        # A link that leads nowhere, or a file on the way, is not a place for a folder.
        above = next(folder for folder in path.parents if os.path.lexists(folder))
        if not above.is_dir():
            return f"replace {above.relative_to(root)} with a folder, or name another file in {FILE}"
        command = f"mkdir -p {quote(os.path.dirname(output.file))} && {command}"
    else:
        try:
            refuse_unwritable(path)
        except ContextasmError as error:
            return f"it {error.what}: {error.hint}"
    is_current = os.path.realpath(inspection.process.folder) == inspection.folder.root
    where = "" if is_current else "in the workspace's folder, "
    return f"{where}run `{command}`"


def check_lock(inspection: Inspection) -> Iterator[Finding]:
    """Report files that changed, came or went since the lock was written, and a broken lock; nothing without a lock."""
    try:
        approved = load_approved(inspection.workspace)
    except ContextasmError as error:
        yield as_finding(error, inspection.folder.root)
        return
    if approved is None:
        return
    paths = {*approved}
    with suppress(ContextasmError):  # The checks `config` and `stale-output` report it.
        paths |= {*instructing_files(inspection.folder, inspection.options, inspection.process)[0]}
    for change in drift(approved, {path: answer_digest(inspection.workspace.read(path)) for path in paths}):
        yield error_finding(change.path, 0, f"{KIND_WORDS[change.kind]} ({LOCK_FILE})", HINT)
