"""The user's command after a change of the output: one at a time, and once more where the output changed meanwhile."""

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
"""Seconds between the signal to end and the kill of a running command."""


class PostBuildCommand:
    """A shell command in a process group of its own, without input; it writes where this process does."""

    def __init__(self, command: str, wake: WakeupPipe, fail: Callable[[str], None]) -> None:
        """Prepare `command`; an empty one never runs. `fail` is called with a message after a failure."""
        self._command = command
        self._wake = wake
        self._fail = fail
        self._is_due = False
        self._running: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._running and self._running.poll() is None:
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._running.wait(PATIENCE)
            self._signal(signal.SIGKILL)

    def request(self) -> None:
        """Ask for a run: at the next `update`, or once the running one has ended."""
        self._is_due = bool(self._command)

    def update(self) -> None:
        """Report a failure of a run that has ended, and start a run that was asked for."""
        if self._running and self._running.poll() is not None:
            if code := self._running.returncode:
                ended = f"exit code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
                self._fail(f"--exec: {self._command}: {ended}")
            self._running = None
        if self._is_due and not self._running:
            self._is_due = False
            self._start()

    def _start(self) -> None:
        try:
            self._running = subprocess.Popen(  # noqa: S603 - the user's own command
                ["/bin/sh", "-c", self._command], stdin=subprocess.DEVNULL, process_group=0
            )
        except OSError as error:
            self._fail(f"--exec: {self._command}: {error.strerror}")
            return
        threading.Thread(target=self._nudge_at_end, args=(self._running,), daemon=True).start()

    def _nudge_at_end(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._wake.nudge()

    def _signal(self, number: signal.Signals) -> None:
        assert self._running
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._running.pid, number)
