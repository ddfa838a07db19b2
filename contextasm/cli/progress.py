"""Progress of a slow build on a terminal: one line on standard error that goes away when the build is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from contextasm.cli.output import shown_line

SILENT_SECONDS = 1.0
"""A build that is done sooner shows nothing."""

ERASE_LINE = "\r\x1b[K"


@contextmanager
def progress_line(describe: Callable[[], str], *, quiet: bool, after: float = SILENT_SECONDS) -> Iterator[None]:
    """Show the description, with the seconds so far, each second from `after` on.

    Nothing is shown where standard error is no terminal, or with `quiet`.
    """
    if quiet or not sys.stderr or not sys.stderr.isatty():
        yield
        return
    import threading  # here: a build in a pipe needs no thread
    import time

    started, done = time.monotonic(), threading.Event()

    def show() -> None:
        wait = after
        while not done.wait(wait):
            line = shown_line(f"ctxasm: {describe()} ({time.monotonic() - started:.0f} s)")
            sys.stderr.write(f"{ERASE_LINE}{line}")
            sys.stderr.flush()
            wait = 1.0

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if time.monotonic() - started >= after:
            sys.stderr.write(ERASE_LINE)
            sys.stderr.flush()
