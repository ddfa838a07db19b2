"""Progress of a slow command on a terminal: one line on standard error that goes away when the command is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextasm.config.build import PreparedBuild

from contextasm.cli.output import has_live_line, shown_line

SILENT_SECONDS = 1.0
"""A build that is done sooner shows nothing."""

ERASE_LINE = "\r\x1b[K"


BAR_WIDTH = 30
"""Columns of a bar."""


def build_progress(
    prepared: PreparedBuild, doing: str, also: str = "", *, quiet: bool = False
) -> AbstractContextManager[None]:
    """Show how many files a build has read, or how much of an index is made.

    `doing` says what the command does, and `also` what follows the number of files.
    """
    reads = getattr(prepared.build.workspace, "reads", ())
    steps = getattr(prepared.build.memory_index, "steps", None)

    def describe() -> str:
        share = steps.share if steps else None
        if share is None:
            return f"{doing}: {len(reads):,} files read{also}"
        return f"{doing}: indexing memories {_bar(share)} {share:.0%}"

    return progress_line(describe, quiet=quiet, after=SILENT_SECONDS)


def _bar(share: float) -> str:
    """A bar without colours: the line that it stands in is cleaned of all codes."""
    from rich.console import Console
    from rich.progress_bar import ProgressBar

    console = Console(file=sys.stderr, color_system=None)
    with console.capture() as capture:
        console.print(ProgressBar(1.0, share, width=BAR_WIDTH), end="")
    return capture.get()


@contextmanager
def progress_line(describe: Callable[[], str], *, quiet: bool, after: float = SILENT_SECONDS) -> Iterator[None]:
    """Show the description, with the seconds so far, each second from `after` on.

    Nothing is shown in a pipe, on a dumb terminal, or with `quiet`.
    """
    if quiet or not has_live_line():
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
