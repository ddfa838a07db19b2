"""Rows of a YAML or JSON file: a list of mappings, read field by field.

Nothing is refused here: a row or a field that can't be used is a problem with its line, and the others are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from contextasm.model import Data, NamedTuple, Problem

Scalar = str | int | float


class Row(NamedTuple):
    """One mapping of a list, or of a file with one a line."""

    path: str
    line: int
    """The line of the file at which it begins; 1 where that is not known."""
    values: Mapping[str, object]
    problems: list[Problem]
    """Problems found so far; shared by all rows of the file."""
    code: str = "bad-row"
    """Of its problems."""

    def report(self, message: str) -> None:
        """Add a problem of this row."""
        self.problems.append(Problem(self.code, self.path, self.line, message))

    def word(self, key: str, default: str = "") -> str:
        """A word, or a number as a word; the default if the key is missing."""
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, Scalar) and not isinstance(value, bool):
            return str(value).strip() or default
        self.report(f"{key} is not a word")
        return default

    def words(self, key: str) -> tuple[str, ...]:
        """A list of words, or a single word as a list; empty if the key is missing."""
        value = self.values.get(key)
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, Scalar) for item in items):
            self.report(f"{key} is not a list of words")
            return ()
        return tuple(str(item).strip() for item in items if str(item).strip())

    def share(self, key: str, default: float) -> float:
        """A number from 0 to 1; the default if the key is missing."""
        value = self.values.get(key)
        if value is None or is_share(value):
            return default if value is None else float(value)
        self.report(f"{key} is {value}, not a number from 0 to 1")
        return default

    def count(self, key: str) -> int:
        """A whole number, 0 or more; 0 if the key is missing."""
        value = self.values.get(key)
        if value is None or is_count(value):
            return value or 0
        self.report(f"{key} is {value}, not a whole number")
        return 0

    def pairs(self, key: str) -> Mapping[str, str]:
        """A mapping with every value as text; empty if the key is missing."""
        value = self.values.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.report(f"{key} holds no `key: value`")
            return {}
        return {str(name): _as_text(item) for name, item in value.items() if item is not None}


def is_count(value: object) -> TypeGuard[int]:
    """Whether a value of a file is a whole number, 0 or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_share(value: object) -> TypeGuard[float]:
    """Whether a value of a file is a number from 0 to 1."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_as_text, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_as_text(item)}" for key, item in value.items())
    return str(value)


def parse_rows(data: Data, key: str, problems: list[Problem]) -> Iterator[Row]:
    """The rows in the list of a file, or in the list under its key `key`; none for an empty file."""
    value = data.value
    if isinstance(value, Mapping) and key in value:
        value = value[key]
    path = data.document.path
    if value is None:
        return
    if not isinstance(value, list):
        problems.append(Problem("bad-data", path, 1, f"is not a list; write each of its {key} as `- ...`"))
        return
    for number, item in enumerate(value, 1):
        if isinstance(item, Mapping):
            yield Row(path, getattr(item, "line", 1), item, problems)
        else:
            problems.append(Problem("bad-row", path, 0, f"{key}: number {number} holds no `key: value`"))
