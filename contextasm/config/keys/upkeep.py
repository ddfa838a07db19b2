"""The section `upkeep` of `ctxasm.yaml`: what `ctxasm tidy` proposes, and from which age on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from contextasm.config.input import values
from contextasm.config.input.values import ParseValue
from contextasm.config.input.yaml_loader import YamlMapping, parse_mapping, parse_table
from contextasm.model import ContextasmError

KILOBYTE = 1024
"""Bytes."""

LARGEST_KB = 1_000_000
"""Kilobytes; a larger limit is a slip of the finger."""

PLACES = ("cold", "frozen")
"""Places of what is evicted: the archive, and the archive with compressed files."""


class PinPolicy(NamedTuple):
    """The files that are never shortened or evicted."""

    files: tuple[str, ...]
    """Patterns of paths; if room is short, files of the first pattern go before files of the second."""
    max_kb: float | None = None
    """Most kilobytes that pins of the policy may have together; None for no limit."""
    days: int | None = None
    """Age in days up to which a pin holds; None for any age."""


class CompressPolicy(NamedTuple):
    """The files that get a shorter form; age and few uses must both hold (digest 003-13)."""

    after_days: int = 12
    """An item of a greater age is old."""
    uses_below: int = 2
    """An item with fewer uses is little used."""
    ratio: float = 0.8
    """The most that the size afterwards may be of the size before (digest 003-14)."""
    summarize: bool = False
    """Whether the configured summarizer words the shorter form; else it is made of the text's own sentences."""


class EvictPolicy(NamedTuple):
    """The items that leave the files that builds read (digest 003-15)."""

    max_kb: float
    """Most kilobytes that the items of the policy may have together, pins included."""
    lru: float = 0.4
    """Weight of the time since the last use, 0 to 1."""
    quality: float = 0.6
    """Weight of what an item lacks in quality, 0 to 1."""
    to: str = "cold"
    """One of `PLACES`."""


class RetentionPolicy(NamedTuple):
    """The policy of one type of content."""

    name: str
    line: int
    """Line of `ctxasm.yaml`, counted from 1."""
    files: tuple[str, ...] = ()
    """Patterns of paths; empty for all files of memories, if `types` are given."""
    types: tuple[str, ...] = ()
    """Types of memories, as patterns; empty for files that hold no memories, and memories of any type."""
    pin: PinPolicy | None = None
    compress: CompressPolicy | None = None
    evict: EvictPolicy | None = None


def parse_retention(value: object, where: str) -> tuple[RetentionPolicy, ...]:
    """The policies in their order; an item belongs to the first that fits it.

    Raises `ContextasmError` for an unknown key or a value that can't be used.
    """
    table = parse_mapping(value, where, "write a name, such as `docs:`, and its policy under it")
    return tuple(_parse_policy(name, table) for name in table)


def _parse_policy(name: str, retention: YamlMapping) -> RetentionPolicy:
    where = f"{retention.where(name)}: {name}"
    table = parse_mapping(retention[name], where, "write `files:` and `evict:` or `compress:` under it")
    policy = RetentionPolicy(name, retention.lines[name], **table.parsed(POLICY_KEYS))
    if not policy.files and not policy.types:
        raise ContextasmError(where, "a policy of no files", "add `files: PATTERN`, or `types:` for types of memories")
    if not policy.compress and not policy.evict:
        what = "has no effect: it neither compresses nor evicts"
        raise ContextasmError(where, what, "add `evict: {max_kb: 500}` or `compress: {after_days: 12}`")
    if policy.types and policy.compress:
        what = "memories have no shorter form, so `compress` has no effect on them"
        raise ContextasmError(f"{table.where('compress')}: compress", what, "take it away; `evict` moves memories")
    return policy


def _parse_pin(value: object, where: str) -> PinPolicy:
    keys = {"files": values.parse_inner_paths, "max_kb": _parse_kilobytes, "days": values.parse_count}
    pin = parse_table(value, where, keys, "write `files: PATTERN` under it")
    if not pin.get("files"):
        raise ContextasmError(where, "pins no files", "add `files: PATTERN`")
    return PinPolicy(**pin)


def _parse_compress(value: object, where: str) -> CompressPolicy:
    compress = CompressPolicy(**parse_table(value, where, _COMPRESS_KEYS, "write `after_days: 12` under it"))
    if not compress.uses_below:
        what = "no item has fewer than 0 uses, so nothing is ever compressed"
        raise ContextasmError(f"{where}: uses_below", what, "give 1 or more")
    if not 0 < compress.ratio < 1:
        what = f"{compress.ratio:g} is not a ratio of a shorter text to the full one"
        raise ContextasmError(f"{where}: ratio", what, "give one above 0 and below 1, such as 0.8")
    return compress


def _parse_evict(value: object, where: str) -> EvictPolicy:
    evict = parse_table(value, where, _EVICT_KEYS, "write `max_kb: 500` under it")
    if "max_kb" not in evict:
        raise ContextasmError(where, "evicts without a limit", "add `max_kb:`, the most kilobytes of all its items")
    for weight, other in (("lru", "quality"), ("quality", "lru")):
        if weight in evict:
            evict.setdefault(other, 1 - evict[weight])
    policy = EvictPolicy(**evict)
    if abs(policy.lru + policy.quality - 1) > 1e-9:
        what = f"the weights add up to {policy.lru + policy.quality:g}"
        raise ContextasmError(where, what, "have `lru` and `quality` add up to 1")
    return policy


def _parse_kilobytes(value: object, where: str) -> float:
    if not values.is_number(value, 0, LARGEST_KB):
        what = f"{values.describe_value(value)} is not a number of kilobytes"
        raise ContextasmError(where, what, f"give a number from 0 to {LARGEST_KB:,}, without a unit")
    return float(value)


_COMPRESS_KEYS: Mapping[str, ParseValue] = {
    "after_days": values.parse_count,
    "uses_below": values.parse_count,
    "ratio": values.parse_fraction,
    "summarize": values.parse_flag,
}

_EVICT_KEYS: Mapping[str, ParseValue] = {
    "max_kb": _parse_kilobytes,
    "lru": values.parse_fraction,
    "quality": values.parse_fraction,
    "to": values.one_of(PLACES),
}

POLICY_KEYS: Mapping[str, ParseValue] = {
    "files": values.parse_inner_paths,
    "types": values.parse_texts,
    "pin": _parse_pin,
    "compress": _parse_compress,
    "evict": _parse_evict,
}
"""The keys of a policy; each is a field of `RetentionPolicy`."""


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
    """The section of the settings, with defaults for missing keys.

    Raises `ContextasmError` for an unknown key or a value that can't be used.
    """
    if settings_file.get("upkeep") is None:
        return UpkeepSettings()
    where = f"{settings_file.where('upkeep')}: upkeep"
    hint = "write `logs:` and its keys under it"
    return UpkeepSettings(**parse_table(settings_file["upkeep"], where, UPKEEP_KEYS, hint))


def _parse_log_ages(value: object, where: str) -> LogAges:
    keys = {"archive": values.parse_count, "compress": values.parse_flag}
    return LogAges(**parse_table(value, where, keys, "write `archive: 30` under it"))


UPKEEP_KEYS: Mapping[str, ParseValue] = {"logs": _parse_log_ages, "retention": parse_retention}
"""The keys of the section; each is a field of `UpkeepSettings`."""
