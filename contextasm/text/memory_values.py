"""Values that a new memory is to have, checked: the same whether they are typed, sent or imported.

Each function takes the value and where it stands, and raises `ContextasmError` there for one that no memory can have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contextasm.model import ContextasmError
from contextasm.text.cleaning import clean_text
from contextasm.text.memory_fields import CONFIDENCE, IMPORTANCE
from contextasm.text.memory_writer import is_type, is_value

LONGEST_VALUE = 1000
"""Characters of a value in the braces of a memory, such as a tag, a key or an id."""

MOST_ITEMS = 100
"""Tags of one memory, or ids that it supersedes."""


def parse_importance(value: object, where: str) -> float:
    """The importance from 0 to 1 of a number or a word."""
    return _share(value, where, "an importance", IMPORTANCE)


def parse_confidence(value: object, where: str) -> float:
    """The confidence from 0 to 1 of a number or a word."""
    return _share(value, where, "a confidence", CONFIDENCE)


def _share(value: object, where: str, meaning: str, words: Mapping[str, float]) -> float:
    if isinstance(value, str) and value.casefold() in words:
        return words[value.casefold()]
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
    except (ValueError, OverflowError):
        number = -1.0
    if not 0 <= number <= 1:
        raise ContextasmError(
            where, f"{quoted_value(value)} is not {meaning}", f"give 0 to 1, or one of {', '.join(words)}"
        )
    return number


def parse_type(word: str, where: str) -> str:
    """The type of a memory, a word that can be written in brackets."""
    _refuse_long(word, where)
    if not is_type(word):
        raise ContextasmError(
            where, f"{quoted_value(word)} can't be a type", "give a word such as fact, without brackets"
        )
    return word


def parse_value(word: str, where: str) -> str:
    """A value of a field, without blanks around it, that braces can hold."""
    _refuse_long(word, where)
    if not is_value(word):
        hint = "leave out quotes, braces and line ends"
        raise ContextasmError(where, f"{quoted_value(word)} can't be written in braces", hint)
    return word.strip()


def parse_items(words: Iterable[str], where: str) -> tuple[str, ...]:
    """The values of a field that takes several: no more than `MOST_ITEMS`, and none with a comma."""
    items = tuple(words)
    if len(items) > MOST_ITEMS:
        raise ContextasmError(where, f"has {len(items):,} values", f"give {MOST_ITEMS} at most")
    for word in items:
        if "," in word:
            raise ContextasmError(where, f"{quoted_value(word)} contains a comma", "give the words one by one")
    return tuple(parse_value(word, where) for word in items)


def _refuse_long(word: str, where: str) -> None:
    if len(word) > LONGEST_VALUE:
        raise ContextasmError(where, f"has {len(word):,} characters", f"give {LONGEST_VALUE:,} at most")


_LONGEST_QUOTE = 80
"""Characters."""


def quoted_value(value: object) -> str:
    """A value as a message quotes it: of a long one the beginning, secrets masked before it is cut."""
    written = clean_text(repr(value)).text
    return written if len(written) <= _LONGEST_QUOTE else f"{written[: _LONGEST_QUOTE - 3]}..."
