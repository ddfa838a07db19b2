"""`ctxasm build`: write the assembled context to standard output or to files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from contextasm.cli.options import QuietOption, prepare_request, run_build, takes_options
from contextasm.cli.output import show_problems, strict_failure, write_stderr, write_stdout
from contextasm.config.options import Options

if TYPE_CHECKING:
    from contextasm.config.build import PreparedBuild
    from contextasm.model import Build, Context
    from contextasm.records.answers import RecordingServices
    from contextasm.workspace.outputs import OutputFile, PendingWrite
    from contextasm.workspace.recording import RecordingWorkspace


def build(
    options: Options,
    *,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file; - is standard output.")
    ] = None,
    into: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Write into a managed block of this file; repeatable.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a managed block that was edited by hand.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print the table of decisions on standard error.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 with a diff if a file is stale.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Write nothing and exit 1 if there is a problem.")] = False,
    if_none_match: Annotated[
        str | None, typer.Option(metavar="ETAG", help="Write nothing and exit 3 if the context has this etag.")
    ] = None,
    manifest: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write inputs, hashes, sections and tokens to this file.")
    ] = None,
    touch: Annotated[
        bool, typer.Option("--touch", help="Set accessed=DATE in each memory that the context shows.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write a record to .ctxasm/records/, for replay and diff.")
    ] = False,
    record_inputs: Annotated[
        bool, typer.Option("--record-inputs", help="Write a record and store the bytes of its inputs with it.")
    ] = False,
    quiet: QuietOption = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print settings, sections and time on standard error.")
    ] = False,
) -> int:
    """Write the assembled context to standard output or to a file.

    The receipt and all messages go to standard error.
    """
    from contextasm.rendering.formats import FORMATS

    targets = _output_files(output, into or (), manifest, check=check, force=force, touch=touch)
    started = _seconds()
    job = prepare_request(options)
    _refuse_inputs(targets, job)
    recording = _start_recording(job.build) if (record or record_inputs) and not check else None
    chosen = job.in_full if manifest or explain or recording or touch else job.build
    context = run_build(job, recording.listen(chosen) if recording else chosen, quiet=quiet)
    if strict and context.problems:
        return strict_failure(context)
    if not quiet:
        show_problems(context.problems)
        _write_summary(job, context, explain=explain, verbose=verbose)
    is_known = if_none_match is not None and if_none_match.removeprefix("W/").strip('"') == context.etag
    if is_known and not _any_missing(targets):
        return 3
    text = FORMATS[context.request.format](context)
    files = _pending_writes(targets, context, text, force=force, check=check)
    if recording:
        path = _write_record(job, context, recording, inputs=record_inputs)
        if not quiet:
            write_stderr(f"{path}: recorded")
    code = _check_files(files) if check else _write_files(files, quiet=quiet)
    if not check and _goes_to_stdout(output, into or ()):
        write_stdout(text)
    if manifest == "-" and not check:
        write_stdout(_manifest_text(context))
    if touch:
        _touch_memories(job, context)
    if verbose and not quiet:
        write_stderr(f"{(_seconds() - started) * 1000:.0f} ms")
    return code


run = takes_options(build)


def _goes_to_stdout(output: str | None, into: Sequence[str]) -> bool:
    return output == "-" or not (output or into)


def _output_files(
    output: str | None, into: Sequence[str], manifest: str | None, *, check: bool, force: bool, touch: bool
) -> Sequence[OutputFile]:
    """The files to write; none where the text goes to standard output only. Raises `ContextasmError`."""
    from contextasm.model import ContextasmError

    if check and touch:
        raise ContextasmError("--touch", "--check writes nothing", "leave one of the two out")
    if force and not into:
        raise ContextasmError("--force", "there is no managed block to replace", "name its file with --into FILE")
    if not into and output in {None, "-"}:
        if check:
            raise ContextasmError("--check", "there is no file to check", "name it with -o FILE or --into FILE")
        if manifest is None:
            return ()
    if manifest == "-" and _goes_to_stdout(output, into):
        hint = "name a file for one of the two, such as -o FILE"
        raise ContextasmError("--manifest", "- is standard output, and the context goes there", hint)
    from contextasm.workspace.outputs import output_files

    return output_files(output, into, manifest)


def _refuse_inputs(targets: Sequence[OutputFile], job: PreparedBuild) -> None:
    """Raise `ContextasmError` for a target that a build could read."""
    if not targets:
        return
    from contextasm.config.inputs import build_inputs
    from contextasm.workspace.inputs import refuse_inputs

    refuse_inputs(targets, build_inputs(job, Path.cwd()))


def _any_missing(targets: Sequence[OutputFile]) -> bool:
    """Whether a file to write does not exist, or has no managed block yet."""
    if not targets:
        return False
    from contextasm.workspace.outputs import is_missing

    return any(map(is_missing, targets))


def _write_summary(job: PreparedBuild, context: Context, *, explain: bool, verbose: bool) -> None:
    """Write the receipt to standard error, after the tables that are asked for."""
    from contextasm.rendering.wording import (
        decision_table,
        format_columns,
        receipt,
        rule_trace_table,
        section_rows,
    )

    if explain:
        header, rows, right = decision_table(context.decisions, every=verbose)
        write_stderr(format_columns(header, rows, right).rstrip("\n"))
    if verbose:
        settings = [
            (key, f"{setting.value or '-'} ({setting.origin})")
            for key, setting in job.settings.items()
            if "." not in key
        ]
        table = format_columns(("setting", "value"), [("workspace", job.workspace.root), *settings], ())
        write_stderr(table.rstrip("\n"))
        table = format_columns(("layer", "section", "tokens", ""), section_rows(context, job.build.counter), (2,))
        write_stderr(table.rstrip("\n"))
        if any(trace.lost for trace in context.rule_traces):
            write_stderr(format_columns(*rule_trace_table(context.rule_traces)).rstrip("\n"))
        write_stderr(f"etag: {context.etag}")
    write_stderr(receipt(context, job.build.counter))


class _Recording(NamedTuple):
    """Files that a build reads, and answers that it gets, for its record."""

    workspace: RecordingWorkspace
    services: RecordingServices

    def listen(self, build: Build) -> Build:
        """The build that is recorded."""
        return self.services.listen(build)._replace(workspace=self.workspace)


def _start_recording(build: Build) -> _Recording:
    from contextasm.records.answers import RecordingServices
    from contextasm.workspace.recording import RecordingWorkspace

    return _Recording(RecordingWorkspace(build.workspace), RecordingServices(build))


def _write_record(job: PreparedBuild, context: Context, recording: _Recording, *, inputs: bool) -> Path:
    """Write the record of a build; returns its path."""
    from contextasm.records.record import make_record
    from contextasm.records.replay import build_facts, save_record

    record = make_record(context, build_facts(job), recording.workspace, recording.services.answers)
    # A copy: a source that is late may still be reading.
    return save_record(Path(job.workspace.root), record, recording.workspace.reads.copy() if inputs else {})


def _pending_writes(
    targets: Sequence[OutputFile], context: Context, text: str, *, force: bool, check: bool
) -> Sequence[PendingWrite]:
    """The files with the bytes that each should hold, but for the manifest under `check`.

    Raises `ContextasmError` for a file that can't be written, before any is.
    """
    if not targets:
        return ()
    from contextasm.workspace.atomic import as_bytes, refuse_unwritable
    from contextasm.workspace.outputs import pending_writes

    texts = [target for target in targets if target.kind != "manifest"]
    files = pending_writes(texts, as_bytes(text), force=force)
    if check:
        return files
    manifests = [target for target in targets if target.kind == "manifest"]
    files = (*files, *pending_writes(manifests, as_bytes(_manifest_text(context))))
    for file in files:
        refuse_unwritable(file.path)
    return files


def _write_files(files: Sequence[PendingWrite], *, quiet: bool) -> int:
    """Write the files whose bytes differ; returns the exit code."""
    if not files:
        return 0
    from contextasm.workspace.atomic import write

    for file in files:
        changed = write(file.path, file.data)
        if not quiet and file.target.kind != "manifest":
            write_stderr(f"{file.path}: {'written' if changed else 'unchanged'}")
    return 0


def _check_files(files: Sequence[PendingWrite]) -> int:
    """Write the differences of stale files to standard error; returns the exit code, 1 for a stale file."""
    from contextasm.workspace.outputs import current_bytes

    stale = [(file, old) for file in files if (old := current_bytes(file.path)) != file.data]
    for file, old in stale:
        _write_file_diff(file, old or b"")
        write_stderr(f"ctxasm: error: {file.path}: stale: run the same command without --check")
    return 1 if stale else 0


def _write_file_diff(file: PendingWrite, old: bytes) -> None:
    from difflib import unified_diff

    before, after = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (old, file.data))
    for line in unified_diff(before, after, f"{file.path} (current)", f"{file.path} (expected)"):
        write_stderr(line.rstrip("\n") if line.endswith("\n") else f"{line}\n\\ No newline at end of file")


def _manifest_text(context: Context) -> str:
    from contextasm.cli.output import format_json
    from contextasm.rendering.formats import manifest_data

    return format_json(manifest_data(context))


def _touch_memories(job: PreparedBuild, context: Context) -> None:
    from contextasm.workspace.editing.memories import touch_memories
    from contextasm.workspace.folder import Folder

    assert isinstance(job.workspace, Folder)
    touch_memories(job.workspace, context)


def _seconds() -> float:
    """Seconds of a clock that measures durations."""
    from time import perf_counter

    return perf_counter()
