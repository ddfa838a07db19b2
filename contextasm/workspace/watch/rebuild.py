"""Turns: look at the disk, and build again if what the last build read has changed.

A turn that fails leaves the files as they are. When a turn is due, and how it is told of, is others' business.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import NamedTuple

from contextasm.model import Context, ContextasmError
from contextasm.workspace.atomic import as_bytes, write
from contextasm.workspace.outputs import OutputFile, pending_writes, refuse_inputs
from contextasm.workspace.watch.rescan import NOTHING, Rescan, WorkspaceAnswers, merge_answers

AT_ONCE = ("--", "CTXASM_", "SOURCE_DATE_EPOCH", "agent")
"""How the place of an error begins that no change of a file is likely to put right."""


class BuildResult(NamedTuple):
    """What a build came to."""

    context: Context
    text: str
    day: Callable[[], date] | None
    """Today as the build took it; None where the day is named."""
    others: Sequence[Path]
    """Files outside of the workspace that counted."""


class WatchSpec(NamedTuple):
    """What is to be kept up to date."""

    root: Path
    """The workspace, links not followed: they may be changed."""
    build: Callable[[Rescan], BuildResult]
    targets: Sequence[OutputFile]
    others: Callable[[], Sequence[Path]]
    """Files outside of the workspace that count, as far as is known without a build."""

    @property
    def own(self) -> frozenset[str]:
        """The real paths of the files that are written."""
        return frozenset(target.real for target in self.targets)


class Rebuild(NamedTuple):
    """One build and what became of it."""

    why: Sequence[str]
    """The paths that changed; `start`, `date` or `again` where it was for another reason."""
    context: Context | None
    """None where the build failed."""
    written: Sequence[Path]
    """The files whose content changed."""
    error: str
    """Empty where nothing went wrong."""
    seconds: float


class Rebuilder:
    """Turns at one wish, one after the other."""

    def __init__(self, wish: WatchSpec) -> None:
        self.others: frozenset[str] = frozenset()
        """Files outside of the workspace that count, and the workspace itself under the name it was given."""
        self._wish = wish
        self._asked: WorkspaceAnswers = NOTHING
        self._day: Callable[[], date] | None = None
        self._date: date | None = None
        self._error = ""
        self._again = False
        """Whether the text could not be written, for which no file of the workspace need be the cause."""
        self._lost = False
        """Whether the workspace could not be looked at."""
        self._first = True

    def folders(self) -> dict[str, bool]:
        """The folders to watch; True for those with all below them."""
        root = os.path.realpath(self._wish.root)
        self.others = frozenset((*self._asked.others, *map(str, self._wish.others()), str(self._wish.root)))
        near = {os.path.dirname(path) for path in (*self.others, root)}
        return {**{each: False for each in sorted(near) if not f"{each}/".startswith(f"{root}/")}, root: True}

    def restless(self) -> bool:
        """Whether it is worth looking soon, hint or none: the workspace has gone, and nobody tells when it is back."""
        return self._lost

    def take(self, *, look: bool) -> Rebuild | None:
        """Build if there is a reason to; None if there is none. Without `look` only the day may be one.

        Raises `ContextasmError` where the first turn fails for what no change of a file can put right.
        """
        why = ["start"] if self._first else []
        if self._day and (today := self._day()) != self._date:
            why.append("date")
            self._date = today
        disk = None
        if look:
            disk, changes = self._look()
            why += changes
        return self._build(disk, why) if why else None

    def _look(self) -> tuple[Rescan | None, Sequence[str]]:
        """The workspace as it is now, None where it can't be looked at, and what is new."""
        lost, again = self._lost, self._again
        try:
            disk = Rescan(self._wish.root, self._asked, self._wish.own)
            changes = [*dict.fromkeys(disk.changes(self._asked))]
            self._asked = merge_answers(self._asked, disk.asked(map(Path, self._asked.others)))
        except ContextasmError as error:
            self._lost = True
            return None, [error.where] if not lost else []
        self._lost = False
        return disk, changes or (["again"] if lost or again else [])

    def _build(self, disk: Rescan | None, why: Sequence[str]) -> Rebuild | None:
        started = time.perf_counter()
        context, written, error = None, [], ""
        self._again = False
        try:
            disk = disk or Rescan(self._wish.root, self._asked, self._wish.own)
            built = self._wish.build(disk)
            self._remember(disk, built)
            refuse_inputs(self._wish.targets, disk.root, built.context)
            self._again = True
            files = pending_writes(self._wish.targets, as_bytes(built.text))
            written = [file.path for file in files if write(file.path, file.data)]
            context, self._again = built.context, False
        except (ContextasmError, OSError) as failure:
            if self._first and isinstance(failure, ContextasmError) and failure.where.startswith(AT_ONCE):
                raise
            error = " ".join(str(failure).split())
            if not self._again:
                self._widen(disk)
        told = [*why] == ["again"] and error == self._error
        self._first, self._error = False, error
        return None if told else Rebuild(why, context, written, error, time.perf_counter() - started)

    def _remember(self, disk: Rescan, built: BuildResult) -> None:
        """Take note of what the build depends on."""
        self._asked = disk.asked(built.others)
        self._day = built.day
        self._date = built.context.request.date

    def _widen(self, disk: Rescan | None) -> None:
        """Take note of what a build that failed may depend on: more than it came to ask for."""
        if not disk:
            return
        with suppress(ContextasmError):
            for path in (*disk.list("**/*.yaml"), *disk.list("**/*.yml")):
                disk.read(path)
        self._asked = merge_answers(self._asked, disk.asked(self._wish.others()))
