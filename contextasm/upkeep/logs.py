"""Planner of logs: those that are no longer warm move to the archive beside them, where a topic still finds them.

A log is active up to an age of 7 days, warm up to 30 and archived after, by the settings `upkeep: logs`. Its day is
that of its name, and it is never moved back. Only the move to the archive changes a file: the other states are ages.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from contextasm.config.upkeep import LogAges
from contextasm.text.dates import parse_date, split_dated_name
from contextasm.upkeep.action import Action, Move
from contextasm.upkeep.upkeep_input import UpkeepInput

LOG_FOLDERS = ("agents/*/daily", "teams/*/daily")
"""Folders of dated logs; the archive of one is its folder `archive`."""

STATES = ("active", "warm", "archived")


def log_state(age: int, ages: LogAges) -> str:
    """The state of a log of an age in days, which is negative for a day to come: one of `STATES`."""
    return STATES[(age > ages.warm) + (age > ages.archive)]


def plan_logs(upkeep: UpkeepInput) -> Iterator[Action]:
    """One action for each folder with logs that are to be archived, the oldest log first."""
    ages = upkeep.settings.logs
    for pattern in LOG_FOLDERS:
        by_folder: dict[str, list[Move]] = {}
        for path in upkeep.workspace.list(f"{pattern}/*.md"):
            day = log_date(path)
            if day and log_state((upkeep.today - day).days, ages) == "archived":
                by_folder.setdefault(path.rpartition("/")[0], []).extend(_archive_moves(upkeep, path, day))
        for moves in filter(None, by_folder.values()):
            paths = tuple(move.path for move in moves)
            reason = f"older than {ages.archive} days; a topic still finds {'them' if paths[1:] else 'it'}"
            yield Action("archive", paths, reason, needs_approval=False, moves=tuple(moves))


def log_date(path: str) -> date | None:
    """The day that the name of a log begins with; None for a name without a day of the calendar."""
    parts = split_dated_name(path.rpartition("/")[2])
    return parse_date(parts[0]) if parts else None


def _archive_moves(upkeep: UpkeepInput, path: str, day: date) -> Iterator[Move]:
    """The move of a log; none for a link, and where a file of that name stands in the archive already."""
    folder, _, name = path.rpartition("/")
    target = f"{folder}/archive/{day.year:04}/{name}"
    taken = upkeep.workspace.exists(target) or upkeep.workspace.exists(f"{target}.gz")
    if not taken and upkeep.workspace.stamp(path):
        yield Move(path, f"{target}.gz" if upkeep.settings.logs.compress else target)
