"""`ctxasm build`: write the assembled context to standard output or to files."""

from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

from contextasm.cli import output
from contextasm.cli.build_files import Reports, RequestedFiles, metrics_text, write_files
from contextasm.cli.command_line import Command
from contextasm.cli.options import LockedOption, QuietOption, prepare_context, run_build
from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import Flag, Options, Text, Texts
from contextasm.config.resolve import process_environment
from contextasm.config.workspace_folder import open_workspace
from contextasm.model import SHARED, Context, ContextasmError, Document, NamedTuple
from contextasm.rendering.formats import format_context
from contextasm.workspace.outputs import refuse_cited, refuse_links_out
from contextasm.workspace.reads import note_whole_output
from contextasm.workspace.recording import Read

if TYPE_CHECKING:
    from contextasm.config.build_timer import BuildTimer
    from contextasm.records.record import RecordingServices
    from contextasm.rendering.prometheus import BuildTimes


class BuildFlags(NamedTuple):
    """The flags that only `build` has, as typed."""

    # Types, not texts of types: each build reads them, and would compile the texts.

    output: Annotated[Text, Flag("Write to this file (`-` writes standard output).", "FILE", "-o")] = None
    into: Annotated[Texts, Flag("Write into a managed block of this file; repeatable.", "FILE")] = ()
    force: Annotated[bool, Flag("Replace a managed block that was edited by hand.")] = False
    remove: Annotated[bool, Flag("Remove the managed block from the files of --into, and build nothing.")] = False
    explain: Annotated[bool, Flag("Print the table of decisions on standard error.")] = False
    check: Annotated[bool, Flag("Write nothing; exit 1 with a diff if a file is stale.")] = False
    strict: Annotated[bool, Flag("Write nothing and exit 1 if there is a problem.")] = False
    if_none_match: Annotated[Text, Flag("Write nothing and exit 3 if the context has this etag.", "ETAG")] = None
    manifest: Annotated[Text, Flag("Write inputs, hashes, sections and tokens to this file.", "FILE")] = None
    metrics: Annotated[Text, Flag("Write metrics of the build to this Prometheus text file.", "FILE")] = None
    touch: Annotated[bool, Flag("Set the field `accessed` to today in each memory that the context shows.")] = False
    record: Annotated[bool, Flag("Write a record to .ctxasm/records/, for replay and diff.")] = False
    record_inputs: Annotated[bool, Flag("Write a record that also stores the contents of the inputs.")] = False
    locked: LockedOption = False
    quiet: QuietOption = False
    verbose: Annotated[bool, Flag("Print settings, figures and times on standard error.", names="-v")] = False

    @property
    def is_recorded(self) -> bool:
        """Whether a record is written."""
        return (self.record or self.record_inputs) and not self.check

    @property
    def takes_lock(self) -> bool:
        """Whether parts of files are written, for which the workspace's lock is held."""
        return bool(self.into or self.touch) and not self.check

    @property
    def needs_all_decisions(self) -> bool:
        """Whether every memory must have its decision, shown or not."""
        return bool(self.manifest or self.metrics or self.explain or self.is_recorded or self.touch)

    @property
    def shows_times(self) -> bool:
        """Whether the time of each step is printed."""
        return self.verbose and not self.quiet

    @property
    def reports(self) -> Mapping[str, str | None]:
        """The other files of a build, by their kinds; None for one that nobody asked for."""
        return {"manifest": self.manifest, "metrics": self.metrics}


def write_context(options: Options, *, flags: BuildFlags) -> int:
    """Write the assembled context to standard output or to a file.

    The receipt and all messages go to standard error.
    """
    _refuse_contradictions(flags)
    if flags.remove:
        return _remove_blocks(options, flags)
    files = RequestedFiles.named(flags.output, flags.into, flags.reports, check=flags.check)
    started = perf_counter()
    job = prepare_context(options, files.targets, locked=flags.locked)
    files.refuse_inputs(job)
    if flags.takes_lock:
        _recover(job, flags)
    job, files = _fitted(job, files, flags)
    recording = _start_recording(job) if flags.is_recorded else None
    chosen = job.in_full if flags.needs_all_decisions else job.build
    chosen = recording.listen(chosen) if recording else chosen
    timer = _start_timer(job) if flags.shows_times or flags.metrics is not None else None
    context = run_build(job, timer.timed(chosen) if timer else chosen, quiet=flags.quiet)
    _refuse_empty_index(context, job, files)
    refuse_cited(files.targets, job.workspace.root, context.cited)
    times = timer.times() if timer else None
    reports = _reports(job, context, times, flags)
    if flags.strict and context.problems:
        return output.strict_failure(context)
    known = (flags.if_none_match or "").removeprefix("W/").strip('"')
    is_known = known == context.etag and not files.any_missing
    if not (is_known or flags.check):
        _write(files, job, context, recording, reports, flags)
    if not flags.quiet:
        output.show_problems(context.problems)
        _write_summary(job, context, flags)
    if not (flags.touch or files.targets or recording):
        note_whole_output(is_timed=flags.shows_times)
    code = 3 if is_known else files.check(format_context(context), force=flags.force) if flags.check else 0
    if times and flags.shows_times:
        output.write_stderr(f"{(perf_counter() - started) * 1000:.0f} ms, of which {times.step_words}")
    return code


run = Command(write_context)


def _refuse_contradictions(flags: BuildFlags) -> None:
    """Raise `ContextasmError` for flags of which one has no effect because of the others."""
    if flags.check and flags.touch:
        raise ContextasmError("--touch", "--check writes nothing", "leave one of them out")
    if flags.check and flags.metrics is not None:
        raise ContextasmError("--metrics", "--check writes nothing", "leave one of them out")
    if flags.force and not flags.into:
        raise ContextasmError("--force", "needs a managed block", "name its file with --into FILE")
    if flags.remove and not flags.into:
        raise ContextasmError("--remove", "needs a managed block", "name its file with --into FILE")
    if flags.remove and flags._replace(into=(), force=False, remove=False, quiet=False) != BuildFlags():
        raise ContextasmError("--remove", "builds nothing", "use only --into, --force and -q with it")


def _remove_blocks(options: Options, flags: BuildFlags) -> int:
    """Take the managed blocks out of the files; returns the exit code, 0."""
    workspace = open_workspace(options, process_environment())
    files = RequestedFiles.named(None, flags.into, {}, check=False)
    refuse_links_out(files.targets, workspace.root)
    with files.settled(None, {}, workspace, force=flags.force, quiet=flags.quiet) as writes:
        write_files(writes, quiet=flags.quiet)
    return 0


def _recover(job: PreparedBuild, flags: BuildFlags) -> None:
    """Take back an interrupted application of upkeep before anything is read, not only when something is written."""
    from contextasm.cli.owner import recover_first

    with output.progress_line(f"waiting for another ctxasm to write in {job.workspace.root}", quiet=flags.quiet):
        recover_first(job.workspace, edits=flags.touch)


def _fitted(job: PreparedBuild, files: RequestedFiles, flags: BuildFlags) -> tuple[PreparedBuild, RequestedFiles]:
    """The build without what the files with its block say, and within the limits of a host if its profile names one."""
    if flags.into and not files.uses_stdout:
        from contextasm.cli.host_view import without_known

        job = without_known(job, files.targets, quiet=flags.quiet)
    if job.build.profile.fits:
        from contextasm.cli.host_cap import blocks_of, within_limits

        files = files._replace(targets=blocks_of(files.targets))
        job = within_limits(job, files.targets)
    return job, files


def _refuse_empty_index(context: Context, job: PreparedBuild, files: RequestedFiles) -> None:
    """Raise `ContextasmError` for a file of a host that would get an index of no memory."""
    if job.build.profile.fits and not context.sections and not files.uses_stdout:
        hint = "store memories with `ctxasm remember`, or name a folder of memories with -w DIR"
        raise ContextasmError(f"profile {job.build.profile.name}", "finds no memory, so nothing is written", hint)


def _write(
    files: RequestedFiles,
    job: PreparedBuild,
    context: Context,
    recording: "RecordingServices | None",
    reports: Reports,
    flags: BuildFlags,
) -> None:
    """Write the record, the files and standard output, and touch the memories."""
    workspace, text = job.workspace, format_context(context)
    if flags.touch:
        from contextasm.memories.storage import touch_shown

        touch_shown(workspace, context, dry_run=True)
    with files.settled(text, reports, workspace, force=flags.force, quiet=flags.quiet) as writes:
        if recording:
            from contextasm.records.replay import save_record

            stored = _stored_reads(context, recording) if flags.record_inputs else {}
            path = save_record(job, context, recording, stored)
            if not flags.quiet:
                output.write_stderr(f"{path}: recorded")
                if flags.record_inputs:
                    _show_left_out(context, recording, stored)
        write_files([file for file in writes if file[0].managed], quiet=flags.quiet)
    write_files([file for file in writes if not file[0].managed], quiet=flags.quiet)
    if flags.into and job.build.profile.host and not flags.quiet:
        from contextasm.cli.host_view import show_cut_blocks

        show_cut_blocks(job, files.targets)
    if files.uses_stdout:
        output.write_stdout(text)
    for kind in (kind for kind, path in flags.reports.items() if path == "-"):
        output.write_stdout(reports[kind])
    if flags.touch:
        output.show_problems(touch_shown(workspace, context))


def _write_summary(job: PreparedBuild, context: Context, flags: BuildFlags) -> None:
    """Write the receipt to standard error, after the tables that are asked for."""
    from contextasm.rendering.tables import decision_table, format_columns, rule_trace_table, section_rows
    from contextasm.rendering.wording import receipt

    if flags.explain:
        output.write_stderr_lines(format_columns(*decision_table(context.decisions, every=flags.verbose)))
    if flags.verbose:
        rows = [(key, f"{each.value or '-'} ({each.origin})") for key, each in job.settings.items() if "." not in key]
        rows.insert(0, ("workspace", job.workspace.root))
        output.write_stderr_lines(format_columns(("setting", "value"), rows, ()))
        sections = section_rows(context, job.build.counter)
        output.write_stderr_lines(format_columns(("layer", "section", "tokens", ""), sections, (2,)))
        entries = [(each.layer, f"{each.considered:,}", f"{each.kept:,}") for each in context.allowances]
        output.write_stderr_lines(format_columns(("layer", "considered", "kept"), entries, (1, 2)))
        layers = [layer for layer in job.build.profile.layers if layer.ranking.min_score and not layer.query.has_scores]
        if unlimited := ", ".join(layer.id for layer in layers if not layer.limits.required):
            output.write_stderr(f"min_score: no effect on {unlimited}, which have no scores")
        if any(trace.lost for trace in context.rule_traces):
            output.write_stderr_lines(format_columns(*rule_trace_table(context.rule_traces)))
        output.write_stderr(f"etag: {context.etag}")
        output.write_stderr(f"stable: the first {sum(each.tokens for each in context.stable_sections):,} tokens")
    output.write_stderr(receipt(context, job.taken))


def _start_timer(job: PreparedBuild) -> "BuildTimer":
    from contextasm.config.build_timer import BuildTimer

    return BuildTimer(job)


def _reports(job: PreparedBuild, context: Context, times: "BuildTimes | None", flags: BuildFlags) -> Reports:
    """The texts of the other files of a build, which took these times; None if it was not measured."""
    reports = {}
    if times and flags.metrics is not None:
        reports["metrics"] = metrics_text(context, times, job.workspace.root)
    if flags.manifest is not None:
        from contextasm.rendering.documents import ManifestDocument, manifest_data

        reports["manifest"] = output.format_json(ManifestDocument, manifest_data(context))
    return reports


def _start_recording(job: PreparedBuild) -> "RecordingServices":
    from contextasm.records.record import RecordingServices

    return RecordingServices(job.build)


def _stored_reads(context: Context, recording: "RecordingServices") -> Mapping[str, Read]:
    """The files to store with a record: none with a secret that is masked; of a shared context, nothing private."""
    # A copy: a source that is late may still be reading.
    reads = {path: read for path, read in recording.workspace.reads.copy().items() if isinstance(read, Document)}
    if context.request.audience == SHARED:
        whole = (each for each in context.documents if not each.lacks_private and not each.hidden_ids)
        reads = {document.path: document for document in whole}
    shows_secrets = context.request.privacy == "off"
    return {path: document for path, document in reads.items() if shows_secrets or not document.secrets}


def _show_left_out(context: Context, recording: "RecordingServices", stored: Mapping[str, Read]) -> None:
    """Say which files are not stored with a record: without them a replay elsewhere can't be the same."""
    from contextasm.text.names.matching import list_names

    reads = recording.workspace.reads.copy()
    missing = [path for path, read in sorted(reads.items()) if isinstance(read, Document) and path not in stored]
    if missing:
        count = f"{len(missing):,} files are" if missing[1:] else "1 file is"
        is_shared = context.request.audience == SHARED
        why = "because of secrets or private parts" if is_shared else "because of secrets"
        output.write_stderr(f"ctxasm: warning: --record-inputs: {count} not stored, {why}: {list_names(missing, 3)}")
