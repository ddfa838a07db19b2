"""A request for a context: every choice fixed, no default and no clock."""

from datetime import date
from typing import NamedTuple

PERSONAL, SHARED = AUDIENCES = ("personal", "shared")
"""Audiences of a context; a shared one lacks everything private."""


class Filters(NamedTuple):
    """Restrictions on the fragments that are shown; an empty filter restricts nothing."""

    since: str = ""
    """First day of dated fragments, YYYY-MM-DD."""
    event_types: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """Ids, or patterns of paths."""


class Request(NamedTuple):
    """A request for a context, with every value fixed."""

    agent: str
    """Name; empty where the profile names no agent."""
    team: str
    """Name; empty for no team."""
    topic: str
    """Empty for no topic."""
    date: date
    """Day that counts as today."""
    budget: int
    """Tokens."""
    tokenizer: str
    format: str
    session: str = ""
    """Id of the session that is continued; empty for the session with the newest event."""
    open: tuple[str, ...] = ()
    """Paths of open files."""
    changed: tuple[str, ...] = ()
    """Paths of files that git reports as changed; empty where no layer needs them."""
    additional: str = ""
    """Text that is shown unchanged."""
    filters: Filters = Filters()
    privacy: str = "mask"
    """Treatment of secrets in texts: `mask`, `drop` for fragments of optional layers with one, or `off`."""
    prefer: tuple[str, ...] = ()
    """Ids of fragments that take precedence over others of their key."""
    audience: str = PERSONAL
    """One of `AUDIENCES`."""
