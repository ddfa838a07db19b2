"""`ctxasm watch`: build, and build again whenever an input changes."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from contextasm.cli.build_files import metrics_text
from contextasm.cli.command_line import Command, collect_garbage
from contextasm.cli.host_cap import within_limits
from contextasm.cli.host_view import without_known
from contextasm.cli.options import LockedOption, QuietOption
from contextasm.cli.output import has_live_line, show_problems, show_taken, write_json, write_stderr
from contextasm.config.build import Counters, PreparedBuild
from contextasm.config.build_timer import BuildTimer
from contextasm.config.input.options import Flag, Options, ProcessEnvironment, Text, Texts
from contextasm.config.inputs import build_inputs
from contextasm.config.profiles.loader import profile_files
from contextasm.config.resolve import prepare_build, process_environment, today
from contextasm.config.workspace_folder import open_with_replica, workspace_folder
from contextasm.model import Context, ContextasmError, Problem
from contextasm.rendering.documents import ProblemData, problem_data
from contextasm.rendering.formats import format_context
from contextasm.rendering.json_codec import Count, Digest
from contextasm.rendering.prometheus import source_errors
from contextasm.text.names.matching import list_names
from contextasm.workspace.outputs import REPORTS, OutputFile, output_files
from contextasm.workspace.watch.loop import watch_workspace
from contextasm.workspace.watch.rebuild import BuildResult, Rebuild, Rescan, WatchSpec


def watch(
    options: Options,
    *,
    output: Annotated[Text, Flag("Keep this file up to date.", "FILE", "-o")] = None,
    into: Annotated[Texts, Flag("Keep the managed block of this file up to date; repeatable.", "FILE")] = (),
    command: Annotated[Text, Flag("Run this shell command if an output file changes.", "CMD", "--exec")] = None,
    metrics: Annotated[Text, Flag("Write metrics of each build to this Prometheus text file.", "FILE")] = None,
    poll: Annotated[float | None, Flag("Scan the files at this interval instead of using events.", "SECONDS")] = None,
    locked: LockedOption = False,
    json: Annotated[bool, Flag("Print each event as one line of JSON.")] = False,
    quiet: QuietOption = False,
    verbose: Annotated[bool, Flag("Print the reason and the time of each build.", names="-v")] = False,
) -> int:
    """Build, and build again after each change of an input, until interrupted.

    A file is written only if its content changes. After an error, all files stay as they are, and the watch continues.
    """
    collect_garbage()
    taken: list[str] = []
    spec = _watch_spec(options, _output_files(output, into, metrics, poll), taken, locked=locked)
    if json:
        return watch_workspace(spec, WatchEvents(spec.root), command or "", poll)
    messages = _Messages(spec.root, taken, quiet=quiet, verbose=verbose)
    return watch_workspace(spec, messages, command or "", poll)


run = Command(watch)


def _output_files(
    output: str | None, into: Sequence[str], metrics: str | None, poll: float | None
) -> Sequence[OutputFile]:
    """The files to write, at least one with the text.

    Raises `ContextasmError`, also for a `poll` that is not an interval.
    """
    if poll is not None and not 0 < poll < 1e6:  # NaN is not, either
        raise ContextasmError("--poll", f"{poll:g} is not a number of seconds above 0", "write one such as 2 or 0.5")
    if output is not None or into:
        return output_files(output, into, metrics=metrics)
    raise ContextasmError("ctxasm watch", "no file is named", "name one with -o FILE or --into FILE")


def _watch_spec(options: Options, targets: Sequence[OutputFile], taken: list[str], *, locked: bool) -> WatchSpec:
    """Workspace, build and files of a watch. Raises `ContextasmError` without a workspace.

    Each build puts into `taken` what it says about the profile of a folder without settings.
    """
    process = process_environment()
    root = workspace_folder(options, process)
    overlay = open_with_replica(root, process, offline=options.offline).overlay
    counters: Counters = {}
    profile = options.profile or process.environment.get("CTXASM_PROFILE") or ""

    def prepare(disk: Rescan) -> PreparedBuild:
        job = prepare_build(options, process, disk, counters, targets=targets)
        if job.build.profile.fits:
            if not all(target.managed or target.kind in REPORTS for target in targets):
                raise ContextasmError("-o", "the profile writes a managed block", "name its file with --into FILE")
            job = within_limits(job, targets)
        job = without_known(job, targets, quiet=True)
        taken[:] = [job.taken] if job.taken else []
        return job.with_lock(process.environment, locked=locked)

    is_measured, errors = any(target.kind == "metrics" for target in targets), 0

    def build(disk: Rescan) -> BuildResult:
        nonlocal errors  # of sources, in all builds so far
        job = prepare(disk)
        timer = BuildTimer(job)
        context = job.run(timer.timed(job.in_full))
        metrics = metrics_text(context, timer.times(errors), job.workspace.root) if is_measured else ""
        errors += source_errors(context)
        return _build_result(job, context, metrics, process)

    return WatchSpec(
        root=Path(os.path.abspath(root)),
        build=build,
        targets=targets,
        others=lambda: profile_files(profile, process.folder),
        overlay=overlay,
    )


def _build_result(job: PreparedBuild, context: Context, metrics: str, process: ProcessEnvironment) -> BuildResult:
    """The context with the inputs that its build has outside the workspace."""
    profile = job.settings["profile"]
    folder = job.workspace.root if profile.origin.startswith("ctxasm.yaml") else process.folder
    files = profile_files(str(profile.value), folder)
    is_clock, zone = job.settings["date"].origin.startswith("the clock"), str(job.settings["tz"].value)
    day = (lambda: today(zone, process.now())) if is_clock else None
    return BuildResult(context, format_context(context), day, files, build_inputs(job, process.folder), metrics)


class _Messages:
    """The messages of a watch; what the previous build said about a problem or a file is not repeated."""

    def __init__(self, root: Path, taken: list[str], *, quiet: bool, verbose: bool) -> None:
        self._root = root
        self._taken = taken
        self._taken_before: list[str] = []
        self._quiet = quiet
        self._verbose = verbose
        self._problems: frozenset[Problem] = frozenset()
        self._file_errors: frozenset[str] = frozenset()

    def ready(self) -> None:
        """Write that the first build is done, and that changes are seen from now on."""
        if not self._quiet:
            write_stderr(f"ctxasm: watching {self._root}; press Ctrl-C to stop")

    def report(self, rebuild: Rebuild) -> None:
        """Write a line for the build and one for each new problem."""
        for error in rebuild.errors:
            if error not in self._file_errors:
                write_stderr(f"ctxasm: error: {error}")
        self._file_errors = frozenset(rebuild.errors if rebuild.context else ())
        if self._quiet or not rebuild.context:
            return
        if self._taken != self._taken_before:
            self._taken_before = [*self._taken]
            show_taken("".join(self._taken))
        problems = [problem for problem in rebuild.context.problems if problem not in self._problems]
        show_problems(problems)
        self._problems = frozenset(rebuild.context.problems)
        if rebuild.written or rebuild.unchanged:
            write_stderr(_rebuild_line(rebuild, rebuild.context, verbose=self._verbose))

    def warn(self, message: str) -> None:
        """Write a warning that belongs to no build."""
        write_stderr(f"ctxasm: warning: {message}")


def _rebuild_line(rebuild: Rebuild, context: Context, *, verbose: bool) -> str:
    """The files that changed, else those that are up to date already, with the tokens; on a terminal with the time."""
    written = rebuild.written
    files = ", ".join(map(str, written or rebuild.unchanged))
    files = f"{time.strftime('%H:%M:%S')} {files}" if has_live_line() else files
    tokens = f"{context.tokens:,} of {context.request.budget:,} tokens"
    line = f"{files}: {'written' if written else 'unchanged'}: {tokens}"
    if not verbose:
        return line
    return f"{line} (for {list_names(rebuild.why, 3)}; {rebuild.seconds * 1000:.0f} ms)"


class WatchEvents:
    """Writes each event of a watch to standard output as soon as it happens."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def ready(self) -> None:
        """The first build is done, and changes are seen from now on."""
        write_json(WatchingEvent, {"workspace": str(self._root)}, indent=None)

    def report(self, rebuild: Rebuild) -> None:
        """A build was made or failed; its problems and errors belong to it."""
        result: dict[str, object] = {"tokens": None, "budget": None, "etag": None, "problems": ()}
        if context := rebuild.context:
            problems = [*map(problem_data, context.problems)]
            result = context.request._asdict() | context._asdict() | {"problems": problems}
        paths = {"written": [*map(str, rebuild.written)], "unchanged": [*map(str, rebuild.unchanged)]}
        write_json(BuildEvent, result | rebuild._asdict() | paths, indent=None)

    def warn(self, message: str) -> None:
        """A warning that belongs to no build."""
        write_json(WarningEvent, {"message": message}, indent=None)


class WatchingEvent(TypedDict):
    """The first event once changes are seen, as `ctxasm watch --json` prints it in one line."""

    schema: Literal["ctxasm.watch/1"]
    event: Literal["watching"]
    workspace: str
    """The folder that is watched."""


class BuildEvent(TypedDict):
    """A build that was made or failed, as `ctxasm watch --json` prints it in one line."""

    schema: Literal["ctxasm.watch/1"]
    event: Literal["build"]
    why: list[str]
    """The paths that changed, or `start`."""
    written: list[str]
    """The files that were written."""
    unchanged: list[str]
    """The files that were current already."""
    tokens: Count | None
    """The tokens of the context; null if the build failed."""
    budget: Count | None
    """The tokens that it may have; null if the build failed."""
    etag: Digest | None
    """The SHA-256 of the document; null if the build failed."""
    errors: list[str]
    """What made the build, or an output, fail."""
    problems: list[ProblemData]
    """What was wrong but did not stop the build."""


class WarningEvent(TypedDict):
    """A warning that belongs to no build, as `ctxasm watch --json` prints it in one line."""

    schema: Literal["ctxasm.watch/1"]
    event: Literal["warning"]
    message: str
    """The warning."""
