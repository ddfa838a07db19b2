"""The list `outputs:` of `ctxasm.yaml`: files that are built from the workspace and kept beside it.

Reading only; whether such a file is still what a build would give is for `check` to find out.
"""

from __future__ import annotations

from typing import NamedTuple

from contextasm.config import values
from contextasm.config.settings import SETTINGS
from contextasm.config.values import ParseValue
from contextasm.config.yaml_loader import YamlMapping
from contextasm.model import ContextasmError

BUILT_WITH = ("agent", "team", "profile", "budget", "format")
"""The settings that an output may name; whatever it leaves out holds as for any build."""


class Output(NamedTuple):
    """A file that is built."""

    file: str
    """Path below the workspace."""
    line: int
    """Of `ctxasm.yaml`, where the output is described."""
    words: tuple[tuple[str, str], ...]
    """The settings that it names, as they would be typed behind a flag."""


def parse_outputs(table: YamlMapping) -> tuple[Output, ...]:
    """The outputs in their order. Raises `ContextasmError` for an entry that is not understood."""
    listed = table.get("outputs")
    if listed is None:
        return ()
    if not isinstance(listed, list) or not all(isinstance(each, YamlMapping) for each in listed):
        hint = "write `- file: FILE`, and below it what the file is built with"
        raise ContextasmError(f"{table.where('outputs')}: outputs", "is no list of files", hint)
    return tuple(map(_output, listed))


def _output(table: YamlMapping) -> Output:
    """One entry, checked."""
    table.refuse_unknown(OUTPUT_KEYS)
    for key, value in table.items():
        OUTPUT_KEYS[key](value, f"{table.where(key)}: {key}")
    if "file" not in table:
        raise ContextasmError(table.where(), "an output without a file", "add `file:`, such as CONTEXT.md")
    words = tuple((key, str(table[key])) for key in BUILT_WITH if table.get(key) is not None)
    return Output(str(table["file"]), table.line, words)


def _profile(value: object, where: str) -> object:
    """The name of a profile, or a path that stays inside the workspace."""
    name = values.parse_text(value, where)
    return values.parse_inner_paths(name, where) if "/" in name or name.endswith((".yaml", ".yml")) else name


OUTPUT_KEYS: dict[str, ParseValue] = {
    "file": lambda value, where: values.parse_inner_paths(values.parse_text(value, where), where),
    **{key: SETTINGS[key] for key in BUILT_WITH},
    "profile": _profile,
}
"""What an output may say, and how it is read."""
