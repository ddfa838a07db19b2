"""Checked values: from what YAML, a flag or the environment says to what the program needs.

Each function takes the value and where it stands, and raises `ContextasmError` there if it can't be used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import date

from contextasm.model import ContextasmError
from contextasm.text.matching import nearest

ParseValue = Callable[[object, str], object]
"""Takes a raw value and `WHERE: key`; gives the checked one."""

_TOKENS = r"(\d+(?:\.\d+)?)([kK]?)"
_NAME = r"[\w-][\w.-]*"

SCORE_PARTS = (
    "similarity",
    "importance",
    "recency",
    "confidence",
    "salience",
    "weight",
    "rate",
    "named",
    "open",
    "changed",
)
"""What a score is made of."""

LARGEST = 10**9
"""Tokens; anything larger is a slip of the finger."""


def parse_tokens(value: object, where: str) -> int:
    """A number of tokens, such as 4000 or `4k`."""
    found = re.fullmatch(_TOKENS, str(value).strip().replace("_", "")) if not isinstance(value, bool) else None
    number = float(found[1]) * (1000 if found[2] else 1) if found else -1.0
    if number < 0 or number != int(number) or number > LARGEST:
        raise ContextasmError(where, f"{value} is no number of tokens", "give one such as 4000 or 4k")
    return int(number)


def parse_limit(value: object, where: str) -> int | None:
    """A number of tokens, or null for no limit."""
    return None if value is None else parse_tokens(value, where)


def parse_count(value: object, where: str) -> int:
    """A whole number, 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise ContextasmError(where, f"{value} is no whole number", "give 0 or more")
    return value


def parse_percent(value: object, where: str) -> float | None:
    """Per cents of the budget, over 1 to 100, or null for none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ContextasmError(where, f"{value} is no per cent", "give a number from 0 to 100")
    if 0 < value <= 1:
        raise ContextasmError(where, f"{value} may mean {value} or {value * 100:g} per cent", "give per cents over 1")
    return float(value)


def parse_fraction(value: object, where: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ContextasmError(where, f"{value} is no share", "give a number from 0 to 1")
    return float(value)


def parse_weights(value: object, where: str) -> tuple[tuple[str, float], ...]:
    """What each part of a score counts, such as `{similarity: 0.5, importance: 0.3, recency: 0.2}`."""
    if not isinstance(value, dict):
        raise ContextasmError(where, f"{value} names no weights", "write {NAME: WEIGHT, ...}")
    for part in value:
        require_known(part, SCORE_PARTS, where, "part of a score")
    read = tuple((part, parse_fraction(value[part], f"{where}: {part}")) for part in SCORE_PARTS if part in value)
    if abs(sum(weight for _, weight in read) - 1) > 1e-9:
        total = round(sum(weight for _, weight in read), 9)
        raise ContextasmError(where, f"the weights add up to {total:g}", "have them add up to 1")
    return read


def parse_counts(value: object, where: str) -> tuple[tuple[str, int], ...]:
    """Whole numbers by name, such as `{root/decisions*: 3}`."""
    return tuple((name, parse_count(each, f"{where}: {name}")) for name, each in _pairs(value, where))


def parse_words(value: object, where: str) -> tuple[tuple[str, str], ...]:
    """Words by name, such as `{root/conventions*: 1}`; a number counts as a word."""
    return tuple((name, parse_text(str(each), f"{where}: {name}")) for name, each in _pairs(value, where))


def parse_word(value: object, where: str) -> str:
    """A word; a number counts as one."""
    return parse_text(str(value) if isinstance(value, int) and not isinstance(value, bool) else value, where)


def _pairs(value: object, where: str) -> list[tuple[str, object]]:
    if not isinstance(value, dict):
        raise ContextasmError(where, f"{value} is no mapping", "write {NAME: VALUE, ...}")
    return [*value.items()]


def parse_flag(value: object, where: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ContextasmError(where, f"{value} is neither true nor false", "write true or false")
    return value


def parse_text(value: object, where: str) -> str:
    """Words."""
    if not isinstance(value, str) or "\n" in value:
        raise ContextasmError(where, f"{value!r} is no text of one line", "put it in quotes")
    return value


def parse_texts(value: object, where: str) -> tuple[str, ...]:
    """Words, or a list of them."""
    return tuple(parse_text(each, where) for each in (value if isinstance(value, list) else [value]))


def one_of(known: Collection[str]) -> ParseValue:
    """One of the known names."""

    def read(value: object, where: str) -> str:
        return require_known(parse_text(value, where), known, where)

    return read


def some_of(known: Collection[str]) -> ParseValue:
    """Some of the known names, in the order given."""

    def read(value: object, where: str) -> tuple[str, ...]:
        return tuple(require_known(each, known, where) for each in parse_texts(value, where))

    return read


def require_known(name: str, known: Collection[str], where: str, kind: str = "value") -> str:
    """A name that is known; the message for any other gives the nearest and all."""
    if name in known:
        return name
    near = nearest(name, known)
    listed = ", ".join(known) or "none"
    hint = f"did you mean {near}? (there are: {listed})" if near else f"choose one of: {listed}"
    raise ContextasmError(where, f"unknown {kind} {name}", hint)


def parse_name(value: object, where: str) -> str:
    """The name of an agent or team: one path component (docs/DESIGN.md section 2); empty for none."""
    if not isinstance(value, str | int) or isinstance(value, bool) or (value and not re.fullmatch(_NAME, str(value))):
        hint = "a name has letters, digits, `.`, `_`, `-` and does not begin with `.`"
        raise ContextasmError(where, f"{value} can't be a name", hint)
    return str(value)


def parse_day(value: object, where: str) -> date:
    """A date, YYYY-MM-DD."""
    try:
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise ContextasmError(where, f"{value} is no date", "give it as YYYY-MM-DD")


def parse_inner_paths(value: object, where: str) -> tuple[str, ...]:
    """Paths or patterns that stay inside the workspace."""
    found = parse_texts(value, where)
    for path in found:
        if path.startswith(("/", "~")) or "\\" in path or not path or {"", ".", ".."} & set(path.split("/")):
            raise ContextasmError(where, f"{path} is no path inside the workspace", "give it relative to the workspace")
    return found
