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


def failure_words(error: BaseException) -> str:
    """The message of an error that ends a command or a request, whosever error it is, of any length."""
    match error:
        case ContextasmError():
            return str(error)
        case MemoryError():
            return "memory: there is too little for this command: leave large files out"
        case OSError():
            # Only what a library prints by itself, such as a help text, has no file's name.
            where = error.filename or "standard output: can't be written"
            return f"{where}: {error.strerror or error}: correct this and try again"
    what = f"{type(error).__name__}: {error}"
    return f"this is a bug: {what}: please report it; CTXASM_DEBUG=1 shows where it happened"


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
