"""The section `upkeep` of `ctxasm.yaml`: what `ctxasm tidy` proposes, and from which age on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from contextasm.config import values
from contextasm.config.retention import RetentionPolicy, parse_retention
from contextasm.config.values import ParseValue
from contextasm.config.yaml_loader import YamlMapping, parse_mapping


class LogAges(NamedTuple):
    """When a log is archived, and how; the day of a log is that of its name."""

    archive: int = 30
    """The greatest age, in days, of a log that stays in place."""
    compress: bool = False
    """Whether archived logs are compressed with gzip."""


class UpkeepSettings(NamedTuple):
    """The parsed section."""

    logs: LogAges = LogAges()
    retention: tuple[RetentionPolicy, ...] = ()


def parse_upkeep(settings_file: YamlMapping) -> UpkeepSettings:
    """The section of the settings, with defaults where it says nothing.

    Raises `ContextasmError` for an unknown key or a value that can't be used.
    """
    if settings_file.get("upkeep") is None:
        return UpkeepSettings()
    where = f"{settings_file.where('upkeep')}: upkeep"
    table = parse_mapping(settings_file["upkeep"], where, "write `logs:` and its keys under it")
    return UpkeepSettings(**table.parsed(UPKEEP_KEYS))


def _parse_log_ages(value: object, where: str) -> LogAges:
    table = parse_mapping(value, where, "write `archive: 30` under it")
    return LogAges(**table.parsed(_LOG_KEYS))


_LOG_KEYS: Mapping[str, ParseValue] = {
    "archive": values.parse_count,
    "compress": values.parse_flag,
}

UPKEEP_KEYS: Mapping[str, ParseValue] = {"logs": _parse_log_ages, "retention": parse_retention}
"""The keys of the section; each is a field of `UpkeepSettings`."""
