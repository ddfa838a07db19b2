"""The mirror of a store in the place of folders of a workspace.

In a workspace that nobody trusts, nothing is asked of a server, and the mirror, which may have come with it, is not
read: the files in the folders themselves count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from os import listdir
from os.path import realpath
from pathlib import Path

from contextasm.model import ContextasmError, Problem
from contextasm.workspace.store.errors import UNWRITABLE, StoreUnreachableError, is_mirror_locked, pull_problem
from contextasm.workspace.store.mirror import MIRROR, PullResult, mirror_folder, pull
from contextasm.workspace.store.settings import StoreConfig
from contextasm.workspace.store.state import NO_MIRROR, MirrorState, access_key, load_state

_SETTINGS_FILE = "ctxasm.yaml"

_NOWHERE = f"{MIRROR}/none"
"""A folder that no mirror has: homes lie in `agents` and `teams`."""


class StoreOverlay:
    """The homes of a store, laid over a workspace (`workspace.folder.Overlay`)."""

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
        self._folders = {f"{home}/memories": f"{MIRROR}/{home}/memories" for home in config.homes}
        self.is_locked = False
        """Whether the last try to bring the mirror up to date gave way to another pull, and asked no server."""
        self._problems: Sequence[Problem] | None = None
        self._mirrored: tuple[int, Collection[str]] | None = None
        """The folders of the homes that have a mirror, whole, and the `_pulls` before they were looked up."""
        self._pulls = 0
        """Number of ends of pulls so far. A watch pulls in another thread than it builds in."""

    def place(self, path: str) -> str | None:
        """The path, relative to the workspace, at which a path of a home lies in the mirror; None for any other.

        It leads nowhere while the home has no mirror, or one of another store or for another person.
        """
        folder = path if path in self._folders else path.rpartition("/")[0]
        if self.distrust or folder not in self._folders:
            return None
        is_mirrored = folder in self._mirrored_folders()
        return self._folders[folder] + path[len(folder) :] if is_mirrored else f"{_NOWHERE}/{path}"

    def _mirrored_folders(self) -> Collection[str]:
        pulls, known = self._pulls, self._mirrored
        if known is None or known[0] != pulls:
            homes = self.state().homes
            known = pulls, {f"{home}/memories" for home, entry in homes.items() if not entry.is_refused}
            self._mirrored = known
        return known[1]

    def home(self, path: str) -> str | None:
        """The home that a path belongs to by the settings, trusted or not; None for none."""
        return next((home for home in self.config.homes if f"{path}/".startswith(f"{home}/memories/")), None)

    def refresh(self) -> Sequence[Problem]:
        """Bring the mirror up to date, once; the problems with that, and with files that the mirror hides."""
        if self._problems is None:
            self._problems = self._look(self.config.max_age)[1]
        return self._problems

    def renew(self) -> tuple[Sequence[str], Sequence[Problem]]:
        """Bring the mirror up to date again; the paths of the pages that changed, and the problems with that."""
        changed, self._problems = self._look(0.0)
        return changed, self._problems

    def pull(self, max_age: float = 0.0) -> PullResult:
        """Bring the mirror up to date now, unless it is younger than `max_age` seconds. Raises `ContextasmError`."""
        self.require_server()
        self._mirrored = None
        try:
            return pull(self.root, self.config, self._now, max_age)
        finally:
            self._pulls += 1

    def require_server(self) -> None:
        """Raise `ContextasmError` where the server must not be asked."""
        where = f"{_SETTINGS_FILE}:{self.config.line}: memories"
        if self.distrust:
            raise ContextasmError(where, "the store is not used", self.distrust)
        if self.offline:
            raise ContextasmError("--offline", "this needs the store", "leave it out")

    def _look(self, max_age: float) -> tuple[Sequence[str], Sequence[Problem]]:
        line = self.config.line
        if self.distrust:
            message = f"the store is not used, and files alone are read; {self.distrust}"
            return (), [Problem("store-not-trusted", _SETTINGS_FILE, line, message)]
        changed: Sequence[str] = ()
        problems: list[Problem] = []
        self.is_locked = False
        if not self.offline:
            try:
                changed = self.pull(max_age).changed
            except ContextasmError as error:
                code, self.is_locked = pull_problem(error), is_mirror_locked(error)
                newer = ", with the pages that were written since" if code == UNWRITABLE and self.mirror_time() else ""
                message = f"{error.where}: {error.what}; {self._age()}{newer}"
                problems.append(Problem(code, _SETTINGS_FILE, line, message, error.hint))
        elif self._unmirrored():
            problems.append(Problem(StoreUnreachableError.problem, _SETTINGS_FILE, line, self._age()))
        return changed, [*problems, *self._refusals(), *self._hidden_files()]

    def _refusals(self) -> list[Problem]:
        """The problem of each home that the role may not read."""
        homes = self.state().homes
        hint = "have its owner add a row to ctxasm.member (docs/store.md)"
        return [
            Problem(
                "store-refused",
                _SETTINGS_FILE,
                self.config.line,
                f"the store gives this role nothing of {home}",
                hint,
            )
            for home in self.config.homes
            if home in homes and homes[home].is_refused
        ]

    def state(self) -> MirrorState:
        """The state of the mirror; `NO_MIRROR` for none, and for that of another store or person."""
        state = load_state(mirror_folder(self.root))
        return state if state.access == access_key(self.config) else NO_MIRROR

    def mirror_time(self) -> str:
        """The time of the server's last answer, in words; empty where there is no mirror."""
        state = self.state()
        with suppress(ValueError, OverflowError, OSError):
            return f"{datetime.fromtimestamp(state.checked, UTC):%Y-%m-%d %H:%M} UTC" if state.access else ""
        return "an unknown time"

    def _age(self) -> str:
        # The time instead of a number of minutes: equal inputs give equal problems.
        time, missing = self.mirror_time(), self._unmirrored()
        if not time:
            return "there is no mirror of it yet, so no memories are read"
        return f"the mirror of {time} is read" + (f", which lacks {', '.join(missing)}" if missing else "")

    def _unmirrored(self) -> Sequence[str]:
        """The homes that no pull has looked for yet."""
        homes = self.state().homes
        return [home for home in self.config.homes if home not in homes]

    def _hidden_files(self) -> list[Problem]:
        """The problem of each home that has files of memories beside the store: they are not read."""
        problems: list[Problem] = []
        for home in self.config.homes:
            with suppress(OSError):
                count = sum(name.endswith(".md") for name in listdir(Path(self.root, home, "memories")))
                if count:
                    message = (
                        f"{count} file{'s are' if count > 1 else ' is'} not read: the store has the memories of {home}"
                    )
                    hint = f"run `ctxasm store import {home}`, then take the files away"
                    problems.append(Problem("store-files", f"{home}/memories", 0, message, hint))
        return problems
