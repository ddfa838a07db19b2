"""`ctxasm stats`: show what a workspace holds, how it grows, and what each layer needs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import JsonOption, all_but, run_build, takes_options
from contextasm.cli.output import format_json, show_problems, show_taken, write_stderr, write_stdout
from contextasm.config.options import Options

if TYPE_CHECKING:
    from contextasm.config.build import PreparedBuild
    from contextasm.config.options import ProcessEnvironment
    from contextasm.model import Document, Problem, TokenCounter
    from contextasm.workspace.folder import Folder

MOST_WEEKS = 520


def stats(
    options: Options,
    *,
    weeks: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST_WEEKS, help="Show the growth of the last N weeks.")
    ] = 12,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Show at most N of each kind of contributor.")] = 10,
    json: JsonOption = False,
) -> int:
    """Show sizes by owner, growth a week, the largest files, authors, duplicates, and what each layer needs.

    The layers are those of a build with the same options. Growth goes by the dates in names of logs and in memories.
    """
    from contextasm.cli.stats_view import stats_text
    from contextasm.config.resolve import process_environment
    from contextasm.config.settings import load_settings_file
    from contextasm.config.workspace_folder import attach_store, open_workspace
    from contextasm.upkeep.stats import workspace_stats
    from contextasm.upkeep.stats_data import stats_data

    process = process_environment()
    workspace = open_workspace(options, process)
    overlay = attach_store(workspace, load_settings_file(workspace), process, offline=options.offline)
    store_problems = overlay.refresh() if overlay else ()
    job, advice = _prepare(options, process, workspace)
    context = run_build(job, job.build) if job else None
    day, counter = _day_and_counter(options, process, workspace, job)
    documents, file_problems = _read_files(workspace, job)
    problems = [*store_problems, *file_problems]
    figures = workspace_stats(documents, day, counter, weeks)
    if job and job.counts:
        job.counts.save()
    show_taken(job.taken if job else "")
    if json:
        write_stdout(format_json(stats_data(figures, context, problems, day, counter.name, top)))
    else:
        write_stdout(stats_text(figures, context, top))
        show_problems(problems)
        if advice:
            write_stderr(f"ctxasm: {advice}")
    return 0


run = takes_options(stats, all_but("format"))


def _prepare(options: Options, process: ProcessEnvironment, workspace: Folder) -> tuple[PreparedBuild | None, str]:
    """The build whose layers are shown; None, with what to do, where it is not said for which agent."""
    from contextasm.config.resolve import prepare_build
    from contextasm.model import ContextasmError

    try:
        return prepare_build(options, process, workspace), ""
    except ContextasmError as error:
        if error.where != "agent":
            raise
        return None, f"the layers are left out: {error.hint}"


def _day_and_counter(
    options: Options, process: ProcessEnvironment, workspace: Folder, job: PreparedBuild | None
) -> tuple[date, TokenCounter]:
    """The day that counts as today, and the counter of tokens."""
    if job:
        return job.build.request.date, job.build.counter
    from contextasm.config.build import load_counter
    from contextasm.config.resolve import resolve_date
    from contextasm.config.settings import load_settings_file, resolve_settings

    flags = {"date": options.date, "tz": options.tz, "tokenizer": options.tokenizer}
    settings = resolve_settings(flags, process.environment, load_settings_file(workspace))
    day = resolve_date(settings, process).value
    assert isinstance(day, date)
    return day, load_counter(str(settings["tokenizer"].value), process.environment)[0]


def _read_files(workspace: Folder, job: PreparedBuild | None) -> tuple[Sequence[Document], Sequence[Problem]]:
    """The files of the workspace in path order, and the problems of those that can't be read."""
    from contextasm.checks.inspection import WORKSPACE_PATTERNS, any_owner_pattern
    from contextasm.model import Document, Problem

    templates = [path for layer in job.build.profile.layers for path in layer.query.paths] if job else []
    patterns = dict.fromkeys([*WORKSPACE_PATTERNS, *_COMPRESSED, *map(any_owner_pattern, templates)])
    paths = sorted({path for pattern in patterns for path in workspace.list(pattern)})
    reads = [workspace.read(path) for path in paths]
    documents = [read for read in reads if isinstance(read, Document)]
    return documents, [read for read in reads if isinstance(read, Problem)]


_COMPRESSED = ("agents/**/*.md.gz", "teams/**/*.md.gz")
"""Archived logs."""
