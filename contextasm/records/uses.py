"""Uses of files and fragments, counted from the records of a workspace: nothing else counts them.

A use is a record of a build that showed something of it. Records are in `.ctxasm/records/`, where `--record` writes
them; equal builds of unchanged files have one record together, and count once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from contextasm.model import ContextasmError, NamedTuple, Problem
from contextasm.records.record import verified_fields
from contextasm.records.replay import record_paths
from contextasm.workspace.reading import file_bytes

SHOWN = {"included", "shortened", "truncated"}
"""Outcomes of fragments of which a context shows something."""


RecordedBuild = tuple[str, str, date]
"""Agent, team and day of a build that has a record."""


class ItemUses(NamedTuple):
    """Uses of a file or a fragment, as far as records tell."""

    times: int
    """Records of builds that showed it."""
    last: date | None
    """Day of the newest of these builds; None for none."""
    builds: int
    """Records of builds that showed it or could have: for its owner, of its own day or later. 0: uses are unknown."""


class RecordedUses:
    """Uses in all records of a workspace."""

    def __init__(self, builds: Sequence[RecordedBuild], shown: dict[str, list[date]], problems: list[Problem]) -> None:
        """Of these builds; `shown` has the days of the builds that showed something, by path and by `PATH#FRAGMENT`."""
        self._builds = builds
        self._shown = shown
        self._days: dict[tuple[str, str], list[date]] = {}
        self.problems: Sequence[Problem] = problems
        """Problems of records that can't be read; their builds count for nothing."""

    def of(self, path: str, day: date, fragment: str = "") -> ItemUses:
        """Uses of the file at `path`, or of a fragment of it, that has been there since `day`.

        A build for another agent or another team could not have shown what is theirs, so its record tells nothing.
        One that showed the whole file as a document showed its fragments.
        """
        keys = {_use_key(path, fragment), _use_key(path, fragment and path)}
        days = [day for key in keys for day in self._shown.get(key, [])]
        builds = self.days_of_builds(path)
        able = len(builds) - bisect_left(builds, day)
        return ItemUses(len(days), max(days, default=None), max(able, len(days)))

    def days_of_builds(self, path: str = "") -> Sequence[date]:
        """Days of the builds for the owner of a path, in ascending order; of all builds for a path without owner."""
        folder, name = [*path.split("/"), ""][:2]
        if (folder, name) not in self._days:
            at = {"agents": 0, "teams": 1}.get(folder)
            days = (build[-1] for build in self._builds if at is None or build[at] == name)
            self._days[folder, name] = sorted(days)
        return self._days[folder, name]


def count_uses(root: str, today: date = date.max, days: int = date.max.toordinal()) -> RecordedUses:
    """The uses in the records of the workspace at `root`, of builds up to `days` days before `today`; none without."""
    builds: list[RecordedBuild] = []
    shown: dict[str, list[date]] = defaultdict(list)
    problems: list[Problem] = []
    for path in record_paths(Path(root)):
        where = path.relative_to(root).as_posix()
        data = file_bytes(str(path))
        if not isinstance(data, bytes):
            problems.append(Problem(data.code, where, 0, data.message))
            continue
        try:
            build, keys = _build_and_shown(data, where)
        except ContextasmError as error:
            problems.append(Problem("record", where, 0, error.what, error.hint))
            continue
        if 0 <= (today - build[-1]).days <= days:
            builds.append(build)
            for key in keys:
                shown[key].append(build[-1])
    return RecordedUses(builds, shown, problems)


def _build_and_shown(data: bytes, where: str) -> tuple[RecordedBuild, set[str]]:
    """The build of a record, and the keys of what it showed. Raises `ContextasmError` for what is not a record."""
    fields: dict[str, Any] = verified_fields(data, where)
    try:
        request = fields["request"]
        decisions = [decision for decision in fields["decisions"] if decision["outcome"] in SHOWN]
        build = (str(request["agent"]), str(request["team"]), date.fromisoformat(request["date"]))
        keys = {_use_key(decision["path"], name) for decision in decisions for name in ("", decision["fragment"])}
    except (ValueError, KeyError, TypeError) as error:
        raise ContextasmError(where, f"can't be understood: {error}", "remove it") from error
    return build, keys


def _use_key(path: str, fragment: str) -> str:
    return f"{path}#{fragment}" if fragment else path
