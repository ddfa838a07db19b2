"""The key `parse_summarizer` of `ctxasm.yaml`: the command that says texts in fewer words, checked; and whether it may run.

A workspace may come from anybody. So a command that it names is run only where the person who builds has named the
workspace in `CTXASM_EMBEDDER`, the switch for every program that a workspace brings along. Nothing is run here.
"""

from __future__ import annotations

import shlex

from contextasm.config import values
from contextasm.config.yaml_loader import YamlMapping
from contextasm.model import ContextasmError, SummarizerConfig

LONGEST_TIMEOUT = 600
"""Seconds; a longer wait is a slip of the finger."""


def parse_summarizer(file: YamlMapping) -> SummarizerConfig | None:
    """What the file configures; None for nothing. Raises `ContextasmError` for anything that can't be used."""
    table = file.get("summarizer")
    if table is None:
        return None
    where = f"{file.where('summarizer')}: summarizer"
    if not isinstance(table, YamlMapping):
        raise ContextasmError(
            where, "says nothing that can be run", "write `command: [PROGRAM, ARGUMENT, ...]` under it"
        )
    table.refuse_unknown(("command", "timeout"))
    command = SummarizerConfig(
        _words(table.get("command"), f"{table.where('command')}: command"), file.lines["summarizer"]
    )
    if "timeout" not in table:
        return command
    return command._replace(timeout=_timeout(table["timeout"], f"{table.where('timeout')}: timeout"))


def _words(value: object, where: str) -> tuple[str, ...]:
    """Program and arguments: a list, or one text that is taken apart as a shell would."""
    try:
        words = tuple(shlex.split(value)) if isinstance(value, str) else values.parse_texts(value or [], where)
    except ValueError as error:
        raise ContextasmError(where, f"{value} ends inside quotes", "close them, or write a list") from error
    if not words or not words[0] or any("\0" in word for word in words):
        raise ContextasmError(where, "names no program", "write [PROGRAM, ARGUMENT, ...]")
    return words


def _timeout(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_TIMEOUT:
        raise ContextasmError(
            where, f"{value} is no time in seconds", f"give a number above 0, up to {LONGEST_TIMEOUT}"
        )
    return float(value)
