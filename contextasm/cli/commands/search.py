"""`ctxasm search`: find memories for a topic, ranked as a build with this topic ranks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import JsonOption, all_but, takes_options
from contextasm.cli.output import format_json, read_stdin, show_problems, shown, write_stderr, write_stdout
from contextasm.config.options import Options

if TYPE_CHECKING:
    from contextasm.config.build import PreparedBuild
    from contextasm.model import Memory, Problem, Profile, Score

EVERYWHERE = ("agents/*/memories/*.md", "teams/*/memories/*.md", "memories/*.md")
"""The memories of every agent, every team and the project."""


def search(
    options: Options,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text to search for; - reads standard input.")],
    *,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Search the memories of every agent, every team and the project.")
    ] = False,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Show at most N memories.")] = 5,
    json: JsonOption = False,
) -> int:
    """Find memories for a topic, with the parts of their scores.

    The memories are those of the agent or team that is named, or of both; without a name, those that a build would
    search. Exits 1 if none matches.
    """
    from contextasm.config.resolve import prepare_build, process_environment
    from contextasm.model import ContextasmError

    topic = read_stdin("search -", "text").strip() if text == "-" else text.strip()
    if not topic:
        raise ContextasmError("search", "the text is blank", "give some words to search for")
    if everywhere and (options.agent or options.team):
        raise ContextasmError("--all", "searches every agent and team", "leave out --agent and --team")
    narrow = _narrowing(options, everywhere=everywhere, top=top)
    job = prepare_build(options._replace(topic=topic), process_environment(), restrict_profile=narrow)
    hits, rows, problems = _search_layers(job, top)
    if json:
        write_stdout(format_json([_hit_data(*hit) for hit in hits]))
    elif hits:
        write_stdout(shown(_hit_table(hits)))
    show_problems(problems)
    if not hits:
        write_stderr(f"ctxasm: none of {rows:,} memories matches" if rows else "ctxasm: there is no memory to search")
    return 0 if hits else 1


run = takes_options(search, all_but("topic", "budget", "tokenizer", "layers", "format"))

Hit = tuple["Memory", "Score"]


def _narrowing(options: Options, *, everywhere: bool, top: int) -> Callable[[Profile], Profile]:
    """A function that leaves of a profile the layers that search the memories of the named owners."""
    from contextasm.model import ContextasmError
    from contextasm.text.templates import placeholders

    kinds = [kind for kind in ("agent", "team") if getattr(options, kind)] or ["agent", "team"]

    def narrow(profile: Profile) -> Profile:
        searching = [
            layer._replace(ranking=layer.ranking._replace(top=top))
            for layer in profile.layers
            if "search" in layer.query.sources
        ]
        if everywhere:
            searching = [layer._replace(query=layer.query._replace(paths=EVERYWHERE)) for layer in searching[:1]]
        layers = [
            layer
            for layer in searching
            if all(name in kinds for path in layer.query.paths for name in placeholders(path))
        ]
        if not layers:
            what = f"searches no memories of the {' and '.join(kinds)} alone" if searching else "searches no memories"
            raise ContextasmError(f"profile {profile.name}", what, "name another profile with -p, or use --all")
        return profile._replace(layers=tuple(layers))

    return narrow


def _search_layers(job: PreparedBuild, top: int) -> tuple[Sequence[Hit], int, Sequence[Problem]]:
    """The best hits of all layers, the number of memories searched, and the problems of the request and the files."""
    from contextasm.model import SourceQuery
    from contextasm.retrieval.audience import for_audience
    from contextasm.retrieval.memory_search import topic_hits

    build = for_audience(job.build)
    results = [topic_hits(SourceQuery(build, layer)) for layer in build.profile.layers]
    hits = [hit for result in results for hit in result.found]
    hits.sort(key=lambda hit: (hit[0].path, -hit[0].line))
    hits.sort(key=lambda hit: (dict(hit[1])["total"], hit[0].created), reverse=True)
    problems = dict.fromkeys([*build.problems, *(problem for result in results for problem in result.problems)])
    return hits[:top], sum(result.rows for result in results), [*problems]


def _hit_data(memory: Memory, score: Score) -> Mapping[str, object]:
    """A hit as values for JSON."""
    parts = dict(score)
    total = parts.pop("total")
    fields = {name: getattr(memory, name) for name in ("id", "path", "line", "type", "text")}
    return {**fields, "score": total, "parts": parts}


def _hit_table(hits: Sequence[Hit]) -> str:
    """The hits as a table; on a terminal one block for each hit, with its text wrapped between words."""
    import sys
    from shutil import get_terminal_size

    from contextasm.rendering.tables import format_columns, hit_rows

    header, rows, right = hit_rows(hits)
    if not (sys.stdout and sys.stdout.isatty()):
        return format_columns(header, rows, right)
    return "\n".join(_hit_block(header, row, get_terminal_size().columns) for row in rows)


def _hit_block(header: Sequence[str], row: Sequence[str], columns: int) -> str:
    """A hit for a terminal: score and place, the parts of the score, and the text."""
    from textwrap import wrap

    score, *parts, name, place, kind, text = row
    indent = " " * (len(score) + 2)
    shares = "  ".join(f"{title} {part}" for title, part in zip(header[1:], parts, strict=False))
    lines = wrap(text, max(columns, 40), initial_indent=indent, subsequent_indent=indent)
    return "\n".join([f"{score}  {place}", f"{indent}{name}  {kind}", f"{indent}{shares}", *lines]) + "\n"
