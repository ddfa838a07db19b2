"""Reading: the files that a layer's paths name, each once, and the problems of those that can't be read.

Parses YAML and JSON to plain values; the rows in them are the sources' business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextasm.model import CLEAN, Build, Cleaning, Data, Document, Problem, SourceQuery, Workspace
from contextasm.text.cleaning.decode import decode_document, parse_data
from contextasm.text.names.glob import matching_paths
from contextasm.text.names.templates import layer_paths


class CleanedWorkspace:
    """Workspace whose documents are those of another one, cleaned in another way (`model.Workspace`)."""

    def __init__(self, workspace: Workspace, cleaning: Cleaning) -> None:
        self._workspace = workspace
        self._cleaning = cleaning

    def list(self, pattern: str) -> Sequence[str]:
        """Paths as the other workspace lists them."""
        return self._workspace.list(pattern)

    def read(self, path: str) -> Document | Problem | None:
        """The document, made of the same bytes; without the private lines that the other one lacks."""
        read = self._workspace.read(path)
        if not isinstance(read, Document):
            return read
        document = decode_document(path, read.data, self._cleaning)
        if not read.withheld or isinstance(document, Problem):
            return document
        from contextasm.text.cleaning.private_parts import withhold_as  # here: most contexts are personal

        return withhold_as(document, read)


def with_cleaning(build: Build, hidden: str = "strip") -> Build:
    """The build that reads texts with the characters that its request, and a layer's `hidden`, leave in them."""
    cleaning = Cleaning("keep" if hidden == "keep" else "strip", "keep" if build.request.privacy == "off" else "mask")
    if hidden != "strip" or cleaning != CLEAN:
        build = build._replace(memory_index=None)  # it holds clean texts, and opens no file
    return build if cleaning == CLEAN else build._replace(workspace=CleanedWorkspace(build.workspace, cleaning))


def query_paths(query: SourceQuery) -> Iterator[str]:
    """Paths of the layer's files, each once: in the layer's order, and for each pattern in path order."""
    return iter(dict.fromkeys(path for template in query.layer.query.paths for path in template_paths(query, template)))


def template_paths(query: SourceQuery, template: str) -> Iterator[str]:
    """The files that one path of the layer names, without those that its `except` leaves out."""
    paths = layer_paths(query.build.workspace, template, query.build.request)
    if not query.layer.query.except_paths:
        yield from paths
        return
    listed = [*paths]
    left_out = {path for pattern in query.layer.query.except_paths for path in matching_paths(listed, pattern)}
    yield from (path for path in listed if path not in left_out)


def read_documents(query: SourceQuery) -> tuple[list[Document], list[Problem]]:
    """Documents of the layer's files, and the problems of files that can't be read.

    A file that does not exist is neither.
    """
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in query_paths(query):
        read = query.build.workspace.read(path)
        if isinstance(read, Document):
            documents.append(read)
        elif read:
            problems.append(read)
    return documents, problems


def read_data(query: SourceQuery) -> tuple[list[Data], list[Problem]]:
    """Values of the layer's YAML and JSON files, and the problems of files that can't be read or parsed.

    A file that does not exist is neither.
    """
    parsed: list[Data] = []
    problems: list[Problem] = []
    for path in query_paths(query):
        read = query.build.workspace.read(path)
        data = (
            parse_data(read, query.build.parse_yaml) if isinstance(read, Document) and query.build.parse_yaml else read
        )
        if isinstance(data, Data):
            parsed.append(data)
        elif isinstance(data, Problem):
            problems.append(data)
    return parsed, problems
