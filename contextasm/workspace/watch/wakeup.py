"""Waking up: what a process sleeps on while nothing happens, and the signals that end it.

Built on a pipe, for that is what may be written to from a signal's handler and from any thread.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class WakeupPipe:
    """Something to wait on, which others nudge."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        # Only this end: a thread that is late must not write into a file that has got the other's number since.
        os.close(self._out)

    def nudge(self) -> None:
        """End the wait; safe from a thread and from a signal's handler."""
        with suppress(OSError):  # full: nudged often enough
            os.write(self._in, b".")

    def wait(self, seconds: float) -> bool:
        """Whether there was a nudge within this time, or since the last wait."""
        if not select.select([self._out], [], [], max(seconds, 0))[0]:
            return False
        os.read(self._out, 1 << 16)
        return True


class EndSignals:
    """Signals that ask the process to end, noted instead of breaking in where something is half done."""

    def __init__(self, wake: WakeupPipe) -> None:
        self.code = 0
        """The exit code that a signal asks for; 0 while there was none."""
        self._wake = wake
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for each in SIGNALS:
            if signal.getsignal(each) != signal.SIG_IGN:  # `nohup`, and `&` in a script, ask for that
                self._before[each] = signal.signal(each, self._note)
        return self

    def __exit__(self, *_error: object) -> None:
        self._restore()

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.code = 128 + number
        # A second signal ends the process at once.
        self._restore()
        self._wake.nudge()

    def _restore(self) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)
        self._before = {}
