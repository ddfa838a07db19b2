"""Hints that something changed, from the operating system; where it refuses to give them, from the clock.

A hint says when to look, never what to believe: which files count, and whether they changed, is not known here.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Self

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileAttribEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from contextasm.watch.wake import Wake

EVENTS: Sequence[type[FileSystemEvent]] = (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileAttribEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
)
"""What wakes us. Opening, reading and closing a file is not among it: the kernel is not even asked for that."""

Mark = tuple[bool, int, int]
"""Whether a folder is watched with all below it, and which folder it is on the disk."""


class _Nudging(FileSystemEventHandler):
    """Passes on what is news."""

    def __init__(self, nudge: Callable[[], None], news: Callable[[str], bool]) -> None:
        self._nudge = nudge
        self._news = news

    def on_any_event(self, event: FileSystemEvent) -> None:
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        if any(map(self._news, paths)):
            self._nudge()


class Hints:
    """A watch on folders that follows them when they are deleted and come back."""

    def __init__(self, wake: Wake, news: Callable[[str], bool], refused: Callable[[str], None]) -> None:
        """`news` knows the paths that are; `refused` is told once why there will be no hints."""
        self.given = True
        """Whether there are hints at all."""
        self._handler = _Nudging(wake.nudge, news)
        self._refused = refused
        self._observer: BaseObserver | None = None
        self._marks: Mapping[str, Mark] = {}
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


def _mark(path: str, *, deep: bool) -> Mark | None:
    """Which folder this is; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return deep, status.st_dev, status.st_ino


def _observer(handler: FileSystemEventHandler, marks: Mapping[str, Mark]) -> BaseObserver | None:
    """A running watch. Raises `OSError` where the system refuses it."""
    if not marks:
        return None
    observer = Observer()
    try:
        for path, (deep, _, _) in marks.items():
            observer.schedule(handler, path, recursive=deep, event_filter=[*EVENTS])
        observer.start()
    except BaseException:
        with suppress(OSError, RuntimeError):
            observer.stop()
        raise
    return observer


def _probe(marks: Mapping[str, Mark]) -> None:
    """Raise `OSError` where the user's watches are used up.

    watchdog says nothing of folders below the watched one that it could not get a watch for; so one more is asked for.
    """
    for path, (_, device, inode) in [*marks.items()][:1]:
        try:
            probe = _observer(FileSystemEventHandler(), {path: (False, device, inode)})
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            return
        if probe:
            probe.stop()
            probe.join(1)
