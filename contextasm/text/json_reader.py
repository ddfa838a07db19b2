"""JSON and TOML that others wrote, as plain values. The text comes in as a value; no file is opened here.

Python's own reader takes more than JSON: NaN, halves of characters, and nesting of any depth up to an error of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isinf
from typing import NoReturn

from contextasm.model import ContextasmError

DEEPEST = 50
"""Levels of objects and lists inside each other, in JSON as in YAML."""

LONGEST_LINE = 2_000
"""Characters of the longest line of TOML that is read."""


def load_json(text: str, where: str, *, takes_halves: bool = False) -> object:
    """The value that a JSON text holds. Messages name `where`, with the line if it is known, and quote no value.

    `takes_halves` lets through escapes for halves of characters: this package writes bytes of file names that are no
    UTF-8 in this way, and hosts cut a prompt inside a character.

    Raises `ContextasmError` for anything that is not JSON.
    """
    import json

    def refuse(what: str) -> NoReturn:
        raise ContextasmError(where, what, "write a finite number, or put it in quotes")

    def finite(digits: str) -> float:
        number = float(digits)
        return refuse("holds a number that is too large") if isinf(number) else number

    try:
        value = json.loads(
            text, parse_constant=lambda name: refuse(f"holds {name}, which JSON does not have"), parse_float=finite
        )
    except json.JSONDecodeError as error:
        what = f"not valid JSON at column {error.colno}: {error.msg}"
        raise ContextasmError(f"{where}:{error.lineno}", what, "correct this line") from error
    except RecursionError as error:
        raise _nested_too_deeply(where) from error
    except ValueError as error:  # more digits than Python reads
        raise ContextasmError(where, "holds a number that is too long", "write it as a text") from error
    if text.count("[") + text.count("{") > DEEPEST and _is_too_deep(value):
        raise _nested_too_deeply(where)
    may_hold_half = "\\ud" in text or "\\uD" in text or not text.isascii()
    if not takes_halves and may_hold_half and _holds_half(value):
        raise ContextasmError(where, "holds an escape for half a character", "write the character itself")
    return value


def load_toml(text: str, where: str) -> object:
    """The value that a TOML text holds, likewise. Raises `ContextasmError` for anything that is not TOML."""
    import tomllib

    # Python's reader takes the square of the length of a dotted key.
    if max(map(len, text.split("\n"))) > LONGEST_LINE:
        raise ContextasmError(where, f"has a line of more than {LONGEST_LINE:,} characters", "break it")
    try:
        value = tomllib.loads(text)
    except RecursionError as error:
        raise _nested_too_deeply(where) from error
    except ValueError as error:
        raise ContextasmError(where, f"not valid TOML: {error}", "correct it") from error
    if _is_too_deep(value):
        raise _nested_too_deeply(where)
    return value


def _nested_too_deeply(where: str) -> ContextasmError:
    return ContextasmError(where, "nested too deeply", f"keep to {DEEPEST} levels")


def _is_too_deep(value: object) -> bool:
    layer = [value]
    for _ in range(DEEPEST):
        layer = [inner for item in layer for inner in values_of(item) if isinstance(inner, dict | list)]
    return bool(layer)


def _holds_half(value: object) -> bool:
    texts = (text for item in all_values(value) for text in (item if isinstance(item, dict) else [item]))
    return any(
        "\ud800" <= letter <= "\udfff"
        for text in texts
        if isinstance(text, str) and not text.isascii()
        for letter in text
    )


def values_of(value: object) -> Iterable[object]:
    """The values of a mapping or a list; none for anything else."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def all_values(value: object) -> Iterator[object]:
    """A value, and all values inside it."""
    yield value
    for item in values_of(value):
        yield from all_values(item)
