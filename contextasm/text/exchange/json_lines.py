"""Our own format: one JSON object a line for each memory, under the names that its fields have in files.

Beside these, a line has `id`, `text` and `source`, the place that the memory was exported from; importing leaves that
out. Fields that are empty are not written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from contextasm.model import ContextasmError, Memory, Parse
from contextasm.text.exchange.entry import SourceEntry, SourceFile, derived_id, json_lines, required_text
from contextasm.text.memories.fields import FIELDS
from contextasm.text.names.matching import nearest

_KEYS = ("text", *FIELDS, "source")


def read_json_lines(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry]:
    """The memory of each line. A line without an id gets one that depends on its text."""
    for file in files:
        for where, data in json_lines(file):
            for key in data:
                if key not in _KEYS:
                    near = nearest(key, _KEYS)
                    hint = f"did you mean {near}?" if near else "one of " + ", ".join(_KEYS)
                    raise ContextasmError(where, f"unknown key {key}", hint)
            text = required_text(data, "text", where)
            name = required_text(data, "id", where) if "id" in data else derived_id("jsonl", text.strip())
            fields = {key: data[key] for key in FIELDS if key != "id" and data.get(key) is not None}
            yield SourceEntry(where, name, text, fields)


def write_json_lines(memories: Iterable[Memory]) -> str:
    """A line for each memory, in their order; empty for none."""
    return "".join(f"{json.dumps(_data(memory), ensure_ascii=False)}\n" for memory in memories)


def _data(memory: Memory) -> dict[str, object]:
    fields = {name: getattr(memory, name) for name in FIELDS}
    written = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    stated = {name: value for name, value in written.items() if value is not False and value not in ("", [])}
    return {"id": memory.id, "text": memory.text, **stated, "source": f"{memory.path}:{memory.line}"}
