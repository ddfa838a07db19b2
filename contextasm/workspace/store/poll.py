"""Polling of a store for a watch: a thread that brings the mirror up to date, again and again.

The server could tell of changes by itself (NOTIFY), but then every commit would wait for a lock of the whole server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from contextasm.model import ContextasmError
from contextasm.workspace.store.errors import PULL_PROBLEMS
from contextasm.workspace.store.overlay import StoreOverlay

INTERVAL = 1.0
"""Seconds between two questions."""


@contextmanager
def poll_store(overlay: StoreOverlay, nudge: Callable[[], None], warn: Callable[[str], None]) -> Iterator[None]:
    """Keep the mirror up to date while the context is open.

    `nudge` is called after pages changed, and `warn` with each new reason why the store can't be asked, and once it can
    again; both from another thread.
    """
    ended = threading.Event()
    thread = threading.Thread(target=_poll, args=(overlay, nudge, warn, ended), name="ctxasm-store", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(INTERVAL)


def _poll(
    overlay: StoreOverlay, nudge: Callable[[], None], warn: Callable[[str], None], ended: threading.Event
) -> None:
    failure = ""
    while not ended.wait(INTERVAL):
        try:
            changed, problems = overlay.renew()
        except ContextasmError as error:  # of the workspace itself: the watch tells of it
            changed, now = (), str(error)
        except Exception as error:  # noqa: BLE001  (a thread that died in silence would be worse)
            changed, now = (), f"the store can't be asked: {' '.join(str(error).split()) or type(error).__name__}"
        else:
            now = "".join(f"{problem.message}; " for problem in problems if problem.code in PULL_PROBLEMS)
        if now != failure:
            warn(now.rstrip("; ") or f"{overlay.config.address}: the store answers again")
            failure = now
        if changed:
            nudge()
