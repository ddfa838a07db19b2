"""Source `files`: files of the project in a fence of their language; those that are open or changed first."""

from __future__ import annotations

import re

from contextasm.model import (
    Document,
    Fragment,
    FragmentDisplay,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.reading import query_paths
from contextasm.text.matching import mentions
from contextasm.text.templates import fill_template

LANGUAGES = {
    "bash": "bash",
    "c": "c",
    "cpp": "cpp",
    "cs": "csharp",
    "css": "css",
    "go": "go",
    "h": "c",
    "html": "html",
    "java": "java",
    "js": "javascript",
    "json": "json",
    "kt": "kotlin",
    "md": "markdown",
    "php": "php",
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "bash",
    "sql": "sql",
    "swift": "swift",
    "toml": "toml",
    "ts": "typescript",
    "tsx": "tsx",
    "xml": "xml",
    "yaml": "yaml",
    "yml": "yaml",
}
"""The word behind a fence, by the ending of a name; none for any other."""

_TICKS = re.compile(r"^\s*(`{3,})", re.MULTILINE)


def files(query: SourceQuery) -> RetrievalResult:
    """The files that are open, changed or named by the layer's paths, those that are open first.

    An open file that is not there is a problem.
    """
    documents: list[Document] = []
    fragments: list[Fragment] = []
    problems: list[Problem] = []
    for path in query_paths(query):
        read = query.build.workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
            fragments.append(_fragment(read, query))
        elif read:
            problems.append(read)
        elif path in query.build.request.open:
            problems.append(Problem("no-file", path, 0, "is open, but there is no such file in the workspace"))
    fragments.sort(key=lambda each: -sum(value for _, value in each.score))
    placed = (
        tuple(each._replace(display=each.display._replace(place=(n,))) for n, each in enumerate(fragments))
        if query.layer.ranking.order == "given"
        else ()
    )
    return RetrievalResult(placed or tuple(fragments), tuple(documents), tuple(problems))


def _fragment(document: Document, query: SourceQuery) -> Fragment:
    """A whole file as it stands, front matter and all."""
    text = document.data.decode("utf-8-sig", "replace").replace("\r\n", "\n") if document.line > 1 else document.text
    text = text.rstrip("\n")
    return Fragment(
        document.path,
        Location(document.path, 1),
        text,
        FragmentDisplay(
            query.layer.heading[0],
            group=fill_template(query.layer.display.group_template, {"title": document.path, "path": document.path}),
            keep=query.layer.overflow.keep,
            fence=_fence(document.path, text),
        ),
        score=_score(document.path, query),
        verdict=Verdict(excluded=None if text.strip() else Reason("blank")),
    )


def _fence(path: str, text: str) -> str:
    """The line that opens the fence: longer than any fence in the text."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    ending = path.rpartition(".")[2].lower()
    return "`" * (longest + 1) + LANGUAGES.get(ending, "")


def _score(path: str, query: SourceQuery) -> tuple[tuple[str, float], ...]:
    """Whether a file is open, changed, or named by the topic: each 1 or 0."""
    topic = query.build.request.topic.casefold()
    told = bool(topic) and mentions(topic, path.rpartition("/")[2])
    request = query.build.request
    return (("open", float(path in request.open)), ("changed", float(path in request.changed)), ("named", float(told)))
