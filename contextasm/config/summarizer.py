"""The key `summarizer` of `ctxasm.yaml`, checked. Nothing is run here, and no trust is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from contextasm.config import values
from contextasm.config.values import ParseValue
from contextasm.config.yaml_loader import YamlMapping, parse_mapping
from contextasm.model import SummarizerConfig

SUMMARIZER_KEYS: Mapping[str, ParseValue] = {"command": values.parse_command, "timeout": values.parse_seconds}


def parse_summarizer(file: YamlMapping) -> SummarizerConfig:
    """The summarizer that the file configures. Raises `ContextasmError` for anything that can't be used."""
    where = f"{file.where('summarizer')}: summarizer"
    table = parse_mapping(file["summarizer"], where, "write `command: [PROGRAM, ARGUMENT, ...]` under it")
    checked = table.parsed(SUMMARIZER_KEYS)
    words = checked.pop("command", None) or values.parse_command(None, f"{table.where('command')}: command")
    return SummarizerConfig(words, file.lines["summarizer"], **checked)
