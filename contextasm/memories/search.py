"""A search for memories: the build whose layers search the memories that are meant, and its best hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import USED_IN_SEARCH, Options, ProcessEnvironment
from contextasm.config.resolve import prepare_build
from contextasm.model import (
    LENGTH_PENALTY,
    SHARED,
    Build,
    ContextasmError,
    EntryPool,
    Layer,
    Memory,
    Problem,
    Profile,
    Score,
    SourceQuery,
)
from contextasm.model.named_tuple import NamedTuple
from contextasm.retrieval.pool import (
    MEMORIES,
    ReadPool,
    TopicHits,
    outside_code,
    read_pool,
    searched_memories,
    topic_hits,
    use_pool,
    with_validity,
)
from contextasm.retrieval.reading.audience import SharedWorkspace, for_audience
from contextasm.retrieval.reading.files import logs_in_display_order, query_paths
from contextasm.retrieval.sources.log_search import line_matches, log_lines
from contextasm.text.markdown.logs import LogLine
from contextasm.text.names.places import MEMORY_FILES
from contextasm.text.names.templates import fill_template, placeholders


class SearchResult(NamedTuple):
    """The results of a search."""

    hits: tuple[tuple[Memory, Score], ...]
    """Memories with their score parts and `total`, best first; a line of a log is one with its place as the id."""
    searched: int
    """Number of active memories that were searched, or of lines."""
    problems: tuple[Problem, ...]
    """Of the request, of files that can't be read, and of memories that are not as they should be."""
    taken: str = ""
    """Why this profile was taken, in a folder without settings; empty if the settings or the options name it."""
    noun: str = "memories"
    """What was searched: `memories`, or `lines` of logs."""
    lacks_private: bool = False
    """Whether private parts of the files are left out for the audience."""


def best_memories(
    options: Options, text: str, process: ProcessEnvironment, *, everywhere: bool, top: int
) -> SearchResult:
    """The `top` best memories for a text, ranked as a build with this topic ranks them.

    They are the memories of the agent or team that the options name, or of both; without a name, the ones that a build
    would search; with `everywhere`, all memories of agents, teams and the project. Raises `ContextasmError`.
    """
    topic = searched_topic(options, text, everywhere=everywhere)
    narrow = _narrowing(options, everywhere=everywhere, top=top)
    prepared = prepare_build(options._replace(topic=topic), process, restrict_profile=narrow)
    return _search_layers(prepared, top)


def searched_topic(options: Options, text: str, *, everywhere: bool) -> str:
    """The text without blanks around it.

    Raises `ContextasmError` for a blank text, for an owner with `everywhere`, and for an option without an effect.
    """
    if not (topic := text.strip()):
        raise ContextasmError("search", "the text is blank", "give some words to search for")
    if unused := next((name for name in Options._fields if name not in USED_IN_SEARCH and getattr(options, name)), ""):
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
        paths = [*query_paths(SourceQuery(build, layer)), *(_own_file(build) if _has_lines(layer) else ())]
        pool = read_pool(build.workspace, MEMORIES, paths)
        for memory in pool.all_entries:
            if memory.id == name and not (memory.private and build.request.audience == SHARED):
                return memory
    raise ContextasmError("id", f"no memory has the id `{name}`", "`ctxasm search` shows the ids")


def _narrowing(options: Options, *, everywhere: bool, top: int) -> Callable[[Profile], Profile]:
    """A function that leaves of a profile the layers that search the memories of the named owners."""
    kinds = [kind for kind in ("agent", "team") if getattr(options, kind)] or ["agent", "team"]

    def narrow(profile: Profile) -> Profile:
        answering = [
            layer._replace(ranking=layer.ranking._replace(top=top), locked=False)
            for layer in profile.layers
            if any(source.answers_topic for source in layer.query.traits)
        ]
        searching = [layer for layer in answering if not _has_lines(layer)]
        if everywhere and searching:
            own = [path for path in searching[0].query.paths if not placeholders(path)]
            query = searching[0].query._replace(paths=tuple(dict.fromkeys((*MEMORY_FILES, *own))))
            searching = [searching[0]._replace(query=query)]
        if not searching:  # The notes of such a profile are its memories.
            searching = answering
        layers = [
            layer
            for layer in searching
            if all(name in kinds for path in layer.query.paths for name in placeholders(path))
        ]
        if not layers:
            what = f"searches no memories of only the {' and '.join(kinds)}" if searching else "searches no memories"
            other = "name a profile of memories with -p; `ctxasm profiles` lists them"
            hint = "name another profile with -p, or use --all" if searching else other
            raise ContextasmError(f"profile {profile.name}", what, hint)
        return profile._replace(layers=tuple(layers))

    return narrow


def _has_lines(layer: Layer) -> bool:
    """Whether a layer that answers a topic shows lines of logs."""
    return any(source.is_log for source in layer.query.traits)


def _search_layers(prepared: PreparedBuild, top: int) -> SearchResult:
    """The best hits of all layers."""
    build = for_audience(prepared.build)
    layers = build.profile.layers
    if (semantics := build.semantics.get("memories")) and not any(map(_has_lines, layers)):
        # The embedder is asked once for the memories of all layers; of its vectors each layer then uses its own.
        memories = (memory for layer in layers for memory in searched_memories(SourceQuery(build, layer)))
        semantics(build.request.topic, [memory.text for memory in memories])
    results = [(_line_hits if _has_lines(layer) else topic_hits)(SourceQuery(build, layer)) for layer in layers]
    today = build.request.date
    hits = [
        (memory._replace(text=with_validity(memory.text, memory, today)), score)
        for found, _, _ in results
        for memory, score in found
    ]
    hits.sort(key=lambda hit: (hit[0].path, -hit[0].line))
    hits.sort(key=lambda hit: (dict(hit[1])["total"], hit[0].created), reverse=True)
    problems = dict.fromkeys([*build.problems, *(problem for _, _, own in results for problem in own)])
    searched = sum(searched for _, searched, _ in results)
    noun = "lines" if any(map(_has_lines, layers)) else "memories"
    lacks_private = isinstance(build.workspace, SharedWorkspace) and build.workspace.lacks_private
    return SearchResult(tuple(hits[:top]), searched, tuple(problems), prepared.taken, noun, lacks_private)


def _own_file(build: Build) -> Sequence[str]:
    """The file that the profile keeps memories in next to its notes; none if it names one for each owner."""
    path = build.profile.remember
    return [] if "{owner}" in path else [fill_template(path, {"agent": build.request.agent})]


def _line_hits(query: SourceQuery) -> TopicHits:
    """The lines of a layer's logs up to today, and of the file of memories next to them, that match the topic.

    Of lines that say the same, the best is a hit. What is a memory of that file is one in the hits, too.
    """
    build, layer = query.build, query.layer
    logs, problems = logs_in_display_order(query, with_undated=True)
    days = {log.path: log.day for log in logs if log.age >= 0}
    own = _own_file(build)
    known = read_pool(build.workspace, MEMORIES, own)
    pairs = zip(known.all_entries, known.exclusions, strict=True)
    inactive = {entry.line for entry, why in pairs if why or outside_code(entry, query)}
    memories = {(memory.path, memory.line): memory for memory in known.active}
    kind = log_lines(days if layer.query.dates else {})._replace(name="searched-lines", length_penalty=LENGTH_PENALTY)
    paths = [*dict.fromkeys((*days, *own))]

    def hits(pool: EntryPool[LogLine]) -> TopicHits:
        scores, _, late = line_matches(query, pool, layer.query.min_match)
        headings = {*pool.marked()}
        found = {row: similarity for row, ((_, similarity), *_) in scores.items() if row not in headings}
        lines = dict(zip(found, pool.entries([*found]), strict=True))
        best: dict[str, tuple[Memory, Score]] = {}
        for row in sorted(found, key=lambda row: (found[row], days.get(lines[row].path, "")), reverse=True):
            line = lines[row]
            typed = Memory(f"{line.path}:{line.line}", line.path, line.line, line.text, created=days.get(line.path, ""))
            hit = memories.get((line.path, line.line), typed)
            best.setdefault(hit.text, (hit, (("similarity", found[row]), ("total", found[row]))))
        shown = tuple(best.values())[: layer.ranking.top]
        return shown, pool.rows - len(headings), (*problems, *pool.problems, *late)

    if not (inactive or layer.query.dates):
        return use_pool(query, kind, paths, hits)
    # An index has every line, and knows the day of a log only by its name.
    read = read_pool(build.workspace, kind, paths)
    lines = [line for line in read.active if line.path not in own or line.line not in inactive]
    return hits(ReadPool(kind, lines, read.documents, read.problems))
