"""Source `files`: files of the project, each in a fence of its language; open and changed files first."""

from __future__ import annotations

import re

from contextasm.model import Document, Fragment, Problem, Reason, RetrievalResult, SourceQuery, Verdict
from contextasm.retrieval.reading.files import layer_display, query_paths
from contextasm.text.markdown.blocks import passage
from contextasm.text.names.matching import mentions

_OWN_NAMES = (
    "bash",
    "c",
    "cpp",
    "css",
    "go",
    "html",
    "java",
    "json",
    "php",
    "sql",
    "swift",
    "toml",
    "tsx",
    "xml",
    "yaml",
)
LANGUAGES = {name: name for name in _OWN_NAMES} | {
    "cs": "csharp",
    "h": "c",
    "js": "javascript",
    "kt": "kotlin",
    "md": "markdown",
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "bash",
    "ts": "typescript",
    "yml": "yaml",
}
"""Language word of a fence, by the extension of the file's name; none for any other extension."""

_TICKS = re.compile(r"^\s*(`{3,})", re.MULTILINE)


def files(query: SourceQuery) -> RetrievalResult:
    """The layer's files as fragments: those first that are the most of open, changed, and named by the topic.

    An open file that does not exist is a problem.
    """
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in query_paths(query):
        read = query.build.workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
        elif read:
            problems.append(read)
        elif path in query.build.request.open:
            problems.append(Problem("no-file", path, 0, "is open, but the workspace has no such file"))
    in_order = sorted(documents, key=lambda document: -sum(value for _, value in _file_score(document.path, query)))
    fragments = (_file_fragment(document, query, place) for place, document in enumerate(in_order))
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _file_fragment(document: Document, query: SourceQuery, place: int) -> Fragment:
    # Front matter is part of the file here. A managed block at the end leaves no trace of where it was.
    location, text = passage(document, 1, document.whole.rstrip("\n"))
    text = text.rstrip("\n")
    names = {"title": document.path, "path": document.path}
    display = layer_display(query.layer, names, (place,) if query.layer.ranking.order == "given" else ())
    return Fragment(
        document.path,
        location,
        text,
        display._replace(fence=_opening_fence(document.path, text)),
        score=_file_score(document.path, query),
        verdict=Verdict(excluded=None if text.strip() else Reason("blank")),
    )


def _opening_fence(path: str, text: str) -> str:
    # Longer than any fence in the text, so that none of them closes it.
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    extension = path.rpartition(".")[2].lower()
    return "`" * (longest + 1) + LANGUAGES.get(extension, "")


def _file_score(path: str, query: SourceQuery) -> tuple[tuple[str, float], ...]:
    request = query.build.request
    topic = request.topic.casefold()
    is_named = bool(topic) and mentions(topic, path.rpartition("/")[2])
    return (
        ("open", float(path in request.open)),
        ("changed", float(path in request.changed)),
        ("named", float(is_named)),
    )
