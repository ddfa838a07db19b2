"""`ctxasm search`: memories for a topic, as a build with this topic would rank them, with the parts of each score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import takes_request
from contextasm.cli.output import format_json, read_stdin, show_problems, write_stderr, write_stdout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from contextasm.config.build import PreparedBuild
    from contextasm.config.options import Options
    from contextasm.model import Memory, Problem, Profile, Score

EVERYWHERE = ("agents/*/memories/*.md", "teams/*/memories/*.md", "memories/*.md")
"""Where memories lie, whoever's they are."""


def search(
    request: Options,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for; - reads standard input.")],
    *,
    every: Annotated[
        bool, typer.Option("--all", help="The memories of every agent, every team and the project.")
    ] = False,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="How many are shown.")] = 5,
    json: Annotated[bool, typer.Option("--json", help="A list of objects as JSON.")] = False,
) -> int:
    """Find memories for a topic, with the parts of their scores.

    Of the agent or the team that is named, of both, or of those that a build would take. Ends with 1 if none matches.
    """
    from contextasm.config.resolve import prepare_build, process_environment
    from contextasm.model import ContextasmError

    topic = read_stdin("search -", "text").strip() if text == "-" else text.strip()
    if not topic:
        raise ContextasmError("search", "the text is blank", "give some words to look for")
    if every and (request.agent or request.team):
        raise ContextasmError("--all", "looks everywhere", "leave out --agent and --team")
    job = prepare_build(
        request._replace(topic=topic), process_environment(), restrict_profile=_narrowing(request, every=every, top=top)
    )
    found, rows, problems = _hits(job, top)
    if json:
        write_stdout(format_json([_data(*each) for each in found]))
    elif found:
        write_stdout(_table(found))
    show_problems(problems)
    if not found:
        write_stderr(f"ctxasm: none of {rows:,} memories matches" if rows else "ctxasm: there is no memory to search")
    return 0 if found else 1


run = takes_request(search, without=("topic", "budget", "tokenizer", "layer"))

Hit = tuple["Memory", "Score"]


def _narrowing(request: Options, *, every: bool, top: int) -> Callable[[Profile], Profile]:
    """What of a profile is searched: the layers that show memories, of whom the command line names."""
    from contextasm.model import ContextasmError
    from contextasm.text.templates import placeholders

    wanted = {kind for kind in ("agent", "team") if getattr(request, kind)} or {"agent", "team"}

    def narrowed(profile: Profile) -> Profile:
        layers = [
            layer._replace(ranking=layer.ranking._replace(top=top))
            for layer in profile.layers
            if "search" in layer.query.sources
        ]
        if every:
            layers = [layer._replace(query=layer.query._replace(paths=EVERYWHERE)) for layer in layers[:1]]
        own = [
            layer for layer in layers if {name for path in layer.query.paths for name in placeholders(path)} <= wanted
        ]
        if not own:
            what = "searches no memories" if not layers else f"searches no memories of the {' and '.join(wanted)} alone"
            raise ContextasmError(f"profile {profile.name}", what, "name another profile with -p, or use --all")
        return profile._replace(layers=tuple(own))

    return narrowed


def _hits(job: PreparedBuild, top: int) -> tuple[list[Hit], int, Sequence[Problem]]:
    """The best of all layers; how many memories were searched; what is wrong with their files."""
    from contextasm.model import SourceQuery
    from contextasm.retrieval.memory_search import topic_hits

    asked = [topic_hits(SourceQuery(job.build, layer)) for layer in job.build.profile.layers]
    found = [each for own in asked for each in own.found]
    found.sort(key=lambda hit: (hit[0].path, -hit[0].line))
    found.sort(key=lambda hit: (dict(hit[1])["total"], hit[0].created), reverse=True)
    problems = dict.fromkeys(problem for own in asked for problem in own.problems)
    return found[:top], sum(own.rows for own in asked), [*problems]


def _data(memory: Memory, score: Score) -> dict[str, object]:
    """A hit as plain values."""
    parts = dict(score)
    whole = parts.pop("total")
    own = {name: getattr(memory, name) for name in ("id", "path", "line", "type", "text")}
    return {**own, "score": whole, "parts": parts}


def _table(found: Sequence[Hit]) -> str:
    """The hits as a table; on a terminal, texts are cut to its width."""
    from contextasm.rendering.wording import format_columns, hit_rows

    header, rows, right = hit_rows(found)
    plain = format_columns(header[:-1], [row[:-1] for row in rows], right)
    room = _width() - max(len(line) for line in plain.split("\n")) - 2
    return format_columns(header, [(*row[:-1], _shortened(row[-1], room)) for row in rows], right)


def _width() -> int:
    """The columns of the terminal; of a pipe, more than any text has."""
    import shutil
    import sys

    return shutil.get_terminal_size().columns if sys.stdout and sys.stdout.isatty() else 1 << 30


def _shortened(text: str, room: int) -> str:
    """As much of a text as fits that many columns, at least a few words of it."""
    from unicodedata import east_asian_width

    room = max(room, 30)
    taken = 0
    for place, letter in enumerate(text):
        taken += 2 if east_asian_width(letter) in {"W", "F"} else 1
        if taken >= room and place + 1 < len(text):
            return text[:place].rstrip() + "…"
    return text
