"""Rows of a YAML or JSON file: a list of mappings, read field by field with what is wrong in them.

Nothing is refused here: a row or a field that can't be used is reported with its line, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from contextasm.model import Data, Problem

Scalar = str | int | float


class Row(NamedTuple):
    """One mapping of a list."""

    path: str
    line: int
    """The line of the file at which it begins; 1 where that is not known."""
    values: Mapping[str, object]
    problems: list[Problem]
    """Where what is wrong is put; shared by all rows of the file."""

    def report(self, message: str) -> None:
        """Note that something is wrong in this row."""
        self.problems.append(Problem("bad-row", self.path, self.line, message))

    def word(self, key: str, default: str = "") -> str:
        """A word, or a number as one."""
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, Scalar) and not isinstance(value, bool):
            return str(value).strip() or default
        self.report(f"{key} is no word")
        return default

    def words(self, key: str) -> tuple[str, ...]:
        """A list of words, or a single one."""
        value = self.values.get(key)
        if value is None:
            return ()
        found = value if isinstance(value, list) else [value]
        if not all(isinstance(each, Scalar) for each in found):
            self.report(f"{key} is no list of words")
            return ()
        return tuple(str(each).strip() for each in found if str(each).strip())

    def share(self, key: str, default: float) -> float:
        """A number from 0 to 1."""
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.report(f"{key} is {value}, not a number from 0 to 1")
            return default
        return float(value)

    def count(self, key: str) -> int:
        """A whole number, 0 or more; 0 where it is not said."""
        value = self.values.get(key)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self.report(f"{key} is {value}, not a whole number")
            return 0
        return value

    def pairs(self, key: str) -> Mapping[str, str]:
        """A mapping from words to words, numbers, truth values or lists of them, all as text."""
        value = self.values.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.report(f"{key} holds no `key: value`")
            return {}
        return {str(name): _plain(each) for name, each in value.items() if each is not None}


def _plain(value: object) -> str:
    """A value as a person would write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_plain(each)}" for key, each in value.items())
    return str(value)


def parse_rows(data: Data, key: str, problems: list[Problem]) -> Iterator[Row]:
    """The rows of a file: those of its list, or of the list that stands under `key`; none where it is empty."""
    value = data.value
    if isinstance(value, Mapping) and key in value:
        value = value[key]
    path = data.document.path
    if value is None:
        return
    if not isinstance(value, list):
        problems.append(Problem("bad-data", path, 1, f"is no list; write one `- ...` for each of its {key}"))
        return
    for number, each in enumerate(value, 1):
        if isinstance(each, Mapping):
            yield Row(path, getattr(each, "line", 1), each, problems)
        else:
            problems.append(Problem("bad-row", path, 0, f"{key}: number {number} holds no `key: value`"))
