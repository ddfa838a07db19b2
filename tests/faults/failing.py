"""What fails on purpose: a workspace, a function of the system, and a disk that loses what was not synced."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from contextasm.model import Document, Problem, Workspace

CODES = (errno.ENOENT, errno.EACCES, errno.EIO, errno.ELOOP, errno.EISDIR, errno.ENOSPC)

FAULTS: dict[str, Callable[[], BaseException]] = {
    **{errno.errorcode[code]: partial(OSError, code, os.strerror(code)) for code in CODES},
    "MemoryError": MemoryError,
}
"""The faults by name, each made anew."""


class Countdown:
    """Raises a fault at the n-th call, counted from 1: once, or from then on."""

    def __init__(self, fault: str, at: int, *, forever: bool) -> None:
        self._make, self._at, self._forever = FAULTS[fault], at, forever
        self.calls = 0

    def __call__(self) -> None:
        """Count a call, and raise where it has to fail."""
        self.calls += 1
        if self.calls == self._at or (self._forever and self.calls > self._at):
            raise self._make()

    @property
    def has_failed(self) -> bool:
        """Whether a call has failed."""
        return self.calls >= self._at


class FailingWorkspace:
    """A workspace whose n-th call fails (`model.Workspace`)."""

    def __init__(self, workspace: Workspace, countdown: Countdown) -> None:
        self._workspace, self._countdown = workspace, countdown

    def list(self, pattern: str) -> Sequence[str]:
        """Paths, unless it fails."""
        self._countdown()
        return self._workspace.list(pattern)

    def read(self, path: str) -> Document | Problem | None:
        """A document, unless it fails."""
        self._countdown()
        return self._workspace.read(path)


@contextmanager
def failing_calls(monkeypatch: pytest.MonkeyPatch, name: str, countdown: Countdown, root: Path) -> Iterator[None]:
    """Let the n-th call of a function of `os` fail, of those for paths below `root` and for open files."""
    real: Callable[..., Any] = getattr(os, name)

    def call(*arguments: Any, **options: Any) -> Any:
        if isinstance(arguments[0], int) or str(arguments[0]).startswith(str(root)):
            countdown()
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, call)
        yield


class FakeDisk:
    """A folder whose states are recorded after each step of a writer, as they would be after a crash there."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._synced: dict[int, bytes] = {path.stat().st_ino: path.read_bytes() for path in folder.iterdir()}
        self.steps: list[str] = []
        self.states: list[dict[str, tuple[bytes, bytes]]] = []
        """Content by name after each step: with all that was written, and with what was synced alone."""
        for name in ("open", "write", "fchmod", "fsync", "replace", "unlink"):
            monkeypatch.setattr(os, name, self._recorded(name, getattr(os, name)))

    def _recorded(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            result = real(*arguments, **options)
            if name == "fsync":
                status = os.fstat(arguments[0])
                path = next(path for path in self._folder.iterdir() if path.stat().st_ino == status.st_ino)
                self._synced[status.st_ino] = self._content(path)
            self.steps.append(name)
            self.states.append(
                {
                    path.name: (self._content(path), self._synced.get(path.stat().st_ino, b""))
                    for path in self._folder.iterdir()
                }
            )
            return result

        self._open = getattr(self, "_open", os.open)
        self._read = os.read
        return call

    def _content(self, path: Path) -> bytes:
        handle = self._open(path, os.O_RDONLY)
        try:
            return self._read(handle, 1 << 20)
        finally:
            os.close(handle)

    def contents_after_crash(self, name: str) -> set[bytes]:
        """Everything that a file may hold after a crash at any step."""
        return {content for state in self.states for content in state.get(name, ())}
