"""The replica of a store in the place of folders of a workspace, and a thread that keeps it up to date for a watch.

In a workspace that nobody trusts, nothing is asked of a server, and the replica, which may have come with it, is not
read: the files in the folders themselves count.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from os import listdir
from os.path import realpath
from pathlib import Path

from contextasm.model import ContextasmError, Problem
from contextasm.workspace.store.connection import UNREACHABLE, UNWRITABLE, StoreConfig, is_replica_locked, pull_problem
from contextasm.workspace.store.replica import REPLICA, ReplicaState, pull, replica_state

_SETTINGS_FILE = "ctxasm.yaml"

OF_FRESH_REPLICA = {"store-refused", "store-files"}
"""Ids of the problems of a replica that is up to date; for any other one it is read as it is."""

_NOWHERE = f"{REPLICA}/none"
"""A folder that no replica has: owners are in `agents` and `teams`."""


class StoreOverlay:
    """The owners of a store, laid over a workspace to be read (`workspace/store/writing.py` writes)."""

    def __init__(
        self, root: str, config: StoreConfig, now: Callable[[], float], distrust: str, *, offline: bool
    ) -> None:
        """`distrust` is the hint how to trust the workspace; empty if it is trusted.

        `now` gives seconds since 1970. With `offline` no server is asked.
        """
        self.root = realpath(root)
        self.config = config
        self.distrust = distrust
        self.offline = offline
        self._now = now
        self._folders = {f"{owner}/memories": f"{REPLICA}/{owner}/memories" for owner in config.owners}
        self.is_locked = False
        """Whether the last try to bring the replica up to date gave way to another pull, and asked no server."""
        self._problems: Sequence[Problem] | None = None
        self._replicated: tuple[int, Collection[str]] | None = None
        """The folders of the owners that have a replica, whole, and the `_pulls` before they were looked up."""
        self._pulls = 0
        """Number of ends of pulls so far. A watch pulls in another thread than it builds in."""

    def place(self, path: str) -> str | None:
        """The path, relative to the workspace, of a path of an owner in the replica; None for any other.

        It leads nowhere while the owner has no replica, or one of another store or for another person.
        """
        folder = path if path in self._folders else path.rpartition("/")[0]
        if self.distrust or folder not in self._folders:
            return None
        is_replicated = folder in self._replicated_folders()
        return self._folders[folder] + path[len(folder) :] if is_replicated else f"{_NOWHERE}/{path}"

    def _replicated_folders(self) -> Collection[str]:
        pulls, known = self._pulls, self._replicated
        if known is None or known[0] != pulls:
            owners = self.state().owners
            known = pulls, {f"{owner}/memories" for owner, entry in owners.items() if not entry.is_refused}
            self._replicated = known
        return known[1]

    def owner(self, path: str) -> str | None:
        """The owner that a path belongs to by the settings, trusted or not; None for none."""
        return next((owner for owner in self.config.owners if f"{path}/".startswith(f"{owner}/memories/")), None)

    def refresh(self) -> Sequence[Problem]:
        """Bring the replica up to date, once; the problems with that, and with files that the replica hides."""
        if self._problems is None:
            self._problems = self._look(self.config.max_age)[1]
        return self._problems

    def renew(self) -> tuple[Sequence[str], Sequence[Problem]]:
        """Bring the replica up to date again; the paths of the pages that changed, and the problems with that."""
        changed, self._problems = self._look(0.0)
        return changed, self._problems

    def follow(self, nudge: Callable[[], None], warn: Callable[[str], None]) -> AbstractContextManager[None]:
        """Keep the replica up to date for as long as the result is open (`poll_store`), if a server may be asked."""
        return nullcontext() if self.offline or self.distrust else poll_store(self, nudge, warn)

    def pull(self, max_age: float = 0.0) -> Sequence[str]:
        """Bring the replica up to date now, unless it is younger than `max_age` seconds; the paths of changed pages.

        Raises `ContextasmError`.
        """
        self.require_server()
        self._replicated = None
        try:
            return pull(self.root, self.config, self._now, max_age)
        finally:
            self._pulls += 1

    def require_server(self) -> None:
        """Raise `ContextasmError` if the server must not be asked."""
        where = f"{_SETTINGS_FILE}:{self.config.line}: memories"
        if self.distrust:
            raise ContextasmError(where, "the store is not used", self.distrust)
        if self.offline:
            raise ContextasmError("--offline", "this command needs the store", "leave out --offline")

    def _look(self, max_age: float) -> tuple[Sequence[str], Sequence[Problem]]:
        line = self.config.line
        if self.distrust:
            message = f"the store is not used, so only files are read; {self.distrust}"
            return (), [Problem("store-not-trusted", _SETTINGS_FILE, line, message)]
        changed: Sequence[str] = ()
        problems: list[Problem] = []
        self.is_locked = False
        if not self.offline:
            try:
                changed = self.pull(max_age)
            except ContextasmError as error:
                code, self.is_locked = pull_problem(error), is_replica_locked(error)
                newer = ", with the pages that were written since" if code == UNWRITABLE and self.replica_time() else ""
                message = f"{error.where}: {error.what}; {self._age()}{newer}"
                problems.append(Problem(code, _SETTINGS_FILE, line, message, error.hint))
        elif self._unreplicated():
            problems.append(Problem(UNREACHABLE, _SETTINGS_FILE, line, self._age()))
        return changed, [*problems, *self._refusals(), *self._hidden_files()]

    def _refusals(self) -> list[Problem]:
        """The problem of each owner whose memories the role may not read."""
        hint = "ask the administrator to add a row to ctxasm.member (docs/store.md)"
        owners, line = self.state().owners, self.config.line
        refused = [owner for owner in self.config.owners if owner in owners and owners[owner].is_refused]
        message = "this role may not read {}"
        return [Problem("store-refused", _SETTINGS_FILE, line, message.format(owner), hint) for owner in refused]

    def state(self) -> ReplicaState:
        """The state of the replica; `NO_REPLICA` for none, and for that of another store or person."""
        return replica_state(self.root, self.config)

    def replica_time(self) -> str:
        """The time of the server's last answer, in words; empty without a replica."""
        state = self.state()
        with suppress(ValueError, OverflowError, OSError):
            return f"{datetime.fromtimestamp(state.checked, UTC):%Y-%m-%d %H:%M} UTC" if state.access else ""
        return "an unknown time"

    def _age(self) -> str:
        # The time instead of a number of minutes: equal inputs give equal problems.
        time, missing = self.replica_time(), self._unreplicated()
        if not time:
            return "there is no replica yet, so no memories are read"
        return f"the replica of {time} is read" + (f", which lacks {', '.join(missing)}" if missing else "")

    def _unreplicated(self) -> Sequence[str]:
        """The owners that no pull has looked for yet."""
        owners = self.state().owners
        return [owner for owner in self.config.owners if owner not in owners]

    def _hidden_files(self) -> list[Problem]:
        """The problem of each owner that has files of memories besides the store: they are not read."""
        problems: list[Problem] = []
        for owner in self.config.owners:
            with suppress(OSError):
                count = sum(name.endswith(".md") for name in listdir(Path(self.root, owner, "memories")))
                if count:
                    files = f"{count} file{'s are' if count > 1 else ' is'} not read"
                    hint = f"run `ctxasm store import {owner}`, then remove the files"
                    message = f"{files}: the store has the memories of {owner}"
                    problems.append(Problem("store-files", f"{owner}/memories", 0, message, hint))
        return problems


# --- For a watch ---

# The server could announce changes by itself (NOTIFY), but then every commit would wait for a lock of the whole server.

INTERVAL = 1.0
"""Seconds between two questions."""

_Pages = Mapping[str, Mapping[str, tuple[int, ...]]]
"""The pages of a replica by their owners and names."""


@contextmanager
def poll_store(overlay: StoreOverlay, nudge: Callable[[], None], warn: Callable[[str], None]) -> Iterator[None]:
    """Keep the replica up to date while the context is open.

    `nudge` is called after pages changed, whichever process of this workspace pulled them, and `warn` with each new
    reason why the store can't be asked, and once it can again; both from another thread.
    """
    ended = threading.Event()
    seen = _pages(overlay)  # the replica as it was before the first build

    def poll() -> None:
        nonlocal seen
        failure = ""
        while not ended.wait(INTERVAL):
            try:
                changed, problems = overlay.renew()
                pages = _pages(overlay)
            except Exception as error:  # noqa: BLE001  (a thread that died in silence would be worse)
                changed, pages, words = (), seen, " ".join(str(error).split()) or type(error).__name__
                now = str(error) if isinstance(error, ContextasmError) else f"the store can't be reached: {words}"
            else:
                now = "".join(f"{problem.message}; " for problem in problems if problem.code not in OF_FRESH_REPLICA)
            if now != failure:
                warn(now.rstrip("; ") or f"{overlay.config.address}: the store answers again")
                failure = now
            if changed or pages != seen:  # `remember` and others pull, too, and then nothing is left to this pull
                seen = pages
                nudge()

    thread = threading.Thread(target=poll, name="ctxasm-store", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(INTERVAL)


def _pages(overlay: StoreOverlay) -> _Pages:
    return {owner: entry.pages for owner, entry in overlay.state().owners.items() if entry.pages}
