"""The section `upkeep` of `ctxasm.yaml`: what `ctxasm tidy` proposes, and from which age on."""

from __future__ import annotations

from typing import Annotated

from contextasm.config.input import values
from contextasm.config.input.yaml_loader import YamlMapping, parse_fields, parse_mapping
from contextasm.model import ContextasmError, NamedTuple

KILOBYTE = 1024
"""Bytes."""

LARGEST_KB = 1_000_000
"""Kilobytes; a larger limit is a slip of the finger."""

PLACES = ("cold", "frozen")
"""Places of what is evicted: the archive, and the archive with compressed files."""


class PinPolicy(NamedTuple):
    """The files that are never shortened or evicted."""

    files: Annotated[tuple[str, ...], values.parse_inner_paths]
    """Patterns of paths; if room is short, files of the first pattern go before files of the second."""
    max_kb: Annotated[float | None, _parse_kilobytes] = None
    """Most kilobytes that pins of the policy may have together; None for no limit."""
    days: Annotated[int | None, values.parse_count] = None
    """Age in days up to which a pin holds; None for any age."""


class CompressPolicy(NamedTuple):
    """The files that get a shorter form; age and few uses must both hold (digest 003-13)."""

    after_days: Annotated[int, values.parse_count] = 12
    """An item of a greater age is old."""
    uses_below: Annotated[int, values.parse_count] = 2
    """An item with fewer uses is little used."""
    ratio: Annotated[float, values.parse_fraction] = 0.8
    """The most that the size afterwards may be of the size before (digest 003-14)."""
    summarize: Annotated[bool, values.parse_flag] = False
    """Whether the configured summarizer words the shorter form; else it is made of the text's own sentences."""


class EvictPolicy(NamedTuple):
    """The items that leave the files that builds read (digest 003-15)."""

    max_kb: Annotated[float, _parse_kilobytes]
    """Most kilobytes that the items of the policy may have together, pins included."""
    lru: Annotated[float, values.parse_fraction] = 0.4
    """Weight of the time since the last use, 0 to 1."""
    quality: Annotated[float, values.parse_fraction] = 0.6
    """Weight of what an item lacks in quality, 0 to 1."""
    to: Annotated[str, values.one_of(PLACES)] = "cold"
    """One of `PLACES`."""


class RetentionPolicy(NamedTuple):
    """The policy of one type of content."""

    name: str
    line: int
    """Line of `ctxasm.yaml`, counted from 1."""
    files: Annotated[tuple[str, ...], values.parse_inner_paths] = ()
    """Patterns of paths; empty for all files of memories, if `types` are given."""
    types: Annotated[tuple[str, ...], values.parse_texts] = ()
    """Types of memories, as patterns; empty for files that hold no memories, and memories of any type."""
    pin: Annotated[PinPolicy | None, _parse_pin] = None
    compress: Annotated[CompressPolicy | None, _parse_compress] = None
    evict: Annotated[EvictPolicy | None, _parse_evict] = None


def parse_retention(value: object, where: str) -> tuple[RetentionPolicy, ...]:
    """The policies in their order; an item belongs to the first that fits it.

    Raises `ContextasmError` for an unknown key or a value that can't be used.
    """
    table = parse_mapping(value, where, "write the name of a policy, such as `docs:`, and its keys under it")
    return tuple(_parse_policy(name, table) for name in table)


def _parse_policy(name: str, retention: YamlMapping) -> RetentionPolicy:
    where = f"{retention.where(name)}: {name}"
    hint = "write `files:` and `evict:` or `compress:` under it"
    table = parse_mapping(retention[name], where, hint)
    policy = RetentionPolicy(name, retention.lines[name], **parse_fields(table, where, RetentionPolicy, hint))
    if not policy.files and not policy.types:
        raise ContextasmError(where, "names no files", "add `files: PATTERN`, or `types:` to name types of memories")
    if not policy.compress and not policy.evict:
        what = "has no effect: it neither compresses nor evicts"
        raise ContextasmError(where, what, "add `evict: {max_kb: 500}` or `compress: {after_days: 12}`")
    if policy.types and policy.compress:
        what = "memories have no shorter form, so `compress` has no effect on them"
        raise ContextasmError(f"{table.where('compress')}: compress", what, "remove it; `evict` moves memories")
    return policy


def _parse_pin(value: object, where: str) -> PinPolicy:
    pin = parse_fields(value, where, PinPolicy, "write `files: PATTERN` under it")
    if not pin.get("files"):
        raise ContextasmError(where, "pins no files", "add `files: PATTERN`")
    return PinPolicy(**pin)


def _parse_compress(value: object, where: str) -> CompressPolicy:
    compress = CompressPolicy(**parse_fields(value, where, CompressPolicy, "write `after_days: 12` under it"))
    if not compress.uses_below:
        what = "no item has fewer than 0 uses, so nothing would be compressed"
        raise ContextasmError(f"{where}: uses_below", what, "give 1 or more")
    if not 0 < compress.ratio < 1:
        what = f"{compress.ratio:g} is not between 0 and 1"
        raise ContextasmError(f"{where}: ratio", what, "give a number such as 0.8")
    return compress


def _parse_evict(value: object, where: str) -> EvictPolicy:
    evict = parse_fields(value, where, EvictPolicy, "write `max_kb: 500` under it")
    if "max_kb" not in evict:
        raise ContextasmError(where, "has no limit", "add `max_kb:`, the largest total size of all items in kilobytes")
    for weight, other in (("lru", "quality"), ("quality", "lru")):
        if weight in evict:
            evict.setdefault(other, 1 - evict[weight])
    policy = EvictPolicy(**evict)
    if abs(policy.lru + policy.quality - 1) > 1e-9:
        what = f"the weights add up to {policy.lru + policy.quality:g}"
        raise ContextasmError(where, what, "change `lru` and `quality` so that they add up to 1")
    return policy


def _parse_kilobytes(value: object, where: str) -> float:
    if not values.is_number(value, 0, LARGEST_KB):
        hint = f"give a number from 0 to {LARGEST_KB:,}, without a unit"
        raise values.wrong_number(value, where, "a number of kilobytes", hint)
    return float(value)


class LogAges(NamedTuple):
    """When a log is archived, and how; the day of a log is that of its name."""

    archive: Annotated[int, values.parse_count] = 30
    """The greatest age, in days, of a log that stays in place."""
    compress: Annotated[bool, values.parse_flag] = False
    """Whether archived logs are compressed with gzip."""


class UpkeepSettings(NamedTuple):
    """The parsed section."""

    logs: Annotated[LogAges, _parse_log_ages] = LogAges()
    retention: Annotated[tuple[RetentionPolicy, ...], parse_retention] = ()


def parse_upkeep(settings_file: YamlMapping) -> UpkeepSettings:
    """The section of the settings, with defaults for missing keys.

    Raises `ContextasmError` for an unknown key or a value that can't be used.
    """
    if settings_file.get("upkeep") is None:
        return UpkeepSettings()
    where = f"{settings_file.where('upkeep')}: upkeep"
    hint = "write `logs:` and its keys under it"
    return UpkeepSettings(**parse_fields(settings_file["upkeep"], where, UpkeepSettings, hint))


def _parse_log_ages(value: object, where: str) -> LogAges:
    return LogAges(**parse_fields(value, where, LogAges, "write `archive: 30` under it"))
