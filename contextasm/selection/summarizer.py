"""Summaries by a command: a text on its standard input, fewer words on its output, remembered between builds.

The program is run by the function that config hands over. Whatever goes wrong is a problem, never an error; after it
the command is not run again in this build.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
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


class _OverdueError(Exception):
    """All summaries of one build have taken longer than they may."""


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
        self._environment = environment
        self._cache = Path(cache, "summaries") if cache else None
        self._run_program = run_program
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
            answer = self._summarize(text)
            if isinstance(answer, Problem):
                return answer
            summary = answer
            self._save(key, summary)
        self._summaries[key] = summary
        return summary

    def forbid(self, advice: str) -> None:
        """Have nothing run and no summary remembered, since the workspace is not trusted; `advice` ends the problem."""
        self._fail("is not run", f"; {advice}")

    def _fail(self, what: str, advice: str = "") -> Problem:
        """Have nothing run any more; the problem that says why."""
        message = f"{self._words[0]} {what}; nothing is summarized{advice}"
        self._problem = Problem("summarizer", FILE, self._line, message)
        return self._problem

    def _summarize(self, text: str) -> str | Problem:
        try:
            summary = self._run(text).decode().replace("\r\n", "\n").strip()
        except _OverdueError:
            return self._fail(f"took longer than {self._timeout:g} s")
        except ProgramFailed as error:
            return self._fail(str(error))
        except UnicodeDecodeError as error:
            return self._fail(f"printed text that is not UTF-8: byte {error.start}")
        return summary or self._fail("printed nothing")

    def _run(self, text: str) -> bytearray:
        """All that the command prints."""
        started = monotonic()
        deadline = started + self._seconds_left

        def seconds_left() -> float:
            if (left := deadline - monotonic()) <= 0:
                raise _OverdueError
            return left

        given = (text.encode("utf-8", "replace"),)
        command, output = self._words, bytearray()
        with closing(self._run_program(command, self._root, self._environment, given, seconds_left)) as lines:
            for line in lines:
                output += line + b"\n"
                if len(output) > _LARGEST_OUTPUT:
                    raise ProgramFailed("gave an output that does not end")
        self._seconds_left -= monotonic() - started
        return output

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
