"""Sources `files`: files of the project, each in a fence of its language, open and changed files first; and `tree`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from contextasm.model import (
    SHARED,
    Document,
    Fragment,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    Score,
    SourceQuery,
    Verdict,
)
from contextasm.retrieval.reading.files import layer_display, query_paths, receipt
from contextasm.text.markdown.blocks import passage
from contextasm.text.names.glob import matching_paths
from contextasm.text.names.matching import mentions
from contextasm.text.names.templates import fill_item

_OWN_NAMES = (
    *("bash", "c", "cpp", "css", "go", "html", "java", "json", "php", "sql", "swift", "toml", "tsx", "xml", "yaml"),
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

CONTENT = "content"
"""Part of a score: how well a file matches the topic. A `similarity` would put an open file that fits less last."""

PART = 40
"""Lines of a part of a file: a long file would else match any word that is somewhere in it."""

_TICKS = re.compile(r"^\s*(`{3,})", re.MULTILINE)


def files(query: SourceQuery) -> RetrievalResult:
    """The layer's files as fragments, those first that are most: open, changed, named, and fitting the topic.

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
            problems.append(Problem("no-file", path, 0, "is given as open, but is not in the workspace"))
    scores = {path: _file_score(path, share, query) for path, share in _contents(documents, query).items()}
    in_order = sorted(documents, key=lambda document: -sum(value for _, value in scores[document.path]))
    fragments = (_file_fragment(document, query, scores, place) for place, document in enumerate(in_order))
    return RetrievalResult(tuple(fragments), tuple(documents), tuple(problems))


def _contents(documents: Sequence[Document], query: SourceQuery) -> Mapping[str, float]:
    """By path, how well the best part of a file matches the topic, its path included; 0 if that has no weight."""
    contents = {document.path: 0.0 for document in documents}
    topic, ranking = query.build.request.topic, query.layer.ranking
    if not topic.strip() or not (ranking.order == "given" or dict(ranking.weights).get(CONTENT)):
        return contents
    from contextasm.retrieval.search.bm25 import similarities
    from contextasm.retrieval.search.inverted_index import IndexEntry, build_index

    files = [(document.path, document.whole.split("\n")) for document in documents]
    parts = [(path, lines[at : at + PART]) for path, lines in files for at in range(0, len(lines), PART)]
    index = build_index([IndexEntry("\n".join(lines), labels=path) for path, lines in parts])
    for row, similarity in similarities(topic, index, query.layer.query.min_match).items():
        contents[parts[row][0]] = max(similarity, contents[parts[row][0]])
    return contents


def _file_fragment(document: Document, query: SourceQuery, scores: Mapping[str, Score], place: int) -> Fragment:
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
        score=scores[document.path],
        verdict=Verdict(excluded=None if text.strip() else Reason("blank")),
    )


def _opening_fence(path: str, text: str) -> str:
    # Longer than any fence in the text, so that none of them closes it.
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    extension = path.rpartition(".")[2].lower()
    return "`" * (longest + 1) + LANGUAGES.get(extension, "")


def _file_score(path: str, content: float, query: SourceQuery) -> Score:
    request = query.build.request
    topic = request.topic.casefold()
    is_named = bool(topic) and mentions(topic, path.rpartition("/")[2])
    return (
        ("open", float(path in request.open)),
        ("changed", float(path in request.changed)),
        ("named", float(is_named)),
        (CONTENT, content),
    )


# --- The structure of the project ------------------------------------------------------------------------------------


LINE = "- {folder}: {names}"
"""Template of a folder where the layer has no `item`."""

MOST_NAMES = 40
"""Names of one folder that are shown; the others are counted."""


def tree(query: SourceQuery) -> RetrievalResult:
    """The folders of the project with the names in each, the uppermost first; `max_candidates` of them may enter.

    `depth` is the number of levels. A shared context lacks the names of private files.
    """
    layer = query.layer
    names_of: dict[str, set[str]] = {}
    for path in _visible(query):
        parts = path.rstrip("/").split("/")
        for level, name in enumerate(parts[: layer.query.depth]):
            is_folder = level < len(parts) - 1 or path.endswith("/")
            names_of.setdefault("".join(f"{part}/" for part in parts[:level]), set()).add(name + "/" * is_folder)
    fragments = []
    count = layer.query.max_candidates or len(names_of)
    for number, folder in enumerate(sorted(names_of, key=lambda name: (name.count("/"), name))):
        location, names = Location(folder or "./", 1, rows=1), sorted(names_of[folder])
        if number >= count:
            fragments.append(receipt(location.path, location, layer, Reason.of("not-in-pool", pool=count)))
            continue
        more = [f"and {len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
        values = {"folder": location.path, "names": ", ".join([*names[:MOST_NAMES], *more])}
        line = fill_item(layer.display.item_template or LINE, values)
        fragments.append(Fragment(location.path, location, line, layer_display(layer)))
    return RetrievalResult(tuple(fragments))


def _visible(query: SourceQuery) -> Sequence[str]:
    request = query.build.request
    if request.audience != SHARED:
        return request.tracked
    from contextasm.retrieval.reading.audience import private_patterns  # here: most contexts are personal

    patterns = private_patterns(query.build.profile, request)
    private = {path for pattern in patterns for path in matching_paths(request.tracked, pattern)}
    return [path for path in request.tracked if path not in private]
