"""Rebuilding: compare the disk with the answers to the last build, and build again where they differ.

A build that fails leaves the files as they are. When to look, and how a build is reported, is in `watch/loop.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from datetime import date
from pathlib import Path
from typing import NamedTuple

from contextasm.model import Context, ContextasmError
from contextasm.workspace.atomic import as_bytes, refuse_unwritable, write
from contextasm.workspace.editing.files import locked
from contextasm.workspace.editing.journal import recovery_text
from contextasm.workspace.folder import Folder, Overlay
from contextasm.workspace.inputs import InputFiles, refuse_inputs
from contextasm.workspace.outputs import OutputFile, pending_writes
from contextasm.workspace.watch.rescan import NOTHING, Rescan, WorkspaceAnswers, merge_answers

PERMANENT_ERRORS = ("-o", "--", "CTXASM_", "SOURCE_DATE_EPOCH", "agent")
"""Beginnings of an error's place where no change of a file is likely to end the error."""

LOCK_SECONDS = 0.2
"""Seconds to wait for the lock of a managed block; then the watch goes on, and tries again at its next look."""


class BuildResult(NamedTuple):
    """Context and text of one build, and inputs of it besides the workspace."""

    context: Context
    text: str
    day: Callable[[], date] | None
    """Function that gives today as the build sees it; None where the user names the day."""
    others: Sequence[Path]
    """Files outside of the workspace that count."""
    inputs: InputFiles
    """All files that builds could read, none of which may be written."""
    metrics: str = ""
    """Metrics of the build; empty where no file for them is named."""


class WatchSpec(NamedTuple):
    """Workspace, build and files of one watch."""

    root: Path
    """The workspace, links not followed: they may be changed."""
    build: Callable[[Rescan], BuildResult]
    targets: Sequence[OutputFile]
    """Files to keep up to date."""
    others: Callable[[], Sequence[Path]]
    """Files outside of the workspace that count, as far as can be said without a build."""
    overlay: Overlay | None = None
    """Folders of the workspace whose files lie in the mirror of a shared store."""
    follow_store: Callable[[Callable[[], None], Callable[[str], None]], AbstractContextManager[None]] = (
        lambda _nudge, _warn: nullcontext()
    )
    """Keeps the mirror up to date for as long as its result is open; calls the first function after changes, and the
    second with warnings."""

    @property
    def target_paths(self) -> frozenset[str]:
        """The real paths of the files to keep up to date."""
        return frozenset(target.real for target in self.targets)


class Rebuild(NamedTuple):
    """Result of one attempt to build."""

    why: Sequence[str]
    """The paths that changed; `start`, `date` or `again` where there was another reason."""
    context: Context | None
    """None where the build failed."""
    files: FileUpdates
    errors: Sequence[str]
    """Empty where nothing went wrong; an error for each file that could not be brought up to date."""
    seconds: float


class FileUpdates(NamedTuple):
    """The files of a build, as the user named them, by their state after it."""

    written: Sequence[Path] = ()
    """Those whose content changed."""
    unchanged: Sequence[Path] = ()
    errors: Sequence[str] = ()
    """An error for each of the others."""


class Rebuilder:
    """Builds of one watch, one after the other."""

    def __init__(self, spec: WatchSpec, warn: Callable[[str], None]) -> None:
        """`warn` is given what belongs to no build: that an interrupted application of upkeep was taken back."""
        self.others: frozenset[str] = frozenset()
        """Files outside of the workspace that count, and the workspace itself under the name it was given."""
        self._spec = spec
        self._warn = warn
        self._recovery = ""
        self._answers: WorkspaceAnswers = NOTHING
        """Answers that the last build depends on."""
        self._today: Callable[[], date] | None = None
        self._date: date | None = None
        self._errors: Sequence[str] = ()
        self._write_failed = False
        """Whether the text could not be written, for which no file of the workspace need be the cause."""
        self._lock_missed = False
        """Whether another process held the lock that a managed block needs."""
        self._workspace_missing = False
        """Whether the workspace could not be looked at."""
        self._is_first = True

    def folders(self) -> dict[str, bool]:
        """The folders to watch; True for a folder with all below it."""
        root = os.path.realpath(self._spec.root)
        self.others = frozenset((*self._answers.others, *map(str, self._spec.others()), str(self._spec.root)))
        parents = {os.path.dirname(path) for path in (*self.others, root)}
        return {**{folder: False for folder in sorted(parents) if not f"{folder}/".startswith(f"{root}/")}, root: True}

    def should_retry(self) -> bool:
        """Whether to look soon without a hint: none tells when the workspace is back, or its lock is free."""
        return self._workspace_missing or self._lock_missed

    def rebuild_if_changed(self, *, look: bool) -> Rebuild | None:
        """Build if there is a reason to; None if there is none. Without `look` a new day is the only reason.

        Raises `ContextasmError` where the first build fails with an error that no change of a file can end.
        """
        why = ["start"] if self._is_first else []
        if self._today and (today := self._today()) != self._date:
            why.append("date")
            self._date = today
        disk = None
        if look:
            disk, changes = self._rescanned()
            why += changes
            why += self._missing_targets() if disk and not why and not self._errors else ()
        return self._rebuild(disk, why) if why else None

    def _rescanned(self) -> tuple[Rescan | None, Sequence[str]]:
        """The workspace as it is now, None where it can't be looked at, and the reasons to build again."""
        was_missing, write_failed = self._workspace_missing, self._write_failed
        try:
            disk = self._rescan()
            changes = [*dict.fromkeys(disk.changes(self._answers))]
            self._answers = merge_answers(self._answers, disk.answers(map(Path, self._answers.others)))
        except ContextasmError as error:
            self._workspace_missing = True
            return None, [error.where] if not was_missing else []
        self._workspace_missing = False
        return disk, changes or (["again"] if was_missing or write_failed else [])

    def _rescan(self) -> Rescan:
        return Rescan(self._spec.root, self._answers, self._spec.target_paths, self._spec.overlay)

    def _rebuild(self, disk: Rescan | None, why: Sequence[str]) -> Rebuild | None:
        """The build and its files; None where a second attempt failed with the same error."""
        started = time.perf_counter()
        context, files = None, FileUpdates()
        self._write_failed = self._lock_missed = False
        try:
            disk = disk or self._rescan()
            result = self._spec.build(disk)
            self._depend_on(disk, result)
            refuse_inputs(self._spec.targets, result.inputs)
            context, files = result.context, self._update_files(result)
            self._write_failed, errors = bool(files.errors), files.errors
        except (ContextasmError, OSError) as failure:
            if self._is_first and isinstance(failure, ContextasmError) and failure.where.startswith(PERMANENT_ERRORS):
                raise
            errors = [_error_line(failure)]
            self._depend_on_more(disk)
        is_reported = [*why] == ["again"] and errors == self._errors and not files.written
        self._is_first, self._errors = False, errors
        return None if is_reported else Rebuild(why, context, files, errors, time.perf_counter() - started)

    def _update_files(self, result: BuildResult) -> FileUpdates:
        """Bring each file up to date that can be: one that can't leaves the others to be written.

        A file of metrics is new after each build, and no news.
        """
        text, metrics = as_bytes(result.text), as_bytes(result.metrics)
        written, unchanged, errors = list[Path](), list[Path](), list[str]()
        for target in self._spec.targets:
            try:
                if target.kind == "metrics":
                    self._update_file(target, metrics)
                else:
                    (written if self._update_file(target, text) else unchanged).append(target.path)
            except (ContextasmError, OSError) as failure:
                errors.append(_error_line(failure))
        return FileUpdates(written, unchanged, errors)

    def _update_file(self, target: OutputFile, data: bytes) -> bool:
        """Bring a file up to date; whether its content changed. Raises `ContextasmError` and `OSError`."""
        # Absolute: the current folder may be gone, and back under its name.
        target = target._replace(path=Path(target.full))
        with ExitStack() as held:
            if target.managed:
                self._hold_lock(held)
            (file,) = pending_writes([target], data)
            refuse_unwritable(file.path)
            return write(file.path, file.data)

    def _hold_lock(self, held: ExitStack) -> None:
        try:
            recovery = held.enter_context(locked(Folder(self._spec.root), edits=False, patience=LOCK_SECONDS))
        except ContextasmError:
            self._lock_missed = True
            raise
        text = recovery_text(recovery)
        if text and text != self._recovery:
            self._warn(text)
        self._recovery = text

    def _missing_targets(self) -> Sequence[str]:
        """The files that were written and are gone."""
        return [str(target.path) for target in self._spec.targets if not os.path.exists(target.full)]

    def _depend_on(self, disk: Rescan, result: BuildResult) -> None:
        self._answers = disk.answers(result.others)
        self._today = result.day
        self._date = result.context.request.date

    def _depend_on_more(self, disk: Rescan | None) -> None:
        """Add the YAML files that a failed build may depend on, although it did not come to read them."""
        if not disk:
            return
        with suppress(ContextasmError):
            for path in (*disk.list("**/*.yaml"), *disk.list("**/*.yml")):
                disk.read(path)
        self._answers = merge_answers(self._answers, disk.answers(self._spec.others()))


def _error_line(error: Exception) -> str:
    return " ".join(str(error).split())
