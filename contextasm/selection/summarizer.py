"""Summaries by a command: a text on its standard input, fewer words on its output, remembered between builds.

The program is run by the function that config hands over. Whatever goes wrong is a problem, never an error; after it
the command is not run again in this build.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import monotonic

from contextasm.model import Problem, ProgramFailed, RunProgram

_LONGEST = 1 << 20
"""Bytes of a remembered summary; nobody wrote a longer one."""

_LARGEST_OUTPUT = 16 << 20
"""Bytes that a command may print."""

FILE = "ctxasm.yaml"

_VERSION = "2"
"""Goes up when the same command and text must be summarized anew."""


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class CommandSummarizer:
    """The summarizer of one build (`model.Summarizer`)."""

    def __init__(
        self,
        words: Sequence[str],
        timeout: float,
        line: int,
        root: str,
        environment: Mapping[str, str],
        cache: str | None,
        run_program: RunProgram,
    ) -> None:
        """Run the program and arguments `words`, for `timeout` seconds in one build; `ctxasm.yaml` has them in `line`.

        Of a workspace at `root`; summaries are remembered in the folder `cache`, None for only this process.
        """
        self._words = words
        self._timeout = timeout
        self._line = line
        self._root = root
        self._run_words = partial(run_program, words, root, environment)
        self._cache = Path(cache, "summaries") if cache else None
        self._summaries: dict[str, str] = {}
        self._seconds_left = timeout
        self._problem: Problem | None = None

    def __call__(self, text: str) -> str | Problem:
        """The text in the command's words; a problem if it gives none."""
        if self._problem:
            return self._problem
        key = _digest(_VERSION, self._root, *self._words, text)
        summary = self._summaries.get(key) or self._load(key)
        if not summary:
            try:
                summary = self._summarize(text)
            except ProgramFailed as error:
                message = f"{self._words[0]} {error}; nothing is summarized"
                self._problem = Problem("summarizer", FILE, self._line, message)
                return self._problem
            self._save(key, summary)
        self._summaries[key] = summary
        return summary

    def _summarize(self, text: str) -> str:
        """The command's words for a text. Raises `ProgramFailed` if it gives none, no text, or takes too long."""
        deadline = monotonic() + self._seconds_left

        def seconds_left() -> float:
            if (left := deadline - monotonic()) <= 0:
                raise ProgramFailed(f"took longer than {self._timeout:g} s")
            return left

        output = bytearray()
        with closing(self._run_words((text.encode("utf-8", "replace"),), seconds_left)) as lines:
            for line in lines:
                output += line + b"\n"
                if len(output) > _LARGEST_OUTPUT:
                    raise ProgramFailed("gave an output that does not end")
        self._seconds_left = deadline - monotonic()
        try:
            summary = output.decode().replace("\r\n", "\n").strip()
        except UnicodeDecodeError as error:
            raise ProgramFailed(f"printed text that is not UTF-8: byte {error.start}") from error
        if not summary:
            raise ProgramFailed("printed nothing")
        return summary

    def _load(self, key: str) -> str:
        """A summary of an earlier build; empty for none."""
        if not self._cache:
            return ""
        try:
            with (self._cache / key).open("rb") as file:
                digest, _, summary = file.read(_LONGEST).decode().partition("\n")
        except (OSError, ValueError):
            return ""
        return summary if digest == _digest(key, summary) else ""

    def _save(self, key: str, summary: str) -> None:
        """Keep a summary for later builds; where that fails, they run the command again, and that is all."""
        if not self._cache or len(summary) > _LONGEST // 4:
            return
        temporary = self._cache / f"{key}.{os.getpid()}"
        with suppress(OSError):
            self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_text(f"{_digest(key, summary)}\n{summary}", encoding="utf-8", newline="")
            temporary.replace(self._cache / key)
