"""Source `tools`: what an agent can call, from lists of tools as MCP servers and model APIs give them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import (
    Data,
    Document,
    Fragment,
    FragmentDisplay,
    Location,
    Problem,
    Reason,
    RetrievalResult,
    SourceQuery,
)
from contextasm.retrieval.reading import read_data
from contextasm.text.templates import fill_template

LINE = "**{name}**: {text}{arguments}"
"""The form of a tool where the layer names none."""

SCHEMAS = ("inputSchema", "input_schema", "parameters", "args_schema")
"""Under which of a tool's keys the schema of its arguments may stand."""


class Tool(NamedTuple):
    """One tool of a list."""

    path: str
    line: int
    name: str
    text: str
    """Its description, in one line."""
    arguments: tuple[str, ...]
    """Each with its type, and a mark where it may be left out."""


def tools(query: SourceQuery) -> RetrievalResult:
    """The tools of the layer's files; with a topic, those that have to do with it, with how much."""
    read, problems = read_data(query)
    known = [tool for data in read for tool in _tools(data, problems)]
    hits = _hits(query, known)
    fragments = []
    for number, tool in enumerate(known):
        fragment = _fragment(tool, query, number)
        if hits is not None:
            matches = number in hits
            score = (("similarity", hits[number]),) if matches else ()
            fragment = fragment._replace(
                score=score, verdict=fragment.verdict._replace(excluded=None if matches else Reason("no-match"))
            )
        fragments.append(fragment)
    fragments.sort(key=lambda each: -dict(each.score).get("similarity", 0.0))
    return RetrievalResult(tuple(fragments), tuple(each.document for each in read), tuple(problems))


def _hits(query: SourceQuery, known: Sequence[Tool]) -> dict[int, float] | None:
    """The tools that answer the topic, by their places; None where all count: without a topic, or with no hit."""
    if not query.build.request.topic.strip() or not known:
        return None
    from contextasm.retrieval.search.bm25 import similarities
    from contextasm.retrieval.search.inverted_index import IndexEntry, build_index

    entries = [IndexEntry(f"{tool.name.replace('_', ' ')} {tool.name} {tool.text}") for tool in known]
    return similarities(query.build.request.topic, build_index(entries), query.layer.query.min_match) or None


def _tools(data: Data, problems: list[Problem]) -> Iterator[Tool]:
    """The tools of one file: a list, a list under `tools`, or a single one."""
    value = data.value
    if isinstance(value, Mapping):
        value = value.get("tools", value.get("result", value))
    if isinstance(value, Mapping):
        value = value.get("tools", [value])
    if not isinstance(value, list):
        problems.append(Problem("bad-data", data.document.path, 1, "is no list of tools"))
        return
    lines = _lines(data.document)
    for number, each in enumerate(value, 1):
        tool = each.get("function", each) if isinstance(each, Mapping) else None
        name = (tool.get("name") or tool.get("title")) if isinstance(tool, Mapping) else None
        if not isinstance(tool, Mapping) or not isinstance(name, str) or not name.strip():
            problems.append(Problem("bad-row", data.document.path, 1, f"tool {number} has no `name`"))
            continue
        text = tool.get("description")
        text = " ".join(text.split()) if isinstance(text, str) else ""
        yield Tool(data.document.path, lines.get(name, 1), name.strip(), text, tuple(_arguments(tool)))


def _lines(document: Document) -> Mapping[str, int]:
    """The first line at which each `"name": "..."` stands."""
    found: dict[str, int] = {}
    at = line = 0
    for match in re.finditer(r'"(?:name|title)"\s*:\s*"([^"\\]*)"', document.text):
        line += document.text.count("\n", at, match.start())
        at = match.start()
        found.setdefault(match[1], document.line + line)
    return found


def _arguments(tool: Mapping[str, object]) -> Iterator[str]:
    """The arguments that a tool's schema names, those that it needs first."""
    schema = next((tool[key] for key in SCHEMAS if isinstance(tool.get(key), Mapping)), tool)
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return
    needed = schema.get("required") if isinstance(schema, Mapping) else None
    needed = needed if isinstance(needed, list) else []
    for name in sorted(properties, key=lambda name: name not in needed):
        own = properties[name]
        kind = own.get("type") if isinstance(own, Mapping) else None
        told = f"{name}: {kind}" if isinstance(kind, str) else str(name)
        yield told if name in needed else f"[{told}]"


def _fragment(tool: Tool, query: SourceQuery, number: int) -> Fragment:
    """A tool in one line."""
    arguments = f" ({', '.join(tool.arguments)})" if tool.arguments else ""
    given = {"name": tool.name, "text": tool.text or "no description", "arguments": arguments}
    return Fragment(
        f"{tool.path}#{number}",
        Location(tool.path, tool.line, rows=1),
        fill_template(query.layer.display.item_template or LINE, given),
        FragmentDisplay(query.layer.heading[0], keep=query.layer.overflow.keep),
    )
