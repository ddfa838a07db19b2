"""The one error class, and problems: what is wrong without stopping a build."""

from __future__ import annotations

from typing import NamedTuple


class ContextasmError(Exception):
    """Something the user can put right: where it is, what is wrong, and what to do about it.

    `code` is the exit code of the process: 2 where the request can't be done as asked, 1 where the answer is no.
    """

    def __init__(self, where: str, what: str, hint: str, code: int = 2) -> None:
        super().__init__(f"{where}: {what}: {hint}")
        self.where = where
        self.what = what
        self.hint = hint
        self.code = code


class Problem(NamedTuple):
    """Something wrong that did not stop the build."""

    code: str
    path: str
    """The file, or what else the message is about (a layer, `budget`)."""
    line: int
    """The line of the file, counted from 1; 0 where no line is meant."""
    message: str
