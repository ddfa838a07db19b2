"""Memories of the reference MCP server `memory`: its file `memory.jsonl`.

As of its source (modelcontextprotocol/servers, src/memory): a line is an entity with `name`, `entityType` and
`observations`, or a relation with `from`, `to` and `relationType`. It knows neither ids nor dates. An observation says
nothing without its entity, so each memory begins with the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from contextasm.model import ContextasmError, Parse
from contextasm.text.exchange.entry import (
    LeftOutPart,
    SourceEntry,
    SourceFile,
    derived_id,
    fitting_type,
    fitting_words,
    json_lines,
    only_file,
    required_list,
    required_text,
    stated,
    unread_keys,
)
from contextasm.text.memories.writer import quoted_value

_PREFIX = "memory-server"
_KEYS = ("type", "name", "observations")
_ENTITY_KEYS = (*_KEYS, "entityType")
_RELATION_KEYS = ("type", "from", "to", "relationType")


def read_memory_server(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """A memory for each observation, tagged with its entity, and one of type `relation` for each relation."""
    for where, data in json_lines(only_file(files)):
        kind = data.get("type")
        if kind == "entity":
            yield from _observations(data, where)
            yield from unread_keys(data, _ENTITY_KEYS if fitting_type(data.get("entityType")) else _KEYS, where)
        elif kind == "relation":
            yield _relation(data, where)
            yield from unread_keys(data, _RELATION_KEYS, where)
        else:
            raise ContextasmError(
                f"{where}: type", f"{quoted_value(kind)} is neither entity nor relation", "correct this line"
            )


def _observations(data: Mapping[str, object], where: str) -> Iterator[SourceEntry]:
    name = required_text(data, "name", where).strip()
    fields = stated({"type": fitting_type(data.get("entityType")), "tags": fitting_words([name])})
    for number, observation in enumerate(required_list(data.get("observations"), f"{where}: observations")):
        place = f"{where}: observations[{number}]"
        if not isinstance(observation, str) or not observation.strip():
            raise ContextasmError(place, "is no text, or empty", "correct this line")
        text = observation.strip()
        yield SourceEntry(place, derived_id(_PREFIX, name, text), f"{name}: {text}", fields)


def _relation(data: Mapping[str, object], where: str) -> SourceEntry:
    one, relation, other = (required_text(data, key, where).strip() for key in ("from", "relationType", "to"))
    fields = {"type": "relation", "tags": fitting_words([one, other])}
    return SourceEntry(where, derived_id(_PREFIX, one, relation, other), f"{one} {relation} {other}", stated(fields))
