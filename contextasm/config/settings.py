"""Settings: what the command line, the environment and `ctxasm.yaml` say, each value with where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from contextasm.config import values
from contextasm.config.values import ParseValue
from contextasm.config.yaml_loader import YamlMapping, load_mapping
from contextasm.model import ContextasmError, Document, Workspace
from contextasm.rendering.formats import FORMATS
from contextasm.selection.tokens import TOKENIZERS

FILE = "ctxasm.yaml"


def _day(value: object, where: str) -> date | None:
    """A date; None for `today`."""
    return None if value == "today" else values.parse_day(value, where)


def _tokenizer(value: object, where: str) -> str:
    return values.require_known(values.parse_text(value, where), TOKENIZERS, where, "tokenizer")


def _format(value: object, where: str) -> str:
    return values.require_known(values.parse_text(value, where), FORMATS, where, "format")


SETTINGS: dict[str, ParseValue] = {
    "agent": values.parse_name,
    "team": values.parse_name,
    "profile": values.parse_text,
    "strategy": values.parse_text,
    "budget": values.parse_tokens,
    "tokenizer": _tokenizer,
    "date": _day,
    "tz": values.parse_text,
    "format": _format,
}
"""What a flag, a variable `CTXASM_*` and the file may set, and how it is read."""

FILE_KEYS = (*SETTINGS, "layers", "rules", "env", "outputs", "summarizer", "embedder")

DEFAULTS: Mapping[str, object] = {
    "agent": "",
    "team": "",
    "profile": "default",
    "strategy": "",
    "tokenizer": "estimate",
    "date": None,
    "tz": "",
    "format": "markdown",
}


class Setting(NamedTuple):
    """A value and where it comes from."""

    value: object
    origin: str
    """A flag, a variable, `FILE:LINE`, `profile NAME` or `default`."""

    @property
    def words(self) -> str:
        """The value as a person would write it."""
        if isinstance(self.value, tuple):
            return ", ".join(map(str, self.value))
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


def load_settings_file(workspace: Workspace) -> YamlMapping:
    """The workspace's `ctxasm.yaml`, empty where there is none.

    Raises `ContextasmError` for a file that can't be read and for a key that is not known.
    """
    document = workspace.read(FILE)
    if document is None:
        return YamlMapping(FILE, 1)
    if not isinstance(document, Document):
        raise ContextasmError(FILE, document.message, "make it a file that can be read")
    table = load_mapping(document.data, FILE)
    table.refuse_unknown(FILE_KEYS)
    return table


def resolve_settings(
    flags: Mapping[str, str | None], environment: Mapping[str, str], table: YamlMapping
) -> dict[str, Setting]:
    """Every setting: the flag, else the variable, else the file, else the default.

    A budget that none of them names is left to the profile. Raises `ContextasmError` for a value that can't be used.
    """
    settled: dict[str, Setting] = {}
    for key, read in SETTINGS.items():
        variable = f"CTXASM_{key.upper()}"
        flag = flags.get(key)
        if flag is not None:
            settled[key] = Setting(read(flag, f"--{key}"), f"--{key}")
        elif variable in environment:
            settled[key] = Setting(read(environment[variable], variable), variable)
        elif key == "date" and "SOURCE_DATE_EPOCH" in environment:
            settled[key] = Setting(_epoch_day(environment["SOURCE_DATE_EPOCH"]), "SOURCE_DATE_EPOCH")
        elif table.get(key) is not None:
            settled[key] = Setting(read(table[key], f"{table.where(key)}: {key}"), table.where(key))
        elif key in DEFAULTS:
            settled[key] = Setting(DEFAULTS[key], "default")
    return settled


def _epoch_day(seconds: str) -> date:
    """The day of a time in seconds, in UTC (reproducible-builds.org, SOURCE_DATE_EPOCH)."""
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(int(seconds), UTC).date()
    except (ValueError, OverflowError, OSError) as error:
        hint = "give seconds since 1970, or unset it"
        raise ContextasmError("SOURCE_DATE_EPOCH", f"{seconds} is no time", hint) from error
