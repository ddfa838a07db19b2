"""The one error class, a program's failure, and problems: anything wrong that does not stop a build."""

from collections.abc import Iterable
from typing import NamedTuple


class ContextasmError(Exception):
    """An error that the user can correct: where it is, what is wrong, and a hint for what to do.

    `code` is the exit code of the process: 2 for a request that can't be carried out, 1 for the answer no.
    """

    def __init__(self, where: str, what: str, hint: str, code: int = 2) -> None:
        # An empty value that was typed is the place itself.
        self.where = where or '""'
        super().__init__(f"{self.where}: {what}: {hint}")
        self.what = what
        self.hint = hint
        self.code = code


class ProgramFailed(Exception):  # noqa: N818 - it is no error of the build
    """Why a program of the workspace gave no output: the rest of a sentence that begins with the program's name."""


class Problem(NamedTuple):
    """A fault that does not stop the build."""

    code: str
    path: str
    """File, or another subject of the message (a layer, `budget`)."""
    line: int
    """Line of the file, counted from 1; 0 where no line is meant."""
    message: str
    hint: str = ""
    """What to do; empty where the message says all."""

    @property
    def advice(self) -> str:
        """Message and hint in one text."""
        return "; ".join(filter(None, (self.message, self.hint)))


TIMEOUT = "source-timeout"
"""Code of the problem of a layer whose sources are late; its path is the layer's id."""


def timed_out_layers(problems: Iterable[Problem]) -> frozenset[str]:
    """Ids of the layers whose sources did not answer before the deadline."""
    return frozenset(problem.path for problem in problems if problem.code == TIMEOUT)
