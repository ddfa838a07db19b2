"""Watch: build, and build again whenever what the build depends on has changed, until a signal comes.

Hints only say when to look; whether something changed is read off the disk. One build at a time, in this thread.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import NamedTuple

from contextasm.workspace.watch.command import PostBuildCommand
from contextasm.workspace.watch.events import FileEvents
from contextasm.workspace.watch.rebuild import Rebuild, Rebuilder, WatchSpec
from contextasm.workspace.watch.wakeup import EndSignals, WakeupPipe

QUIET, LIMIT = 0.05, 0.5
"""Seconds without a hint after which a change counts as complete, and seconds after which it does anyway."""

BEAT = 3.0
"""Seconds after which the date is compared, and the disk looked at, without a hint: some file systems give none."""

POLL = 1.0
"""Seconds between looks where no hints can be had."""


class WatchReporter(NamedTuple):
    """How a watch speaks."""

    ready: Callable[[], None]
    """After the first turn."""
    turn: Callable[[Rebuild], None]
    warn: Callable[[str], None]


def watch_workspace(wish: WatchSpec, voice: WatchReporter, command: str = "", poll: float | None = None) -> int:
    """Keep the wish's files up to date; the exit code that the signal asks for which ended it.

    `command` runs after each change of a file. `poll` is for looking every so many seconds instead of waiting for
    hints. Raises `ContextasmError` where the first build can't be done as asked.
    """
    # A build alone collects no garbage; this may run for weeks. A build makes some ten thousand values that all live
    # until its end: with the usual threshold a quarter of its time would go into looking through them.
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()
    turns = Rebuilder(wish)
    news = _News(wish, turns)

    def refused(why: str) -> None:
        hint = f"looking every {POLL:g} s instead; a higher fs.inotify limit may help"
        voice.warn(f"{wish.root}: can't be watched natively: {why}: {hint}")

    with WakeupPipe() as wake, EndSignals(wake) as ending, FileEvents(wake, news.holds, refused) as hints:
        hints.given = poll is None
        with PostBuildCommand(command, wake, voice.warn) as after:
            ready, hinted, looks = False, True, _Looks(poll)
            while not ending.code:
                hints.follow(turns.folders())
                turn = looks.timed(turns, hinted=hinted or not hints.given)
                if turn:
                    voice.turn(turn)
                if turn and turn.written:
                    after.ask()
                after.tend()
                if not ready:
                    ready = True
                    voice.ready()
                hinted = wake.wait(looks.patience(soon=turns.restless() or not hints.given))
                if hinted and not ending.code:
                    _settle(wake)
    return ending.code


class _Looks:
    """When to look at the disk, by what it costs."""

    def __init__(self, poll: float | None) -> None:
        self._poll = poll
        self._last = self._cost = 0.0

    def timed(self, turns: Rebuilder, *, hinted: bool) -> Rebuild | None:
        """A turn, with a look at the disk where there was a hint or where it is time."""
        started = time.monotonic()
        look = hinted or turns.restless() or started - self._last >= max(BEAT, 200 * self._cost)
        turn = turns.take(look=look)
        if look:
            self._last = time.monotonic()
            self._cost = self._last - started
        return turn

    def patience(self, *, soon: bool) -> float:
        """Seconds to wait for a hint."""
        if self._poll is not None:
            return self._poll
        return max(POLL, 10 * self._cost) if soon else BEAT


class _News:
    """Which paths are worth a look when they change."""

    def __init__(self, wish: WatchSpec, turns: Rebuilder) -> None:
        self._root = os.path.realpath(wish.root)
        self._turns = turns
        self._own = wish.own
        self._temporary = tuple(f"{os.path.dirname(path)}/.{os.path.basename(path)[:100]}." for path in wish.own)

    def holds(self, path: str) -> bool:
        """Not an output nor a neighbour that becomes one, nor anything in `.ctxasm/`, git or beside the workspace."""
        if path in self._own or (path.startswith(self._temporary) and path.endswith(".tmp")):
            return False
        if path != self._root and not path.startswith(f"{self._root}/"):
            return path in self._turns.others
        below = path.removeprefix(self._root) + "/"
        return not below.startswith(("/.ctxasm/", "/.git/"))


def _settle(wake: WakeupPipe) -> None:
    """Wait until nothing has changed for a moment, or long enough."""
    end = time.monotonic() + LIMIT
    while (left := end - time.monotonic()) > 0 and wake.wait(min(QUIET, left)):
        pass
