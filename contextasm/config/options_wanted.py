"""What of the finds is wanted, and by when, as typed: checked, and made into values."""

from __future__ import annotations

from collections.abc import Sequence

from contextasm.config import values
from contextasm.model import ContextasmError, Filters


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
