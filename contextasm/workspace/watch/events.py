"""Hints that something changed, from the operating system; where it refuses to give them, from the clock.

A hint says when to look, never what to believe: which files count, and whether they changed, is not known here.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol, Self

from contextasm.workspace.watch.wakeup import WakeupPipe

FileMark = tuple[bool, int, int]
"""Whether a folder is watched with all below it, and which folder it is on the disk."""


class Observer(Protocol):
    """What is needed of a native watch, a thread with others below it."""

    @property
    def emitters(self) -> Any:
        """The threads below."""

    def is_alive(self) -> bool:
        """Whether it runs."""

    def stop(self) -> None:
        """Ask it, and those below, to end."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, at most so many seconds."""


class _Nudging:
    """Passes on what is news."""

    def __init__(self, nudge: Callable[[], None], news: Callable[[str], bool]) -> None:
        self._nudge = nudge
        self._news = news

    def dispatch(self, event: Any) -> None:
        """What watchdog calls for each event."""
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        if any(map(self._news, paths)):
            self._nudge()


class FileEvents:
    """A watch on folders that follows them when they are deleted and come back."""

    def __init__(self, wake: WakeupPipe, news: Callable[[str], bool], refused: Callable[[str], None]) -> None:
        """`news` knows the paths that are; `refused` is told once why there will be no hints."""
        self.given = True
        """Whether there are hints at all."""
        self._handler = _Nudging(wake.nudge, news)
        self._refused = refused
        self._observer: Observer | None = None
        self._marks: Mapping[str, FileMark] = {}
        # What watchdog logs, such as an overflow of the kernel's queue, the next look at the disk makes up for.
        logging.getLogger("watchdog").addHandler(logging.NullHandler())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop()

    def follow(self, folders: Mapping[str, bool]) -> None:
        """Watch these folders, those that say True with all below them; missing ones when they are there."""
        if not self.given:
            return
        marks = {path: mark for path, deep in folders.items() if (mark := _mark(path, deep=deep))}
        if marks == self._marks and self._alive():
            return
        self._stop()
        self._marks = marks
        try:
            self._observer = _observer(self._handler, marks)
            _probe(marks)
        except (OSError, RuntimeError) as error:  # the second where no thread can be started
            self._stop()
            self.given = False
            self._refused(getattr(error, "strerror", None) or str(error))

    def _alive(self) -> bool:
        """Whether every thread of the watch still runs; one ends where its folder is deleted."""
        if not self._observer:
            return not self._marks
        return self._observer.is_alive() and all(each.is_alive() for each in self._observer.emitters)

    def _stop(self) -> None:
        if self._observer:
            with suppress(OSError, RuntimeError):
                self._observer.stop()
                self._observer.join(1)
        self._observer = None


def _mark(path: str, *, deep: bool) -> FileMark | None:
    """Which folder this is; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return deep, status.st_dev, status.st_ino


def _observer(handler: Any, marks: Mapping[str, FileMark]) -> Observer | None:
    """A running watch. Raises `OSError` where the system refuses it."""
    from watchdog import events
    from watchdog.observers import Observer as Native

    # Opening, reading and closing a file is not among these: the kernel is not even asked for that.
    files = (events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent)
    folders = (events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent)
    wanted = [*files, events.FileClosedEvent, events.FileAttribEvent, *folders]
    if not marks:
        return None
    observer = Native()
    try:
        for path, (deep, _, _) in marks.items():
            observer.schedule(handler, path, recursive=deep, event_filter=wanted)
        observer.start()
    except BaseException:
        with suppress(OSError, RuntimeError):
            observer.stop()
        raise
    return observer


def _probe(marks: Mapping[str, FileMark]) -> None:
    """Raise `OSError` where the user's watches are used up.

    watchdog says nothing of folders below the watched one that it could not get a watch for; so one more is asked for.
    """
    try:
        probe = _observer(_Nudging(lambda: None, bool), dict.fromkeys([*marks][:1], (False, 0, 0)))
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        return
    if probe:
        probe.stop()
        probe.join(1)
