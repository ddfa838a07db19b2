"""Hints of the operating system that something changed.

A hint says when to look. Other modules decide which files count, whether they changed, and when to look if the system
gives no hints.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Wakeup:
    """A wait that a nudge ends."""

    def __init__(self) -> None:
        self._nudges: SimpleQueue[None] = SimpleQueue()

    def nudge(self) -> None:
        """End the wait; safe to call from a thread and from a signal's handler."""
        if self._nudges.empty():
            self._nudges.put(None)

    def wait(self, seconds: float) -> bool:
        """Whether there was a nudge since the last wait, or there is one within `seconds`."""
        try:
            self._nudges.get(timeout=max(seconds, 0))
        except Empty:
            return False
        return True


class EndSignals:
    """Signals that ask the process to end; they set a code and do not interrupt work."""

    def __init__(self, wake: Wakeup) -> None:
        self.code = 0
        """Exit code of the signal that came; 0 before one has."""
        self._wake = wake
        self._old_handlers: dict[signal.Signals, Any] = {}

        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # `nohup`, and `&` in a script, ask for that
                self._old_handlers[number] = signal.signal(number, self._set_code)

    def _set_code(self, number: int, _frame: FrameType | None) -> None:
        self.code = 128 + number
        # A second signal ends the process at once.
        self.close()
        self._wake.nudge()

    def close(self) -> None:
        """Have the signals do again what they did before."""
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._old_handlers = {}


FileMark = tuple[bool, int, int]
"""Whether a folder is watched with all below it, and its device and inode."""


class FileEvents:
    """Native watch on folders, also after they were deleted and made again."""

    def __init__(self, wake: Wakeup, is_relevant: Callable[[str], bool], refuse: Callable[[str], None]) -> None:
        """Nudge `wake` for relevant paths. `refuse` is called once, with the reason, if no hints will come."""
        self.given = True
        """Whether the system gives hints."""
        self._wake = wake
        self._is_relevant = is_relevant
        self._refuse = refuse
        self._observer: Any = None
        """Thread of watchdog, with one below it for each folder; None if no folder is watched."""
        self._marks: Mapping[str, FileMark] = {}
        # The next look at the disk corrects what watchdog logs, such as an overflow of the kernel's queue.
        logging.getLogger("watchdog").addHandler(logging.NullHandler())
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="watchdog|threading")

    def dispatch(self, event: Any) -> None:
        """Handle one event; watchdog calls it by this name."""
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        if any(map(self._is_relevant, paths)):
            self._wake.nudge()

    def follow(self, folders: Mapping[str, bool]) -> None:
        """Watch these folders, and all below those with True; a missing one is watched after it is made."""
        if not self.given:
            return
        marks = {path: mark for path, deep in folders.items() if (mark := _folder_mark(path, deep=deep))}
        if marks == self._marks and self._all_threads_run():
            return
        self.close()
        self._marks = marks
        try:
            self._observer = _started_observer(self, marks)
            _check_watches_left(self, marks)
        except (OSError, RuntimeError) as error:  # the second if no thread can be started
            self.close()
            self.given = False
            self._refuse(getattr(error, "strerror", None) or str(error))

    def _all_threads_run(self) -> bool:
        # The thread of a folder ends when the folder is deleted.
        if not self._observer:
            return not self._marks
        return self._observer.is_alive() and all(thread.is_alive() for thread in self._observer.emitters)

    def close(self) -> None:
        """End the watch; `follow` begins another one."""
        if self._observer:
            with suppress(OSError, RuntimeError):
                self._observer.stop()
                self._observer.join(1)
        self._observer = None


def _folder_mark(path: str, *, deep: bool) -> FileMark | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return deep, status.st_dev, status.st_ino


def _started_observer(handler: Any, marks: Mapping[str, FileMark]) -> Any:
    """A running watch on the folders, None for no folders. Raises `OSError` if the system refuses it."""
    from watchdog import events
    from watchdog.observers import Observer as Native

    # Opening, reading and closing a file is not among these: the kernel is not even asked for that.
    files = (events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent)
    folders = (events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent)
    event_types = [*files, events.FileClosedEvent, events.FileAttribEvent, *folders]
    if not marks:
        return None
    observer = Native()
    try:
        for path, (deep, _, _) in marks.items():
            observer.schedule(handler, path, recursive=deep, event_filter=event_types)
        observer.start()
    except BaseException:
        with suppress(OSError, RuntimeError):
            observer.stop()
        raise
    return observer


def _check_watches_left(handler: Any, marks: Mapping[str, FileMark]) -> None:
    """Raise `OSError` if the user has no watch left.

    watchdog does not report folders below the watched one that got no watch; so this asks for one more.
    """
    try:
        probe = _started_observer(handler, dict.fromkeys([*marks][:1], (False, 0, 0)))
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        return
    if probe:
        probe.stop()
        probe.join(1)
