"""The command that runs after the output has changed: one at a time, and once more if the output changed meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from contextasm.workspace.watch.wakeup import WakeupPipe

PATIENCE = 2.0
"""Seconds that a running command has to end in before it is killed."""


class PostBuildCommand:
    """A shell's command, in a process group of its own; it reads nothing, and writes where this process does."""

    def __init__(self, command: str, wake: WakeupPipe, fail: Callable[[str], None]) -> None:
        """An empty `command` does nothing; `fail` is told of one that failed."""
        self._command = command
        self._wake = wake
        self._fail = fail
        self._due = False
        self._running: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._running and self._running.poll() is None:
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._running.wait(PATIENCE)
            self._signal(signal.SIGKILL)

    def ask(self) -> None:
        """Have it run, now or after the one that is running."""
        self._due = bool(self._command)

    def tend(self) -> None:
        """Tell of one that has ended; start one that is due."""
        if self._running and self._running.poll() is not None:
            if code := self._running.returncode:
                ended = f"exit code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
                self._fail(f"--exec: {self._command}: {ended}")
            self._running = None
        if self._due and not self._running:
            self._due = False
            self._start()

    def _start(self) -> None:
        try:
            self._running = subprocess.Popen(  # noqa: S603 - the user's own command
                ["/bin/sh", "-c", self._command], stdin=subprocess.DEVNULL, process_group=0
            )
        except OSError as error:
            self._fail(f"--exec: {self._command}: {error.strerror}")
            return
        threading.Thread(target=self._wait, args=(self._running,), daemon=True).start()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._wake.nudge()

    def _signal(self, number: signal.Signals) -> None:
        assert self._running
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._running.pid, number)
