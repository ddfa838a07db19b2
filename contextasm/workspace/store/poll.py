"""Polling of a store for a watch: a thread that brings the mirror up to date, again and again.

The server could tell of changes by itself (NOTIFY), but then every commit would wait for a lock of the whole server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from contextasm.model import ContextasmError, FileStamp
from contextasm.workspace.store.errors import PULL_PROBLEMS
from contextasm.workspace.store.overlay import StoreOverlay

INTERVAL = 1.0
"""Seconds between two questions."""

_Pages = Mapping[str, Mapping[str, FileStamp]]
"""The pages of a mirror by their homes and names."""


@contextmanager
def poll_store(overlay: StoreOverlay, nudge: Callable[[], None], warn: Callable[[str], None]) -> Iterator[None]:
    """Keep the mirror up to date while the context is open.

    `nudge` is called after pages changed, whichever process of this workspace pulled them, and `warn` with each new
    reason why the store can't be asked, and once it can again; both from another thread.
    """
    ended = threading.Event()
    seen = _pages(overlay)
    thread = threading.Thread(target=_poll, args=(overlay, seen, nudge, warn, ended), name="ctxasm-store", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(INTERVAL)


def _poll(
    overlay: StoreOverlay,
    seen: _Pages,
    nudge: Callable[[], None],
    warn: Callable[[str], None],
    ended: threading.Event,
) -> None:
    """`seen` is the mirror as it was before the first build."""
    failure = ""
    while not ended.wait(INTERVAL):
        try:
            changed, problems = overlay.renew()
            pages = _pages(overlay)
        except ContextasmError as error:  # of the workspace itself: the watch tells of it
            changed, pages, now = (), seen, str(error)
        except Exception as error:  # noqa: BLE001  (a thread that died in silence would be worse)
            changed, pages = (), seen
            now = f"the store can't be asked: {' '.join(str(error).split()) or type(error).__name__}"
        else:
            now = "".join(f"{problem.message}; " for problem in problems if problem.code in PULL_PROBLEMS)
        if now != failure:
            warn(now.rstrip("; ") or f"{overlay.config.address}: the store answers again")
            failure = now
        if changed or pages != seen:  # `remember` and others pull, too, and then nothing is left to this pull
            seen = pages
            nudge()


def _pages(overlay: StoreOverlay) -> _Pages:
    return {home: entry.pages for home, entry in overlay.state().homes.items() if entry.pages}
