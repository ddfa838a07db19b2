"""What was typed and what a process finds itself in, before anything is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from contextasm.config import values
from contextasm.model import ContextasmError, Filters


class Options(NamedTuple):
    """What was typed, nothing checked yet; None for what was not."""

    workspace: str | None = None
    agent: str | None = None
    team: str | None = None
    topic: str | None = None
    profile: str | None = None
    budget: str | None = None
    tokenizer: str | None = None
    date: str | None = None
    tz: str | None = None
    format: str | None = None
    layers: tuple[str, ...] = ()
    """`ID=N`, one for each `--layer`."""
    strategy: str | None = None
    scope: str | None = None
    session: str | None = None
    open: tuple[str, ...] = ()
    additional: str | None = None
    since: str | None = None
    event_types: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    deadline: str | None = None
    """Milliseconds."""
    variables: tuple[str, ...] = ()
    """`NAME=VALUE`, one for each `--var`."""


class ProcessEnvironment(NamedTuple):
    """What a process finds itself in."""

    environment: Mapping[str, str]
    folder: Path
    """The current one."""
    now: Callable[[], float]
    """The time in seconds since 1970; asked for once, and only where nothing else names the day."""


def parse_filters(
    since: str | None, event_types: Sequence[str], entity_types: Sequence[str], exclude: Sequence[str]
) -> Filters:
    """The filters of `--since`, `--event-type`, `--entity-type` and `--exclude`."""
    day = values.parse_day(since, "--since").isoformat() if since else ""
    return Filters(day, tuple(event_types), tuple(entity_types), tuple(exclude))


def parse_deadline(deadline: str | None) -> float | None:
    """The time that `--deadline` gives in milliseconds; None for no end."""
    if deadline is None:
        return None
    if not deadline.isdecimal() or not 0 < int(deadline) <= values.LARGEST:
        raise ContextasmError("--deadline", f"{deadline} is no time in milliseconds", "give one above 0, such as 500")
    return int(deadline) / 1000
