"""What was typed and what a process finds itself in, before anything is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple


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
