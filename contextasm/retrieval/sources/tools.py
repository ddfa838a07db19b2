"""Source `tools`: tools that an agent can call, from lists in the formats of MCP servers and model APIs.

Reads files; asks no server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from contextasm.model import (
    Data,
    Document,
    Fragment,
    Location,
    Message,
    Problem,
    Reason,
    RetrievalResult,
    Score,
    SourceQuery,
)
from contextasm.retrieval.pool import matches
from contextasm.retrieval.reading.files import layer_display, read_data
from contextasm.text.data.events import api_name, compact_json
from contextasm.text.names.templates import fill_item

LINE = "**{name}**: {text}{arguments}"
"""Template of a tool where the layer has no `item`."""

SCHEMAS = ("inputSchema", "input_schema", "parameters", "args_schema")
"""Keys of a tool that may hold the schema of its arguments."""


def tools(query: SourceQuery) -> RetrievalResult:
    """Tools of the layer's files as fragments; tools that do not match the topic are excluded, if any matches.

    Matching ones have their similarity, the most similar first. In a format for a model's API their texts are their
    definitions, and only one of each name is shown.
    """
    files, problems = read_data(query)
    found = [tool for data in files for tool in _tools(data, query, problems)]
    score_of = _scores(query, [words for words, _ in found])
    fragments = []
    for number, (_, tool) in enumerate(found):
        fragment = tool._replace(id=f"{tool.location.path}#{number}", score=score_of.get(number, ()))
        is_match = fragment.score or not score_of
        fragments.append(fragment if is_match else fragment.exclude(Reason("no-match")))
    fragments.sort(key=lambda fragment: -dict(fragment.score).get("similarity", 0.0))
    shown: dict[str, str] = {}
    for number, fragment in enumerate(fragments):
        name = fragment.message.tool if fragment.message else ""
        if name and not fragment.verdict.excluded and (first := shown.setdefault(name, fragment.id)) != fragment.id:
            fragments[number] = fragment.exclude(Reason.of("overridden", path=first))
    return RetrievalResult(tuple(fragments), tuple(data.document for data in files), tuple(problems))


def _scores(query: SourceQuery, words: Sequence[str]) -> Mapping[int, Score]:
    # By position; none without a topic.
    if not query.build.request.topic.strip():
        return {}
    from contextasm.retrieval.search.inverted_index import IndexEntry

    return matches(query, "", [*map(IndexEntry, words)], (), query.layer.query.min_match)[0]


def _tools(data: Data, query: SourceQuery, problems: list[Problem]) -> Iterator[tuple[str, Fragment]]:
    # Each with the words that it is found by. A file holds a list, a list under `tools`, or a single tool.
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
        location = Location(data.document.path, lines.get(name, 1), rows=1)
        name = name.strip()
        arguments = ", ".join(_arguments(tool))
        values = {"name": name, "text": text or "no description", "arguments": f" ({arguments})" if arguments else ""}
        message = _definition(name, tool) if query.build.request.is_chat else None
        line = message.text if message else fill_item(query.layer.display.item_template or LINE, values)
        fragment = Fragment("", location, line, layer_display(query.layer), message=message)
        yield f"{name.replace('_', ' ')} {name} {text}", fragment


def _lines_of_names(document: Document) -> Mapping[str, int]:
    lines: dict[str, int] = {}
    position = line = 0
    for match in re.finditer(r'"(?:name|title)"\s*:\s*"([^"\\]*)"', document.text):
        line += document.text.count("\n", position, match.start())
        position = match.start()
        lines.setdefault(match[1], document.line + line)
    return lines


def _schema(tool: Mapping[str, object]) -> Mapping[str, object]:
    schemas = (schema for key in SCHEMAS if isinstance(schema := tool.get(key), Mapping))
    return next(schemas, {key: tool[key] for key in ("properties", "required") if key in tool})


def _definition(name: str, tool: Mapping[str, object]) -> Message:
    name, text = api_name(name), tool.get("description")
    description = {"description": text} if isinstance(text, str) and text.strip() else {}
    parameters = {"properties": {}, **_schema(tool), "type": "object"}
    return Message("tool", compact_json({"name": name, **description, "parameters": parameters}), name)


def _arguments(tool: Mapping[str, object]) -> Iterator[str]:
    # Required ones first.
    schema = _schema(tool)
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    for name in sorted(properties, key=lambda name: name not in required):
        values = properties[name]
        type_ = values.get("type") if isinstance(values, Mapping) else None
        argument = f"{name}: {type_}" if isinstance(type_, str) else str(name)
        yield argument if name in required else f"[{argument}]"
