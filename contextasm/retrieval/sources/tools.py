"""Source `tools`: tools that an agent can call, from lists in the formats of MCP servers and model APIs.

Reads files; asks no server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import (
    Data,
    Document,
    Fragment,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
)
from contextasm.retrieval.reading.files import layer_display, read_data
from contextasm.text.names.templates import fill_item

LINE = "**{name}**: {text}{arguments}"
"""Template of a tool where the layer has no `item`."""

SCHEMAS = ("inputSchema", "input_schema", "parameters", "args_schema")
"""Keys of a tool that may hold the schema of its arguments."""


class Tool(NamedTuple):
    """A tool of a list."""

    path: str
    line: int
    name: str
    text: str
    """Its description, in one line."""
    arguments: tuple[str, ...]
    """Each with its type; optional ones in square brackets."""


def tools(query: SourceQuery) -> RetrievalResult:
    """Tools of the layer's files as fragments; tools that do not match the topic are excluded, if any matches.

    Matching ones have their similarity, the most similar first.
    """
    files, problems = read_data(query)
    all_tools = [tool for data in files for tool in _tools(data, problems)]
    similarity_of = _similarities(query, all_tools)
    fragments = []
    for number, tool in enumerate(all_tools):
        fragment = _tool_fragment(tool, query, number)
        if similarity_of is not None:
            matches = number in similarity_of
            score = (("similarity", similarity_of[number]),) if matches else ()
            fragment = fragment._replace(
                score=score, verdict=fragment.verdict._replace(excluded=None if matches else Reason("no-match"))
            )
        fragments.append(fragment)
    fragments.sort(key=lambda fragment: -dict(fragment.score).get("similarity", 0.0))
    return RetrievalResult(tuple(fragments), tuple(data.document for data in files), tuple(problems))


def _similarities(query: SourceQuery, tools: Sequence[Tool]) -> dict[int, float] | None:
    # By position; None without a topic, or where no tool matches.
    if not query.build.request.topic.strip() or not tools:
        return None
    from contextasm.retrieval.search.bm25 import similarities
    from contextasm.retrieval.search.inverted_index import IndexEntry, build_index

    entries = [IndexEntry(f"{tool.name.replace('_', ' ')} {tool.name} {tool.text}") for tool in tools]
    return similarities(query.build.request.topic, build_index(entries), query.layer.query.min_match) or None


def _tools(data: Data, problems: list[Problem]) -> Iterator[Tool]:
    # A file holds a list, a list under `tools`, or a single tool.
    value = data.value
    if isinstance(value, Mapping):
        value = value.get("tools", value.get("result", value))
    if isinstance(value, Mapping):
        value = value.get("tools", [value])
    if not isinstance(value, list):
        problems.append(Problem("bad-data", data.document.path, 1, "is not a list of tools"))
        return
    lines = _lines_of_names(data.document)
    for number, item in enumerate(value, 1):
        tool = item.get("function", item) if isinstance(item, Mapping) else None
        name = (tool.get("name") or tool.get("title")) if isinstance(tool, Mapping) else None
        if not isinstance(tool, Mapping) or not isinstance(name, str) or not name.strip():
            problems.append(Problem("bad-row", data.document.path, 1, f"tool {number} has no `name`"))
            continue
        text = tool.get("description")
        text = " ".join(text.split()) if isinstance(text, str) else ""
        yield Tool(data.document.path, lines.get(name, 1), name.strip(), text, tuple(_arguments(tool)))


def _lines_of_names(document: Document) -> Mapping[str, int]:
    lines: dict[str, int] = {}
    position = line = 0
    for match in re.finditer(r'"(?:name|title)"\s*:\s*"([^"\\]*)"', document.text):
        line += document.text.count("\n", position, match.start())
        position = match.start()
        lines.setdefault(match[1], document.line + line)
    return lines


def _arguments(tool: Mapping[str, object]) -> Iterator[str]:
    # Required ones first.
    schema = next((tool[key] for key in SCHEMAS if isinstance(tool.get(key), Mapping)), tool)
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return
    required = schema.get("required") if isinstance(schema, Mapping) else None
    required = required if isinstance(required, list) else []
    for name in sorted(properties, key=lambda name: name not in required):
        values = properties[name]
        type_ = values.get("type") if isinstance(values, Mapping) else None
        argument = f"{name}: {type_}" if isinstance(type_, str) else str(name)
        yield argument if name in required else f"[{argument}]"


def _tool_fragment(tool: Tool, query: SourceQuery, number: int) -> Fragment:
    arguments = f" ({', '.join(tool.arguments)})" if tool.arguments else ""
    values = {"name": tool.name, "text": tool.text or "no description", "arguments": arguments}
    return Fragment(
        f"{tool.path}#{number}",
        Location(tool.path, tool.line, rows=1),
        fill_item(query.layer.display.item_template or LINE, values),
        layer_display(query.layer),
    )
