"""Summaries by a command: a text on its standard input, fewer words on its output, remembered between builds.

It is run without a shell, in the workspace's folder, in a session of its own that does not outlive the call. Whatever
goes wrong is a problem, never an error; after it nothing more is asked in this build.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import monotonic

from contextasm.model import Problem, SummarizerConfig

_LONGEST = 1 << 20
"""Bytes of a remembered summary; nobody wrote a longer one."""

FILE = "ctxasm.yaml"

_VERSION = "1"
"""Goes up when the same command and text are to be asked anew."""


class CommandSummarizer:
    """The summarizer of one build (`model.Summarizer`)."""

    def __init__(
        self, command: SummarizerConfig, root: str, environment: Mapping[str, str], cache: Path | None
    ) -> None:
        """Of a workspace at `root`; summaries are remembered in the folder `cache`, None for this process alone."""
        self._command = command
        self._root = root
        self._environment = environment
        self._cache = cache / "summaries" if cache else None
        self._here: dict[str, str] = {}
        self._left = command.timeout
        self._problem: Problem | None = None

    def __call__(self, text: str) -> str | Problem:
        """The text in the command's words, or why there are none."""
        if self._problem:
            return self._problem
        key = sha256("\0".join((_VERSION, *self._command.words, text)).encode("utf-8", "surrogatepass")).hexdigest()
        said = self._here.get(key) or self._remembered(key)
        if not said:
            asked = self._asked(text)
            if isinstance(asked, Problem):
                return asked
            said = asked
            self._remember(key, said)
        self._here[key] = said
        return said

    def forbid(self, variable: str) -> None:
        """Have nothing run, since the variable does not name the workspace."""
        self._fail(f"is not run: to allow it, have {variable} name this workspace, {self._root}")

    def _fail(self, what: str) -> Problem:
        """Have nothing more asked; the problem that says why."""
        message = f"{self._command.words[0]} {what}; nothing is summarized"
        self._problem = Problem("summarizer", FILE, self._command.line, message)
        return self._problem

    def _asked(self, text: str) -> str | Problem:
        """What the command prints."""
        import subprocess

        started = monotonic()
        try:
            code, out = self._run(text)
        except subprocess.TimeoutExpired:
            return self._fail(f"took longer than {self._command.timeout:g} s")
        except (OSError, ValueError) as error:
            return self._fail(f"can't be run: {getattr(error, 'strerror', None) or error}")
        self._left -= monotonic() - started
        try:
            said = out.decode().replace("\r\n", "\n").strip()
        except UnicodeDecodeError as error:
            return self._fail(f"printed what is not UTF-8: byte {error.start}")
        if code or not said:
            return self._fail(f"ended with exit code {code}" if code else "printed nothing")
        return said

    def _run(self, text: str) -> tuple[int, bytes]:
        """Exit code and output of one run; raises `TimeoutExpired`, once all of its session is killed."""
        import signal
        import subprocess

        with subprocess.Popen(  # noqa: S603 - the person has allowed it (config/summarizer.py)
            self._command.words,
            cwd=self._root,
            env=dict(self._environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                out, _ = process.communicate(text.encode("utf-8", "replace"), timeout=max(0.0, self._left))
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            return process.returncode, out

    def _remembered(self, key: str) -> str:
        """A summary of an earlier build; empty for none."""
        if not self._cache:
            return ""
        try:
            with (self._cache / key).open("rb") as file:
                return file.read(_LONGEST).decode()
        except (OSError, ValueError):
            return ""

    def _remember(self, key: str, said: str) -> None:
        """Keep a summary for later builds; where that can't be done they ask again, and that is all."""
        if not self._cache or len(said) > _LONGEST // 4:
            return
        temporary = self._cache / f"{key}.{os.getpid()}"
        with suppress(OSError):
            self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_bytes(said.encode("utf-8", "replace"))
            temporary.replace(self._cache / key)
