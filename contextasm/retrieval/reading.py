"""Reading: the files that a layer's paths name, each once, with the problems of those that can't be read."""

from __future__ import annotations

from collections.abc import Iterator

from contextasm.model import Data, Document, Problem, SourceQuery
from contextasm.text.decode import parse_data
from contextasm.text.templates import layer_paths


def query_paths(query: SourceQuery) -> Iterator[str]:
    """The paths, in the layer's order and each pattern's in path order."""
    return iter(
        dict.fromkeys(
            path
            for each in query.layer.query.paths
            for path in layer_paths(query.build.workspace, each, query.build.request)
        )
    )


def read_documents(query: SourceQuery) -> tuple[list[Document], list[Problem]]:
    """The documents that are there."""
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
    """The values of the YAML and JSON files that are there."""
    found: list[Data] = []
    problems: list[Problem] = []
    for path in query_paths(query):
        read = query.build.workspace.read(path)
        data = (
            parse_data(read, query.build.parse_yaml) if isinstance(read, Document) and query.build.parse_yaml else read
        )
        if isinstance(data, Data):
            found.append(data)
        elif isinstance(data, Problem):
            problems.append(data)
    return found, problems
