"""`ctxasm search`: find memories for a topic, ranked as a build with this topic ranks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from contextasm.cli import output
from contextasm.cli.command_line import Argument, Command, flag_names
from contextasm.cli.options import JsonOption, QuietOption
from contextasm.config.input.options import USED_IN_SEARCH, Flag, Options
from contextasm.config.owners import owner_folder
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.memories.search import best_memories, searched_topic
from contextasm.model import ContextasmError, Problem
from contextasm.rendering.documents import HitData, hit_data
from contextasm.rendering.json_codec import Count
from contextasm.rendering.tables import hit_rows
from contextasm.retrieval.reading.audience import for_audience
from contextasm.text.names.places import OwnerKind
from contextasm.upkeep.archive import ArchiveHit, search_archives


class SearchDocument(TypedDict):
    """Memories that answer a topic, as `ctxasm search --json` prints them."""

    schema: Literal["ctxasm.search/1"]
    searched: Count
    """How many memories were searched."""
    hits: list[HitData]
    """The memories that match, the best first."""


class ArchiveSearchDocument(TypedDict):
    """Archived texts that answer a topic, as `ctxasm search --archive --json` prints them."""

    schema: Literal["ctxasm.archive-search/1"]
    searched: Count
    """How many archived texts were searched."""
    hits: list[ArchiveHit]
    """The texts that match, the best first."""


def show_hits(
    options: Options,
    *,
    text: Annotated[str, Argument("TEXT", "The text to search for (`-` reads standard input).")],
    everywhere: Annotated[
        bool, Flag("Search the memories of every agent, every team and the project.", names="--all")
    ] = False,
    archive: Annotated[bool, Flag("Search what `tidy` has archived.")] = False,
    top: Annotated[int, Flag("Show at most N hits.", "N", least=1)] = 5,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Find memories for a topic, and show the parts of each score.

    --agent and --team limit the search to their memories; otherwise it covers what a build would search. --archive
    without a name searches the archives of all agents and teams. The exit code is 1 if nothing matches.
    """
    typed = output.read_stdin("search -", "text") if text == "-" else text
    if archive:
        topic = searched_topic(options, typed, everywhere=everywhere)
        return _search_archives(options, topic, top, json=json, quiet=quiet)
    with output.progress_line("searching", quiet=quiet):
        found = best_memories(options, typed, process_environment(), everywhere=everywhere, top=top)
    output.show_taken("" if quiet else found.taken)
    if json:
        hits = [hit_data(*hit) for hit in found.hits]
        output.write_json(SearchDocument, {"searched": found.searched, "hits": hits})
    elif found.hits:
        output.write_table(*hit_rows(found.hits))
    if quiet:
        return int(not found.hits)
    one = "memory" if found.noun == "memories" else "line"
    return _show_search(found.hits, found.searched, found.problems, found.noun, f"no {one} to search was found")


run = Command(show_hits, USED_IN_SEARCH)


def _search_archives(options: Options, topic: str, top: int, *, json: bool, quiet: bool) -> int:
    _refuse_options_of_builds(options)
    unnamed = options._replace(agent=None, team=None)  # archives outlast the files that make an owner of a build
    job = prepare_build(unnamed, process_environment(), restrict_profile=lambda whole: whole._replace(layers=()))
    output.show_taken("" if quiet else job.taken)
    workspace = for_audience(job.build).workspace
    names: Mapping[OwnerKind, str | None] = {"agent": options.agent, "team": options.team}
    owners = [owner_folder(workspace, kind, name, f"--{kind}") for kind, name in names.items() if name]
    hits, searched, problems = search_archives(workspace, owners or [""], topic)
    hits = hits[:top]
    if json:
        output.write_json(ArchiveSearchDocument, {"searched": searched, "hits": hits})
    elif hits:
        rows = [
            (f"{hit.similarity:.3f}", f"{hit.path}:{hit.line}", hit.day, " ".join(hit.text.split())) for hit in hits
        ]
        output.write_table(("score", "where", "day", "text"), rows, (0,))
    if quiet:
        return int(not hits)
    return _show_search(hits, searched, problems, "archived texts", "no archive was found")


def _show_search(hits: Sequence[object], searched: int, problems: Sequence[Problem], noun: str, nothing: str) -> int:
    """Write problems, and a line for no hit; returns the exit code. `nothing` is said if nothing was `searched`."""
    output.show_problems(problems)
    if not hits:
        output.write_stderr(f"ctxasm: {f'none of {searched:,} {noun} matches' if searched else nothing}")
    return 0 if hits else 1


def _refuse_options_of_builds(options: Options) -> None:
    """Raise `ContextasmError` for an option that a search in archives does not know."""
    for field, default in Options._field_defaults.items():
        if field not in {"workspace", "agent", "team", "audience"} and getattr(options, field) != default:
            what = "archives are searched only by their words"
            raise ContextasmError("--archive", what, f"leave out {flag_names(field)[0]}")
