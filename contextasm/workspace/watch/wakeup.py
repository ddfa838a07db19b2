"""Waking up: a pipe to wait on while nothing happens, and the signals that end the process.

A pipe may be written to from a signal's handler and from any thread.
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
    """A pipe to wait on until somebody nudges it."""

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
        """End the wait; safe to call from a thread and from a signal's handler."""
        with suppress(OSError):  # full: nudged often enough
            os.write(self._in, b".")

    def wait(self, seconds: float) -> bool:
        """Whether there was a nudge since the last wait, or there is one within `seconds`."""
        if not select.select([self._out], [], [], max(seconds, 0))[0]:
            return False
        os.read(self._out, 1 << 16)
        return True


class EndSignals:
    """Signals that ask the process to end; they set a code and do not interrupt work that is half done."""

    def __init__(self, wake: WakeupPipe) -> None:
        self.code = 0
        """Exit code of the signal that came; 0 before one has."""
        self._wake = wake
        self._old_handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # `nohup`, and `&` in a script, ask for that
                self._old_handlers[number] = signal.signal(number, self._set_code)
        return self

    def __exit__(self, *_error: object) -> None:
        self._restore_handlers()

    def _set_code(self, number: int, _frame: FrameType | None) -> None:
        self.code = 128 + number
        # A second signal ends the process at once.
        self._restore_handlers()
        self._wake.nudge()

    def _restore_handlers(self) -> None:
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._old_handlers = {}
