"""`ctxasm stats`: show what a workspace holds, how it grows, and what each layer needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from math import ceil
from typing import Annotated

from contextasm.cli import output
from contextasm.cli.command_line import Command
from contextasm.cli.host_view import ALL, HostFlags, read_hosts
from contextasm.cli.options import JsonOption, all_but, run_build
from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import Flag, Options, ProcessEnvironment
from contextasm.config.input.settings import load_settings_file
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.config.workspace_folder import attach_store, is_native, open_workspace
from contextasm.model import Context, ContextasmError, Document, Problem, TokenCounter
from contextasm.records.uses import count_uses
from contextasm.rendering.tables import Table
from contextasm.retrieval.reading.audience import for_audience
from contextasm.text.names.places import WORKSPACE_PATTERNS, any_owner_pattern
from contextasm.upkeep.feedback import FEEDBACK_DAYS
from contextasm.upkeep.stats import Contributor, Duplicate, Growth, OwnerSize, StatsDocument, WorkspaceStats, stats_data
from contextasm.workspace.folder import Folder

MOST_WEEKS = 520


def stats(
    options: Options,
    *,
    weeks: Annotated[int, Flag("Show the growth of the last N weeks.", "N", least=1, most=MOST_WEEKS)] = 12,
    top: Annotated[int, Flag("Show at most N contributors of each kind.", "N", least=1)] = 10,
    unshown: Annotated[int, Flag("Count memories not shown for this many days.", "DAYS", least=1)] = FEEDBACK_DAYS,
    json: JsonOption = False,
) -> None:
    """Show sizes by owner, growth by week, the largest files, authors, duplicates, and the tokens of a build.

    The build uses the same options. Growth is computed from the dates of logs and memories.
    With --audience shared, private parts count only in the bytes of files and in the files that hosts load.
    """
    process = process_environment()
    workspace = open_workspace(options, process)
    overlay = attach_store(workspace, load_settings_file(workspace), process, offline=options.offline)
    store_problems = overlay.refresh() if overlay else ()
    job, advice = _prepare(options, process, workspace)
    context = None if advice else run_build(job, job.build)
    reads = _read_files(job)
    documents = [read for read in reads if isinstance(read, Document)]
    day, counter = job.build.request.date, job.build.counter
    uses = count_uses(workspace.root, day, unshown)
    figures = WorkspaceStats(documents, counter, day, uses, job.build.profile.remember)
    problems = [*store_problems, *(read for read in reads if isinstance(read, Problem)), *uses.problems]
    growth, hosts = figures.growth(weeks), _host_tokens(workspace.root, counter)
    if job.counts:
        job.counts.save()
    output.show_taken("" if advice else job.taken)
    if json:
        data = stats_data(figures, growth, context, problems, top)
        output.write_json(StatsDocument, data | {"date": str(day), "tokenizer": counter.name, "hosts": hosts})
    else:
        tables = _tables(figures, growth, context, hosts, top)
        texts = (f"{output.shown_line(title)}\n{output.format_table(*table)}" for title, table in tables)
        output.write_stdout("\n".join(texts))
        output.show_problems(problems)
        output.show_lacking(documents, "counts")
        if advice:
            output.write_stderr(f"ctxasm: {advice}")


run = Command(stats, all_but("format"))


def _prepare(options: Options, process: ProcessEnvironment, workspace: Folder) -> tuple[PreparedBuild, str]:
    """The build whose layers are shown; one without layers, with what to do, if it is not said for which agent."""
    try:
        return prepare_build(options, process, workspace), ""
    except ContextasmError as error:
        if error.where != "agent":
            raise
        job = prepare_build(options, process, workspace, restrict_profile=lambda whole: whole._replace(layers=()))
        return job, f"the layers are left out: {error.hint}"


def _host_tokens(folder: str, counter: TokenCounter) -> Mapping[str, int]:
    """For each host in use in a folder, the tokens of the parts of files that it loads by itself."""
    readings = read_hosts(HostFlags(host=ALL), Options(workspace=folder), staged=False) or ()
    return {
        each.host.name: sum(counter.count(file.text[start:stop]) for file in each.files for start, stop in file.kept)
        for each in readings
    }


def _read_files(job: PreparedBuild) -> Sequence[Document | Problem | None]:
    """The files that the audience may see, in path order, with a problem for each that can't be read."""
    workspace = for_audience(job.build).workspace
    templates = [path for layer in job.build.profile.layers for path in layer.query.paths]
    named = [*WORKSPACE_PATTERNS, "agents/**/*.md.gz", "teams/**/*.md.gz"]  # archived logs, too
    if not (job.build.profile.agents or is_native(job.workspace)):
        named = [pattern for pattern in named if not pattern.startswith(("agents/", "teams/"))]
    patterns = dict.fromkeys([*named, *map(any_owner_pattern, templates)])
    paths = sorted({path for pattern in patterns for path in workspace.list(pattern)})
    return [workspace.read(path) for path in paths]


_BAR = 12
"""Columns of the longest bar."""

_LONGEST_TEXT = 60
"""Characters of a memory's text in a table."""


def _bar(value: int, most: int, whole: int) -> str:
    """A bar for a value if `most` has the whole width, with dots for the rest of `whole`."""
    columns, all_columns = (ceil(number * _BAR / max(most, 1)) for number in (value, whole))
    return ("#" * columns).ljust(all_columns, ".")


def _tables(
    stats: WorkspaceStats, growth: Growth, context: Context | None, hosts: Mapping[str, int], top: int
) -> Iterator[tuple[str, Table]]:
    """All tables, each with its title; of contributors and duplicates, `top` at most."""
    yield f"Sizes by owner ({_unshown_words(stats.uses.days_of_builds())})", _owner_table(stats.owners)
    yield f"Growth a week{_growth_words(growth)}", _growth_table(growth)
    yield from _contributor_table("Largest files", "file", stats.files, top)
    yield from _contributor_table("Types of memories", "type", stats.types, top)
    yield from _contributor_table("Authors of memories", "author", stats.authors, top)
    if stats.duplicates:
        yield _duplicates_title(stats.duplicates, top), _duplicate_table(stats.duplicates[:top])
    if context:
        yield _start_title(context), _layer_table(context)
    if hosts:
        yield ("Tokens that a host loads", _bar_table(("host", "tokens"), [*hosts.items()], [*hosts.values()]))


def _bar_table(header: Sequence[str], rows: Sequence[Sequence[str | int]], values: Sequence[int], *whole: int) -> Table:
    """A table of names and figures with a bar for each of the values, up to the whole ones."""
    whole = whole or (*values,)
    most = max(whole, default=0)
    cells = [
        (*(f"{cell:,}" if isinstance(cell, int) else cell for cell in row), _bar(value, most, rest))
        for row, value, rest in zip(rows, values, whole, strict=True)
    ]
    return (*header, ""), cells, range(1, len(header))


def _owner_table(owners: Sequence[OwnerSize]) -> Table:
    header = ("owner", "files", "logs", "memories", "active", "unshown", "bytes", "tokens")
    rows = [
        (each.owner, each.files, each.logs, each.memories, each.active_memories, unshown, each.bytes, each.tokens)
        for each in owners
        for unshown in ["-" if each.unshown_memories is None else each.unshown_memories]
    ]
    return _bar_table(header, rows, [owner.tokens for owner in owners])


def _unshown_words(days: Sequence[date]) -> str:
    if not days:
        return "unshown memories are not known: no recent build has a record; `ctxasm build --record` writes one"
    span = " to ".join(dict.fromkeys(map(str, (days[0], days[-1]))))
    return f"unshown: active memories that recorded builds could show and did not; builds: {len(days):,}, {span}"


def _growth_words(growth: Growth) -> str:
    counts = (("older", growth.earlier), ("in the future", growth.later), ("without a date", growth.undated))
    words = ", ".join(f"{count:,} {what}" for what, count in counts if count)
    return f" (logs and memories that are not shown: {words})" if words else ""


def _growth_table(growth: Growth) -> Table:
    rows = [
        (str(week.monday), week.logs, week.memories, f"+{week.tokens:,}" if week.tokens else "0")
        for week in growth.weeks
    ]
    return _bar_table(("week of", "logs", "memories", "tokens"), rows, [week.tokens for week in growth.weeks])


def _contributor_table(
    title: str, noun: str, contributors: Sequence[Contributor], top: int
) -> Iterator[tuple[str, Table]]:
    """The table of the first `top` contributors; no table if there are none."""
    if rows := [(each.name, each.memories, each.tokens) for each in contributors[:top]]:
        count = f": {top:,} of {len(contributors):,}" if len(contributors) > top else ""
        yield title + count, _bar_table((noun, "memories", "tokens"), rows, [row[2] for row in rows])


def _duplicates_title(duplicates: Sequence[Duplicate], top: int) -> str:
    count, tokens = len(duplicates), sum(tokens for *_, tokens in duplicates)
    shown = f", the {top:,} largest" if count > top else ""
    return f"Duplicates: {count:,} memor{'y' if count == 1 else 'ies'}, {tokens:,} tokens{shown}"


def _duplicate_table(duplicates: Sequence[Duplicate]) -> Table:
    rows = []
    for memory, same, share, tokens in duplicates:
        places = (f"{memory.path}:{memory.line}", f"{same.path}:{same.line}")
        text = _shortened(" ".join(memory.text.split()), _LONGEST_TEXT)
        rows.append((*places, f"{int(share * 100)} %", f"{tokens:,}", text))
    return ("memory", "says the same as", "alike", "tokens", "text"), rows, (2, 3)


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


def _start_title(context: Context) -> str:
    request = context.request
    owners = " and ".join(filter(None, (request.agent, request.team)))
    figures = f"{context.tokens:,} of {request.budget:,} tokens (profile {context.profile})"
    return f"A build{f' for {owners}' if owners else ''}: {figures}"


def _layer_table(context: Context) -> Table:
    usages = context.allowances
    rows = [
        (each.layer, "-" if each.limit is None else each.limit, each.wanted, each.used, max(0, each.wanted - each.used))
        for each in usages
    ]
    wanted = [usage.wanted for usage in usages]
    return _bar_table(("layer", "limit", "needs", "gets", "lacks"), rows, [each.used for each in usages], *wanted)
