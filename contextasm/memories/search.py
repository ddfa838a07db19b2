"""A search for memories: the build whose layers search the memories that are meant, and its best hits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import UNUSED_IN_SEARCH, Options, ProcessEnvironment
from contextasm.config.resolve import prepare_build
from contextasm.model import SHARED, ContextasmError, Memory, Problem, Profile, Score, SourceQuery
from contextasm.retrieval.pool import MEMORIES, read_pool, topic_hits
from contextasm.retrieval.reading.audience import for_audience
from contextasm.retrieval.reading.files import query_paths
from contextasm.text.names.places import MEMORY_FILES
from contextasm.text.names.templates import placeholders


class SearchResult(NamedTuple):
    """The results of a search."""

    hits: tuple[tuple[Memory, Score], ...]
    """Memories with their score parts and `total`, best first."""
    searched: int
    """Number of active memories that were searched."""
    problems: tuple[Problem, ...]
    """Of the request, of files that can't be read, and of memories that are not as they should be."""
    taken: str = ""
    """Why this profile was taken, in a folder without settings; empty if the settings or the options name it."""


def best_memories(
    options: Options,
    text: str,
    process: ProcessEnvironment,
    *,
    everywhere: bool,
    top: int,
    watch: Callable[[PreparedBuild], AbstractContextManager[None]] = lambda _prepared: nullcontext(),
) -> SearchResult:
    """The `top` best memories for a text, ranked as a build with this topic ranks them.

    They are the memories of the agent or team that the options name, or of both; without a name, the ones that a build
    would search; with `everywhere`, all memories of agents, teams and the project. The search runs inside of what
    `watch` makes of it, such as to show its progress. Raises `ContextasmError`.
    """
    topic = searched_topic(options, text, everywhere=everywhere)
    narrow = _narrowing(options, everywhere=everywhere, top=top)
    prepared = prepare_build(options._replace(topic=topic), process, restrict_profile=narrow)
    with watch(prepared):
        return _search_layers(prepared, top)


def searched_topic(options: Options, text: str, *, everywhere: bool) -> str:
    """The text without blanks around it.

    Raises `ContextasmError` for a blank text, for an owner with `everywhere`, and for an option without an effect.
    """
    if not (topic := text.strip()):
        raise ContextasmError("search", "the text is blank", "give some words to search for")
    if unused := next((name for name in UNUSED_IN_SEARCH if getattr(options, name)), ""):
        raise ContextasmError(unused, "has no effect on a search", "leave it out")
    if everywhere and (options.agent or options.team):
        raise ContextasmError("--all", "searches every agent and team", "leave out --agent and --team")
    return topic


def memory_of_id(options: Options, name: str, process: ProcessEnvironment, *, everywhere: bool) -> Memory:
    """The memory with this id among the ones that a search of the same options would search, active or not.

    Raises `ContextasmError` if the audience may see no such memory.
    """
    narrow = _narrowing(options, everywhere=everywhere, top=1)
    build = for_audience(prepare_build(options, process, restrict_profile=narrow).build)
    for layer in build.profile.layers:
        pool = read_pool(build.workspace, MEMORIES, query_paths(SourceQuery(build, layer)))
        for memory in pool.all_entries:
            if memory.id == name and not (memory.private and build.request.audience == SHARED):
                return memory
    raise ContextasmError("id", f"no memory {name}", "`ctxasm search` shows the ids")


def _narrowing(options: Options, *, everywhere: bool, top: int) -> Callable[[Profile], Profile]:
    """A function that leaves of a profile the layers that search the memories of the named owners."""
    kinds = [kind for kind in ("agent", "team") if getattr(options, kind)] or ["agent", "team"]

    def narrow(profile: Profile) -> Profile:
        searching = [
            layer._replace(ranking=layer.ranking._replace(top=top))
            for layer in profile.layers
            if any(source.holds_memories and source.answers_topic for source in layer.query.traits)
        ]
        if everywhere:
            searching = [layer._replace(query=layer.query._replace(paths=MEMORY_FILES)) for layer in searching[:1]]
        layers = [
            layer
            for layer in searching
            if all(name in kinds for path in layer.query.paths for name in placeholders(path))
        ]
        if not layers:
            what = f"searches no memories of the {' and '.join(kinds)} only" if searching else "searches no memories"
            hint = "name another profile with -p, or use --all" if searching else _other_search(profile)
            raise ContextasmError(f"profile {profile.name}", what, hint)
        return profile._replace(layers=tuple(layers))

    return narrow


def _other_search(profile: Profile) -> str:
    """Advice for a person whose profile has no layer that searches memories."""
    if any(source.is_log and source.answers_topic for layer in profile.layers for source in layer.query.traits):
        return "`ctxasm build --topic WORDS` shows the lines of its logs that match; or name another profile with -p"
    return "name a profile of memories with -p; `ctxasm profiles` lists them"


def _search_layers(prepared: PreparedBuild, top: int) -> SearchResult:
    """The best hits of all layers."""
    build = for_audience(prepared.build)
    results = [topic_hits(SourceQuery(build, layer)) for layer in build.profile.layers]
    hits = [hit for found, _, _ in results for hit in found]
    hits.sort(key=lambda hit: (hit[0].path, -hit[0].line))
    hits.sort(key=lambda hit: (dict(hit[1])["total"], hit[0].created), reverse=True)
    problems = dict.fromkeys([*build.problems, *(problem for _, _, own in results for problem in own)])
    return SearchResult(tuple(hits[:top]), sum(searched for _, searched, _ in results), tuple(problems), prepared.taken)
