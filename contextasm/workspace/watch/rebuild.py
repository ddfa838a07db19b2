"""Rebuilding: compare the disk with the answers to the last build, and build again if they differ.

A file whose status has not changed is not read again. A build that fails leaves the files as they are.
`workspace/watch/loop.py` decides when to look, and reports a build.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import date
from pathlib import Path

from contextasm.model import Context, ContextasmError, Document, FileStamp, NamedTuple
from contextasm.text.cleaning.clean import shown_name
from contextasm.text.markdown.blocks import passage
from contextasm.workspace.atomic import as_bytes, refuse_unwritable, write
from contextasm.workspace.editing.files import locked
from contextasm.workspace.editing.journal import recovery_text
from contextasm.workspace.folder import Folder, is_below
from contextasm.workspace.outputs import InputFiles, OutputFile, pending_write, refuse_cited, refuse_inputs
from contextasm.workspace.reading import file_bytes
from contextasm.workspace.recording import Read
from contextasm.workspace.storage import Overlay

PERMANENT_ERRORS = ("-o", "--", "CTXASM_", "SOURCE_DATE_EPOCH", "agent")
"""Beginnings of the places of errors that no change of a file is likely to end."""

LOCK_SECONDS = 0.2
"""Seconds to wait for the lock of a managed block; then the watch goes on, and tries again at its next look."""


_SETTLED = 100_000_000
"""Nanoseconds after a change within which a second one may leave the same time stamp, however coarse the clock is."""

Reading = tuple[FileStamp | None, Read]
"""Stamp of a file before it was read, and the result of reading.

No stamp if an equal one later would not prove that the content is the same.
"""


class Rescan(Folder):
    """Folder that asks the disk for each list and each file once, and reads only files that changed since `before`."""

    def __init__(self, root: Path, before: Mapping[str, Reading], overlay: Overlay | None = None) -> None:
        """`before` has the results of an earlier scan by path."""
        super().__init__(root, overlay)
        self._before = before
        self.lists: dict[str, Sequence[str]] = {}
        """Paths by the pattern that was listed."""
        self.reads: dict[str, Reading] = {}
        """Results by the path that was read."""

    def list(self, pattern: str) -> Sequence[str]:
        """Paths of the matching files, as they were the first time."""
        if pattern not in self.lists:
            self.lists[pattern] = super().list(pattern)
        return self.lists[pattern]

    def read(self, path: str) -> Read:
        """The document as it was the first time; the earlier one if its status or its bytes are the same."""
        if path not in self.reads:
            self.reads[path] = self._reading(path)
        return self.reads[path][1]

    def real_path(self, path: str) -> str:
        """The absolute path of a file with all links followed."""
        return os.path.realpath(self._full(path))

    def _reading(self, path: str) -> Reading:
        stamp, before = self.stamp(path), self._before.get(path)
        if before and stamp and before[0] == stamp:
            return before
        if stamp and time.time_ns() - max(stamp.modified, stamp.changed) < _SETTLED:
            stamp = None
        answer = super().read(path)
        # Equal content is the same value: a file that was only touched has not changed.
        return stamp, before[1] if before and _is_same_answer(before[1], answer) else answer


def _is_same_answer(one: Read, other: Read) -> bool:
    if isinstance(one, Document) and isinstance(other, Document):
        return one.data == other.data
    return one == other


def _differs_outside_block(one: Read, other: Read) -> bool:
    """Whether somebody else changed a file that holds a managed block, or held one."""
    if not isinstance(one, Document) or not isinstance(other, Document):
        return False
    if not any(gap.reason == "block" for gap in (*one.gaps, *other.gaps)):
        return False
    texts = (passage(document, document.line, document.text)[1].rstrip() for document in (one, other))
    return next(texts) != next(texts) or one.front != other.front


class BuildResult(NamedTuple):
    """Context and text of one build, and inputs of it besides the workspace."""

    context: Context
    text: str
    day: Callable[[], date] | None
    """Function that gives today as the build sees it; None if the user names the day."""
    others: Sequence[str]
    """Files outside of the workspace that count."""
    inputs: InputFiles
    """All files that builds could read, none of which may be written."""
    metrics: str = ""
    """Metrics of the build; empty if no file for them is named."""


class WatchSpec(NamedTuple):
    """Workspace, build and files of one watch."""

    root: Path
    """The workspace, links not followed: they may be changed."""
    build: Callable[[Rescan], BuildResult]
    targets: Sequence[OutputFile]
    """Files to keep up to date."""
    others: Callable[[], Sequence[str]]
    """Files outside of the workspace that count, as far as can be said without a build."""
    overlay: Overlay | None = None
    """What has the memories of some owners in another place, and keeps the files up to date that are read of them."""

    @property
    def target_paths(self) -> frozenset[str]:
        """The real paths of the files to keep up to date."""
        return frozenset(target.real for target in self.targets)


class Rebuild(NamedTuple):
    """Result of one attempt to build."""

    why: Sequence[str]
    """The paths that changed; `start`, `date` or `again` for another reason."""
    context: Context | None
    """None if the build failed."""
    seconds: float
    errors: Sequence[str]
    """Empty if nothing went wrong; with a context, of files that could not be brought up to date."""
    written: Sequence[Path] = ()
    """The files, as the user named them, whose content changed."""
    unchanged: Sequence[Path] = ()


class Rebuilder:
    """Builds of one watch, one after the other."""

    def __init__(self, spec: WatchSpec, warn: Callable[[str], None]) -> None:
        """`warn` gets messages that do not belong to a build: an interrupted application of upkeep was undone."""
        self.others: frozenset[str] = frozenset()
        """Files outside of the workspace that count, and the workspace itself under the name it was given."""
        self._spec = spec
        self._root = os.path.realpath(spec.root)
        self._outputs = spec.target_paths
        self._blocks = {target.real for target in spec.targets if target.managed}
        self._temporary = tuple(f"{os.path.dirname(path)}/.{os.path.basename(path)[:100]}." for path in self._outputs)
        self._warn = warn
        self._recovery = ""
        self._lists: Mapping[str, Sequence[str]] = {}
        """The lists that the last build depends on: their paths by their patterns."""
        self._reads: Mapping[str, Reading] = {}
        """The files of the workspace that it depends on."""
        self._contents: Mapping[str, bytes | None] = {}
        """The files outside of the workspace that it depends on."""
        self._today: Callable[[], date] | None = None
        self._date: date | None = None
        self._errors: Sequence[str] = ()
        self._write_failed = False
        """Whether the text could not be written, which need not be the fault of a file of the workspace."""
        self._lock_missed = False
        """Whether another process held the lock that a managed block needs."""
        self._workspace_missing = False
        """Whether the workspace could not be read."""
        self._is_first = True

    def folders(self) -> dict[str, bool]:
        """The folders to watch; True for a folder with all below it."""
        root = os.path.realpath(self._spec.root)
        self.others = frozenset((*self._contents, *self._spec.others(), str(self._spec.root)))
        parents = {os.path.dirname(path) for path in (*self.others, root)}
        return {**{folder: False for folder in sorted(parents) if not f"{folder}/".startswith(f"{root}/")}, root: True}

    def is_relevant(self, path: str) -> bool:
        """Whether a change of a path is worth a look at the disk.

        An output that is there, its temporary file, and anything in `.ctxasm/`, in git or outside of the workspace is
        not. A file with a managed block is: its other text may be an input.
        """
        if path in self._outputs:
            return path in self._blocks or not os.path.exists(path)
        if path.startswith(self._temporary) and path.endswith(".tmp"):
            return False
        if not is_below(path, self._root):
            return path in self.others
        below = path.removeprefix(self._root) + "/"
        return not below.startswith(("/.ctxasm/", "/.git/"))

    def should_retry(self) -> bool:
        """Whether to look soon without a hint: no hint comes when the workspace is back, or its lock is free."""
        return self._workspace_missing or self._lock_missed

    def rebuild_if_changed(self, *, look: bool) -> Rebuild | None:
        """Build if there is a reason to; else None. Without `look` a new day is the only reason.

        Raises `ContextasmError` if the first build fails with an error that no change of a file ends.
        """
        why = ["start"] if self._is_first else []
        if self._today and (today := self._today()) != self._date:
            why.append("date")
            self._date = today
        disk = None
        if look:
            disk, changes = self._rescanned()
            why += changes
            if disk and not why and not self._errors:
                why += [str(each.path) for each in self._spec.targets if not os.path.exists(each.full)]
        return self._rebuild(disk, why) if why else None

    def _rescanned(self) -> tuple[Rescan | None, Sequence[str]]:
        """The workspace as it is now, None if it can't be read, and the reasons to build again."""
        was_missing, write_failed = self._workspace_missing, self._write_failed
        try:
            disk = self._rescan()
            changes = [*dict.fromkeys(map(shown_name, self._changes(disk)))]
            self._depend_on(disk, self._contents)
        except ContextasmError as error:
            self._workspace_missing = True
            return None, [error.where] if not was_missing else []
        self._workspace_missing = False
        return disk, changes or (["again"] if was_missing or write_failed else [])

    def _rescan(self) -> Rescan:
        return Rescan(self._spec.root, self._reads, self._spec.overlay)

    def _changes(self, disk: Rescan) -> Iterator[str]:
        """Paths at which the disk differs from what the last build depends on; a path may come more than once."""
        outputs = self._spec.target_paths
        for pattern, paths in self._lists.items():
            differing = sorted({*paths} ^ {*disk.list(pattern)})
            yield from (path for path in differing if disk.real_path(path) not in outputs)
        for path, (_, before) in self._reads.items():
            now = disk.read(path)
            if _is_same_answer(before, now):
                continue
            if disk.real_path(path) not in outputs or _differs_outside_block(before, now):
                yield path
        for path, content in self._contents.items():
            if _content(path) != content:
                yield path

    def _rebuild(self, disk: Rescan | None, why: Sequence[str]) -> Rebuild | None:
        """The build and its files; None if a second attempt failed with the same error."""
        started = time.perf_counter()
        context, written, unchanged = None, list[Path](), list[Path]()
        self._write_failed = self._lock_missed = False
        try:
            disk = disk or self._rescan()
            result = self._spec.build(disk)
            self._depend_on(disk, result.others)
            self._today, self._date = result.day, result.context.request.date
            refuse_inputs(self._spec.targets, result.inputs)
            refuse_cited(self._spec.targets, disk.root, result.context.cited)
            written, unchanged, errors = self._update_files(result)
            context = result.context
            self._write_failed = bool(errors)
        except (ContextasmError, OSError) as failure:
            if self._is_first and isinstance(failure, ContextasmError) and failure.where.startswith(PERMANENT_ERRORS):
                raise
            errors = [_error_line(failure)]
            self._depend_on_yaml_files(disk)
        is_reported = [*why] == ["again"] and errors == self._errors and not written
        self._is_first, self._errors = False, errors
        seconds = time.perf_counter() - started
        return None if is_reported else Rebuild(why, context, seconds, errors, written, unchanged)

    def _update_files(self, result: BuildResult) -> tuple[list[Path], list[Path], list[str]]:
        """Bring each file up to date; gives the written files, the unchanged ones, and an error for each of the others.

        A file of metrics is new after each build, and is not given.
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
        return written, unchanged, errors

    def _update_file(self, target: OutputFile, data: bytes) -> bool:
        """Bring a file up to date; whether its content changed. Raises `ContextasmError` and `OSError`."""
        # Absolute: the current folder may be gone, and back under its name.
        target = target._replace(path=Path(target.full))
        with ExitStack() as held:
            if target.managed:
                self._hold_lock(held)
            _, new = pending_write(target, data)
            refuse_unwritable(target.path)
            return write(target.path, new)

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

    def _depend_on(self, disk: Rescan, others: Iterable[str]) -> None:
        """Look for changes of what `disk` was asked for, and of files outside of the workspace, from now on."""
        self._lists, self._reads = disk.lists, disk.reads
        self._contents = {path: _content(path) for path in others}

    def _depend_on_yaml_files(self, disk: Rescan | None) -> None:
        """Add the YAML files that a failed build may depend on, although it did not read them."""
        if not disk:
            return
        with suppress(ContextasmError):
            for path in (*disk.list("**/*.yaml"), *disk.list("**/*.yml")):
                disk.read(path)
        self._depend_on(disk, {*self._contents, *self._spec.others()})


def _content(path: str) -> bytes | None:
    """The content of a file that is not read through the workspace, such as a profile; None for an unreadable one."""
    data = file_bytes(path)
    return data if isinstance(data, bytes) else None


def _error_line(error: Exception) -> str:
    return " ".join(str(error).split())
