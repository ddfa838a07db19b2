"""The loop of a watch: build, and build again after each change of an input, until a signal comes.

Hints only say when to look; the disk says whether something changed. This thread does one build at a time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing, nullcontext, suppress
from typing import Protocol

from contextasm.workspace.watch.events import EndSignals, FileEvents, Wakeup
from contextasm.workspace.watch.rebuild import Rebuild, Rebuilder, WatchSpec

PATIENCE = 2.0
"""Seconds between the signal to end and the kill of a running command."""


class PostBuildCommand:
    """A shell command in a process group of its own, without input; it has the output of this process."""

    def __init__(self, command: str, wake: Wakeup, fail: Callable[[str], None]) -> None:
        """Prepare `command`; an empty one never runs. `fail` is called with a message after a failure."""
        self._command = command
        self._wake = wake
        self._fail = fail
        self._is_due = False
        self._running: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End a run that has not ended."""
        if self._running and self._running.poll() is None:
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._running.wait(PATIENCE)
            self._signal(signal.SIGKILL)

    def request(self) -> None:
        """Ask for a run: at the next `update`, or after the running one has ended."""
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


QUIET, LIMIT = 0.05, 0.5
"""Seconds without a hint after which a change counts as complete, and seconds after which it does anyway."""

BEAT = 3.0
"""Seconds after which the date is compared, and the disk looked at, without a hint: some file systems give none."""

POLL = 1.0
"""Seconds between looks if no hints come."""


class WatchReporter(Protocol):
    """Output for the messages of a watch."""

    def ready(self) -> None:
        """Report that the first build is done, and that changes are seen from now on."""

    def report(self, rebuild: Rebuild) -> None:
        """Report a build that was made or failed."""

    def warn(self, message: str) -> None:
        """Report a warning that belongs to no build."""


def watch_workspace(spec: WatchSpec, reporter: WatchReporter, command: str = "", poll: float | None = None) -> int:
    """Keep the files of `spec` up to date; gives the exit code of the signal that ended the watch.

    `command` runs after each change of a file. `poll` is the number of seconds between looks at the disk; None is for
    hints in place of regular looks. Raises `ContextasmError` if the first build can't be done as asked.
    """
    rebuilder = Rebuilder(spec, reporter.warn)

    def refuse(reason: str) -> None:
        hint = f"ctxasm scans the files every {POLL:g} s; a higher fs.inotify limit may help"
        reporter.warn(f"{spec.root}: can't be watched by events ({reason}): {hint}")

    wake = Wakeup()
    with closing(EndSignals(wake)) as signals, closing(FileEvents(wake, rebuilder.is_relevant, refuse)) as events:
        events.given = poll is None
        followed = spec.overlay.follow(wake.nudge, reporter.warn) if spec.overlay else nullcontext()
        with closing(PostBuildCommand(command, wake, reporter.warn)) as post_build, followed:
            is_ready, hinted, schedule = False, True, _LookSchedule(poll)
            while not signals.code:
                events.follow(rebuilder.folders())
                rebuild = schedule.rebuild_if_due(rebuilder, hinted=hinted or not events.given)
                if rebuild:
                    reporter.report(rebuild)
                if rebuild and rebuild.written:
                    post_build.request()
                post_build.update()
                if not is_ready:
                    is_ready = True
                    reporter.ready()
                hinted = wake.wait(schedule.wait_seconds(soon=rebuilder.should_retry() or not events.given))
                if hinted and not signals.code:
                    _wait_until_quiet(wake)
    return signals.code


class _LookSchedule:
    """Times to look at the disk: the longer a look takes, the fewer there are."""

    def __init__(self, poll: float | None) -> None:
        self._poll = poll
        self._last_look = self._cost = 0.0

    def rebuild_if_due(self, rebuilder: Rebuilder, *, hinted: bool) -> Rebuild | None:
        """A build if there is a reason for one, after a look at the disk if a hint came or much time has passed."""
        started = time.monotonic()
        look = hinted or rebuilder.should_retry() or started - self._last_look >= max(BEAT, 200 * self._cost)
        rebuild = rebuilder.rebuild_if_changed(look=look)
        if look:
            self._last_look = time.monotonic()
            self._cost = self._last_look - started
        return rebuild

    def wait_seconds(self, *, soon: bool) -> float:
        """Seconds to wait for a hint; fewer with `soon`."""
        if self._poll is not None:
            return self._poll
        return max(POLL, 10 * self._cost) if soon else BEAT


def _wait_until_quiet(wake: Wakeup) -> None:
    """Wait until no hint has come for `QUIET`, at most for `LIMIT`."""
    end = time.monotonic() + LIMIT
    while (left := end - time.monotonic()) > 0 and wake.wait(min(QUIET, left)):
        pass
