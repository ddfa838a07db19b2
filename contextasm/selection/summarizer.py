"""Summaries by a command: a text on its standard input, fewer words on its output, remembered between builds.

The program is run by the function that config hands over. Whatever goes wrong is a problem, never an error; after it
the command is not run again in this build.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from time import monotonic

from contextasm.model import Cache, Problem, ProgramFailed, RunProgram
from contextasm.text.cleaning.clean import clean_text
from contextasm.text.markdown.literals import open_literal

_LARGEST_OUTPUT = 16 << 20
"""Bytes that a command may print."""

FILE = "ctxasm.yaml"

_VERSION = "4"
"""Goes up when the same command and text must be summarized anew."""


class CommandSummarizer:
    """The summarizer of one build (`model.Summarizer`)."""

    def __init__(
        self,
        words: Sequence[str],
        timeout: float,
        line: int,
        root: str,
        environment: Mapping[str, str],
        cache_of: Callable[[str], Cache],
        run_program: RunProgram,
    ) -> None:
        """Run the program and arguments `words`, for `timeout` seconds in one build; `ctxasm.yaml` has them in `line`.

        Of a workspace at `root`; summaries are remembered in the cache that `cache_of` gives for a version.
        """
        self._words = words
        self._timeout = timeout
        self._line = line
        self._run_words = partial(run_program, words, root, environment)
        self._cache = cache_of("\0".join((_VERSION, root, *words)))
        self._seconds_left = timeout
        self._problem: Problem | None = None

    def __call__(self, text: str) -> str | Problem:
        """The text in the command's words; a problem if it gives none."""
        if self._problem:
            return self._problem
        if stored := self._cache.get(text):
            return stored.decode()
        try:
            summary = self._summarize(text)
        except ProgramFailed as error:
            message = f"{self._words[0]} {error}, so nothing is summarized"
            self._problem = Problem("summarizer", FILE, self._line, message)
            return self._problem
        self._cache.put(text, summary.encode())
        self._cache.save()
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
                    raise ProgramFailed("gave an endless output")
        self._seconds_left = deadline - monotonic()
        try:
            summary = clean_text(output.decode()).text.strip()
        except UnicodeDecodeError as error:
            raise ProgramFailed(f"printed text that is not UTF-8: byte {error.start}") from error
        if not summary:
            raise ProgramFailed("printed nothing")
        part = open_literal(summary)
        return f"{summary}\n{part.closing}" if part and part.closing else summary
