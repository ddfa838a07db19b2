"""Planner of logs: those that are no longer warm move to the archive beside them, where a topic still finds them.

A log is active up to an age of 7 days, warm up to 30 and archived after, by the settings `upkeep: logs`; its day is that
of its name, and it is never moved back. Only the move to the archive changes a file: the other states are ages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from contextasm.config.upkeep import LogAges
from contextasm.text.dates import parse_date, split_dated_name
from contextasm.upkeep.action import Action, Move
from contextasm.upkeep.upkeep_input import UpkeepInput

LOG_FOLDERS = ("agents/*/daily", "teams/*/daily")
"""Folders of dated logs; the archive of one is its folder `archive`."""

STATES = ("active", "warm", "archived")


class OldLog(NamedTuple):
    """A log that is to be archived."""

    path: str
    age: int
    """In days."""
    year: str


def log_state(age: int, ages: LogAges) -> str:
    """The state of a log of an age in days, which is negative for a day to come: one of `STATES`."""
    return STATES[(age > ages.warm) + (age > ages.archive)]


def plan_logs(upkeep: UpkeepInput) -> Iterator[Action]:
    """One action for each log that is to be archived, the oldest of a folder first."""
    for folder in LOG_FOLDERS:
        for path in upkeep.workspace.list(f"{folder}/*.md"):
            log = _old_log(upkeep, path)
            if log and (move := _archive_move(upkeep, log)):
                reason = f"{log.age} days old; logs are archived after {upkeep.settings.logs.archive}"
                yield Action("archive", (path,), reason, needs_approval=False, moves=(move,))


def _old_log(upkeep: UpkeepInput, path: str) -> OldLog | None:
    parts = split_dated_name(path.rpartition("/")[2])
    day = parse_date(parts[0]) if parts else None
    if day is None:
        return None
    age = (upkeep.today - day).days
    return OldLog(path, age, f"{day:%Y}") if log_state(age, upkeep.settings.logs) == "archived" else None


def _archive_move(upkeep: UpkeepInput, log: OldLog) -> Move | None:
    """The move of a log; None for a link, and where a file of that name stands in the archive already."""
    if upkeep.workspace.stamp(log.path) is None:
        return None
    folder, _, name = log.path.rpartition("/")
    target = f"{folder}/archive/{log.year}/{name}"
    if upkeep.workspace.exists(target) or upkeep.workspace.exists(f"{target}.gz"):
        return None
    return Move(log.path, f"{target}.gz" if upkeep.settings.logs.compress else target)
