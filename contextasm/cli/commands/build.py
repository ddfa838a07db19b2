"""`ctxasm build`: the assembled context, to standard output or into a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import prepare_request, takes_request
from contextasm.cli.output import show_problems, strict_failure, write_stderr, write_stdout

if TYPE_CHECKING:
    from contextasm.config.build import PreparedBuild
    from contextasm.config.options import Options
    from contextasm.model import Context
    from contextasm.workspace.outputs import OutputFile, PendingWrite
    from contextasm.workspace.snapshot import RecordingWorkspace


def build(
    request: Options,
    *,
    form: Annotated[
        str | None, typer.Option("--format", "-f", metavar="NAME", help="markdown, xml, json or messages.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write here instead; - is standard output.")
    ] = None,
    into: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Write into a managed block of this file; repeatable.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a managed block that was edited by hand.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="The table of decisions too, on standard error.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 with a diff if a file is stale.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Any problem: write nothing and exit 1.")] = False,
    if_none_match: Annotated[
        str | None, typer.Option(metavar="ETAG", help="Write nothing and exit 3 if the etag is this one.")
    ] = None,
    manifest: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write inputs, hashes, sections and tokens here.")
    ] = None,
    touch: Annotated[
        bool, typer.Option("--touch", help="Note in each memory shown that it was, as accessed=DATE.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write a record too, under .ctxasm/records/, for replay and diff.")
    ] = False,
    record_inputs: Annotated[
        bool, typer.Option("--record-inputs", help="The same, and store the inputs' bytes with it.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing but errors on standard error.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Settings, sections and time taken, on standard error.")
    ] = False,
) -> int:
    """Write the assembled context to standard output, or to a file.

    Everything else, such as the receipt and warnings, goes to standard error.
    """
    from contextasm.rendering.formats import FORMATS

    targets = _targets(output, into or (), check=check, force=force, touch=touch)
    started = _clock()
    job = prepare_request(request, form)
    noted = _noted(job) if (record or record_inputs) and not check else None
    build = job.in_full if manifest or explain or noted or touch else job.build
    context = job.run(build._replace(workspace=noted) if noted else build)
    if strict and context.problems:
        return strict_failure(context)
    if not quiet:
        show_problems(context.problems)
        _talk(job, context, explain=explain, verbose=verbose)
    if if_none_match is not None and if_none_match.removeprefix("W/").strip('"') == context.etag:
        return 3
    if noted:
        kept = _record(job, context, noted, inputs=record_inputs)
        if not quiet:
            write_stderr(f"{kept}: recorded")
    text = FORMATS[context.request.format](context)
    files = _due(targets, job, context, text, force=force)
    code = _checked(files) if check else _written(files, quiet=quiet)
    if not check and (output == "-" or not targets):
        write_stdout(text)
    if manifest and not check:
        from contextasm.cli.output import format_json
        from contextasm.rendering.formats import manifest_data
        from contextasm.workspace.atomic import as_bytes, write

        write(Path(manifest), as_bytes(format_json(manifest_data(context))))
    if touch:
        from contextasm.workspace.editing.memories import touch_memories as note
        from contextasm.workspace.folder import Folder

        assert isinstance(job.workspace, Folder)
        note(job.workspace, context)
    if verbose and not quiet:
        write_stderr(f"{(_clock() - started) * 1000:.0f} ms")
    return code


run = takes_request(build)


def _targets(output: str | None, into: Sequence[str], *, check: bool, force: bool, touch: bool) -> Sequence[OutputFile]:
    """The files to write; none where the text only goes to standard output."""
    from contextasm.model import ContextasmError

    if check and touch:
        raise ContextasmError("--touch", "--check writes nothing", "leave one of the two out")
    if force and not into:
        raise ContextasmError("--force", "there is no managed block to replace", "name its file with --into FILE")
    if not into and output in {None, "-"}:
        if check:
            raise ContextasmError("--check", "there is no file to check", "name it with -o FILE or --into FILE")
        return ()
    from contextasm.workspace.outputs import output_files

    return output_files(output, into)


def _talk(job: PreparedBuild, context: Context, *, explain: bool, verbose: bool) -> None:
    """What a person wants to know about a build."""
    from contextasm.rendering.wording import decision_table, format_columns, receipt, section_rows

    if explain:
        header, rows, right = decision_table(context.decisions, every=verbose)
        write_stderr(format_columns(header, rows, right).rstrip("\n"))
    if verbose:
        settings = {
            key: f"{setting.value or '-'} ({setting.origin})" for key, setting in job.settings.items() if "." not in key
        }
        write_stderr(
            format_columns(("setting", "value"), [("workspace", job.workspace.root), *settings.items()], ()).rstrip(
                "\n"
            )
        )
        write_stderr(
            format_columns(("layer", "section", "tokens", ""), section_rows(context.sections), (2,)).rstrip("\n")
        )
    write_stderr(receipt(context))


def _noted(job: PreparedBuild) -> RecordingWorkspace:
    """The job's workspace, with each of its answers noted."""
    from contextasm.workspace.snapshot import RecordingWorkspace

    return RecordingWorkspace(job.workspace)


def _record(job: PreparedBuild, context: Context, noted: RecordingWorkspace, *, inputs: bool) -> Path:
    """Write the record of a build; its path."""
    from contextasm.records.record import make_record
    from contextasm.records.replay import build_facts, save_record

    own = make_record(context, build_facts(job.build.counter, job.settings, job.build.profile, job.build.rules), noted)
    return save_record(Path(job.workspace.root), own, noted.reads if inputs else {})


def _due(
    targets: Sequence[OutputFile], job: PreparedBuild, context: Context, text: str, *, force: bool
) -> Sequence[PendingWrite]:
    """What the files should hold, with nothing written yet."""
    if not targets:
        return ()
    from contextasm.workspace.atomic import as_bytes
    from contextasm.workspace.outputs import pending_writes, refuse_inputs

    refuse_inputs(targets, job.workspace.root, context)
    return pending_writes(targets, as_bytes(text), force=force)


def _written(files: Sequence[PendingWrite], *, quiet: bool) -> int:
    """Write what is stale."""
    if not files:
        return 0
    from contextasm.workspace.atomic import write

    for file in files:
        new = write(file.path, file.data)
        if not quiet:
            write_stderr(f"{file.path}: {'written' if new else 'unchanged'}")
    return 0


def _checked(files: Sequence[PendingWrite]) -> int:
    """Whether every file holds what it should: 0, or 1 with the differences on standard error."""
    from contextasm.workspace.outputs import current_bytes

    stale = [(file, old) for file in files if (old := current_bytes(file.path)) != file.data]
    for file, old in stale:
        _show_difference(file, old or b"")
        write_stderr(f"ctxasm: error: {file.path}: stale: run the same command without --check")
    return 1 if stale else 0


def _show_difference(file: PendingWrite, old: bytes) -> None:
    """The lines that differ, on standard error."""
    from difflib import unified_diff

    lines = [text.decode("utf-8", "replace").splitlines(keepends=True) for text in (old, file.data)]
    for line in unified_diff(lines[0], lines[1], f"{file.path} (there)", f"{file.path} (to be)"):
        write_stderr(line.rstrip("\n") if line.endswith("\n") else f"{line}\n\\ No newline at end of file")


def _clock() -> float:
    """Seconds, to take a difference of."""
    from time import perf_counter

    return perf_counter()
