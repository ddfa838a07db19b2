"""A value out of a YAML file that has not been checked yet, and the words for what is wrong with it.

It holds plain data and knows its place; it neither reads files nor knows what the values are for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NoReturn

from contextasm.model import ContextasmError
from contextasm.text.matching import nearest

Keys = tuple[str | int, ...]
"""The way from the top of the data to a value: keys of mappings, places in lists."""

LineOf = Callable[[Keys], int]
"""The line of a value, counted from 1; where it knows none, that of what the value stands in."""

LARGEST = 10**15
"""Above it a float can't tell whole numbers apart for long."""

_TOKENS = r"\d+(?:\.\d+)?[kK]"


class Node:
    """A value of the file, where it stands, and what it is about, for messages."""

    __slots__ = ("_line_of", "about", "keys", "path", "value")

    def __init__(self, value: object, keys: Keys, path: str, line_of: LineOf, about: str = "") -> None:
        self.value = value
        self.keys = keys
        self.path = path
        self.about = about
        self._line_of = line_of

    @property
    def line(self) -> int:
        """Counted from 1."""
        return self._line_of(self.keys)

    def fail(self, what: str, hint: str) -> NoReturn:
        """Stop the run at this place."""
        raise ContextasmError(f"{self.path}:{self.line}", f"{self.about}: {what}" if self.about else what, hint)

    def refuse(self, kind: str, name: object, known: Collection[str]) -> NoReturn:
        """Stop at a name that is not among the known ones."""
        like = nearest(str(name), known)
        every = f"write one of {', '.join(known)}" if known else "put the name in quotes"
        self.fail(f"unknown {kind} `{name}`", f"did you mean `{like}`?" if like else every)

    def child(self, key: str | int, value: object) -> Node:
        """A value inside this one."""
        return Node(value, (*self.keys, key), self.path, self._line_of, self.about)

    def items(self) -> list[Node]:
        """The members of a list."""
        if not isinstance(self.value, list | tuple):
            self.fail(f"{_named(self.value)} where a list belongs", "put `- ` before each item")
        return [self.child(n, each) for n, each in enumerate(self.value)]

    def mapping(self, kind: str, known: Collection[str] = ()) -> dict[str, Node]:
        """The values under each key: one of the known, or where none are known any word."""
        if not isinstance(self.value, dict):
            self.fail(f"{_named(self.value)} where a mapping belongs", f"write `{kind}: value` on a line of its own")
        for key in self.value:
            if not isinstance(key, str) or (known and key not in known):
                self.child(key, None).refuse(kind, key, known)
        return {key: self.child(key, value) for key, value in self.value.items()}

    def text(self) -> str:
        """A word or number as it would be written, never blank."""
        if isinstance(self.value, bool):
            return str(self.value).lower()
        if not isinstance(self.value, str | int | float):
            self.fail(f"{_named(self.value)} where text belongs", "write one value, in quotes if need be")
        text = str(self.value)
        return text if text.strip() else self.fail("an empty value", "give it one, or leave the line out")

    def flag(self) -> bool:
        """Yes or no."""
        if not isinstance(self.value, bool):
            self.fail(f"{_named(self.value)} where true or false belongs", "write `true` or `false`")
        return self.value

    def number(self) -> float:
        """A number of either sign. Infinity and its like are none."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
            self.fail(f"{_named(self.value)} where a number belongs", "write a number, without quotes")
        return value

    def whole(self) -> int:
        """A whole number of either sign."""
        size = self.number()
        if not isinstance(size, int):
            self.fail(f"{size} where a whole number belongs", "write it without a fraction")
        return size

    def tokens(self) -> int:
        """How many tokens, also written `4k`."""
        if isinstance(self.value, str) and re.fullmatch(_TOKENS, self.value):
            return round(float(self.value[:-1]) * 1000)
        size = self.whole()
        return size if size >= 0 else self.fail(f"{size} tokens", "write 0 or more")


def _named(value: object) -> str:
    """The sort of a value, for a message."""
    names = {dict: "a mapping", list: "a list", type(None): "nothing", bool: str(value).lower()}
    return names.get(type(value), f"`{value}`")
