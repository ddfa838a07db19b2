"""A request for a context: every choice fixed, no default and no clock."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple


class Filters(NamedTuple):
    """What of the finds is wanted; empty for all."""

    since: str = ""
    """YYYY-MM-DD: nothing dated before it."""
    event_types: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """Ids, or patterns of paths."""


class Request(NamedTuple):
    """What is asked for, with nothing left open: no default, no clock."""

    agent: str
    """Empty where the profile names no agent."""
    team: str
    """Empty for no team."""
    topic: str
    """Empty for no topic."""
    date: date
    """The day that counts as today."""
    budget: int
    """Tokens."""
    tokenizer: str
    format: str
    session: str = ""
    """The id of the session that goes on; empty for the one with the newest event."""
    open: tuple[str, ...] = ()
    """Paths of the files that are open."""
    changed: tuple[str, ...] = ()
    """Paths of the files that git calls changed; empty where no layer asks."""
    additional: str = ""
    """Text to be shown as it is."""
    filters: Filters = Filters()
    prefer: tuple[str, ...] = ()
    """Ids of fragments that win over others of their key."""
