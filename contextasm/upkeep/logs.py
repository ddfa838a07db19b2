"""Planner of logs: logs that are older than 30 days move to the archive, in which a topic finds them; and long files.

The age is a setting, `upkeep: logs: archive`. The day of a log is that of its name, and it is never moved back.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from contextasm.config.hosts.loader import load_host
from contextasm.config.keys.upkeep import LogAges
from contextasm.model import Document
from contextasm.selection.tokens import LENGTHS
from contextasm.text.names.dates import day_of_name
from contextasm.text.names.places import archived_path
from contextasm.upkeep.actions import Action, Move
from contextasm.upkeep.input import UpkeepInput


def is_due_for_archive(today: date, day: date, ages: LogAges) -> bool:
    """Whether a log of this day is old enough for the archive."""
    return (today - day).days > ages.archive


def plan_logs(upkeep: UpkeepInput) -> Iterator[Action]:
    """One action for each folder with logs that are to be archived, the oldest log first.

    A log of which the archive has a file already is left for a person, in an action of its own.
    """
    ages = upkeep.settings.logs
    for pattern in upkeep.log_folders:
        by_folder: dict[str, list[Move]] = {}
        for path in upkeep.list_files(f"{pattern}/*.md"):
            day = day_of_name(path)
            if not day or not is_due_for_archive(upkeep.today, day, ages) or not upkeep.workspace.stamp(path):
                continue
            target = archived_path(path, day)
            copies = [place for place in (target, f"{target}.gz") if upkeep.workspace.exists(place)]
            if copies:
                yield _settle(upkeep, path, copies[0])
            else:
                move = Move(path, f"{target}.gz" if ages.compress else target)
                by_folder.setdefault(path.rpartition("/")[0], []).append(move)
        for moves in by_folder.values():
            paths = tuple(move.path for move in moves)
            reason = f"older than {ages.archive} days; searches for a topic still find {'them' if paths[1:] else 'it'}"
            yield Action("archive", paths, reason, needs_approval=False, moves=tuple(moves))


def plan_long_files(upkeep: UpkeepInput) -> Iterator[Action]:
    """A message for each file that is longer than what the host of a profile shows of it."""
    for name in dict.fromkeys(profile.host for profile in upkeep.profiles if profile.host):
        host = load_host(name, "host")
        for path, limits in ((path, rule.each) for rule in host.loads for path in rule.files):
            read = upkeep.workspace.read(path)
            text = read.data.decode("utf-8", "replace") if isinstance(read, Document) else ""
            length = LENGTHS["chars"].units(text.rstrip() if limits.trimmed else text)
            if limits.chars and length > limits.chars:
                reason = f"{host.summary} shows {limits.chars:,} of its {length:,} characters: shorten it"
                hint = f"`ctxasm check --host {name}` names the lines that the model never sees"
                yield Action("settle", (path,), f"{reason}; {hint}", needs_approval=False)


def _settle(upkeep: UpkeepInput, path: str, archived: str) -> Action:
    """A message about a log that is in its folder and in the archive: a topic finds it twice."""
    log, other = upkeep.workspace.read(path), upkeep.workspace.read(archived)
    if isinstance(log, Document) and isinstance(other, Document) and log.whole == other.whole:
        reason = f"the archived copy has the same text: delete {path}"
    else:
        reason = "the archive has another log of this name: merge the two logs into one"
    return Action("settle", (path, archived), reason, needs_approval=False)
