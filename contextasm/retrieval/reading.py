"""Reading: the files that a layer's paths name, each once, and the problems of those that can't be read.

Parses YAML and JSON to plain values; the rows in them are the sources' business.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextasm.model import Data, Document, Problem, SourceQuery
from contextasm.text.decode import parse_data
from contextasm.text.templates import layer_paths


def query_paths(query: SourceQuery) -> Iterator[str]:
    """Paths of the layer's files, each once: in the layer's order, and for each pattern in path order."""
    return iter(
        dict.fromkeys(
            path
            for template in query.layer.query.paths
            for path in layer_paths(query.build.workspace, template, query.build.request)
        )
    )


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
