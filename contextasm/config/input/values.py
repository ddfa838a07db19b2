"""Checked values: from YAML, a flag or the environment to the type that the program needs.

Each function takes the value and its place, and raises `ContextasmError` there if the value can't be used.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection
from datetime import date
from functools import cache
from typing import Any, TypeGuard, TypeVar

from contextasm.model import SCORE_PARTS, ContextasmError
from contextasm.text.cleaning.clean import shown_name
from contextasm.text.json_reader import load_json
from contextasm.text.names.dates import is_date_form, moment, parse_date
from contextasm.text.names.glob import wildcard_matches
from contextasm.text.names.matching import list_names, nearest
from contextasm.workspace.reading import required_bytes

T = TypeVar("T")
ParseValue = Callable[[object, str], object]
"""Takes a raw value and `WHERE: key`; gives the checked one."""

_TOKENS = r"([0-9]+(?:\.[0-9]+)?)([kKmM]?)"
_NAME = r"[\w-][\w.-]*"

LARGEST = 10**9
"""Tokens; anything larger is a slip of the finger."""

LARGEST_NUMBER = 10**15
"""Above it a float can't tell whole numbers apart for long."""

LONGEST_TIMEOUT = 600
"""Seconds; a longer wait is a slip of the finger."""

_FEW_NAMES = 12
"""A message that suggests a name lists the others, too, if there are no more than this."""


def parse_tokens(value: object, where: str) -> int:
    """A number of tokens, such as 4000, `4k` or `1m`."""
    match = re.fullmatch(_TOKENS, str(value).strip().replace("_", "")) if not isinstance(value, bool) else None
    scale = {"": 1, "k": 1000, "m": 1_000_000}
    tokens = float(match[1]) * scale[match[2].lower()] if match else -1.0
    if tokens > LARGEST:
        raise ContextasmError(where, f"{value} is too large", f"give a number of tokens up to {LARGEST}")
    if tokens < 0 or tokens != int(tokens):
        raise ContextasmError(where, f"`{value}` is not a number of tokens", "give a number such as 4000 or 4k")
    return int(tokens)


def parse_budgets(value: str) -> tuple[int, ...]:
    """The numbers of tokens of `--budgets`, with commas between them, such as `4k,8k`."""
    return tuple(parse_tokens(budget, "--budgets") for budget in value.split(","))


def parse_limit(value: object, where: str) -> int | None:
    """A number of tokens, or null for no limit."""
    return None if value is None else parse_tokens(value, where)


def is_number(value: object, least: float, most: float) -> TypeGuard[float]:
    """Whether a value is a number from `least` to `most`; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def wrong_number(value: object, where: str, kind: str, hint: str) -> ContextasmError:
    """The error of a value that is not a number of this kind; the hint for a number in quotes is to remove them."""
    if isinstance(value, str) and value[-1:].isdigit():
        return ContextasmError(where, f'"{value}" is text, and not {kind}', f"remove the quotes, and {hint}")
    return ContextasmError(where, f"`{value}` is not {kind}", hint)


def parse_number(value: object, where: str) -> float:
    """A number of either sign; infinity is refused."""
    if not is_number(value, -LARGEST_NUMBER, LARGEST_NUMBER):
        raise ContextasmError(
            where, f"expected a number, found {describe_value(value)}", "write a number, such as 3, without quotes"
        )
    return value


def parse_whole(value: object, where: str) -> int:
    """A whole number of either sign."""
    parse_number(value, where)
    if isinstance(value, int):
        return value
    raise ContextasmError(where, f"expected a whole number, found {value}", "write the number without a fraction")


def parse_count(value: object, where: str) -> int:
    """A whole number, 0 or more."""
    if not is_number(value, 0, LARGEST) or not isinstance(value, int):
        raise wrong_number(value, where, "a whole number of 0 or more", "give one such as 5")
    return value


def parse_percent(value: object, where: str) -> float | None:
    """Per cents of the budget, over 1 to 100, or null for none."""
    if value is None:
        return None
    if not is_number(value, 0, 100):
        raise wrong_number(value, where, "a percentage", "give a number from 0 to 100")
    if 0 < value <= 1:
        raise ContextasmError(where, f"{value} may mean {value} or {value * 100:g} per cent", "give one above 1")
    return float(value)


def parse_fraction(value: object, where: str) -> float:
    """A number from 0 to 1."""
    if not is_number(value, 0, 1):
        raise wrong_number(value, where, "a share from 0 to 1", "give a number such as 0.5")
    return float(value)


def parse_weights(value: object, where: str) -> tuple[tuple[str, float], ...]:
    """The weight of each part of a score, such as `{similarity: 0.5, importance: 0.3, recency: 0.2}`."""
    if not isinstance(value, dict):
        raise ContextasmError(where, f"`{value}` names no weights", "write {NAME: WEIGHT, ...}")
    for part in value:
        require_known(part, SCORE_PARTS, where, "part of a score")
    weights = tuple((part, parse_fraction(value[part], f"{where}: {part}")) for part in SCORE_PARTS if part in value)
    total = sum(weight for _, weight in weights)
    if abs(total - 1) > 1e-9:
        raise ContextasmError(where, f"the weights add up to {round(total, 9):g}", "make them add up to 1")
    return weights


def by_name(parse: Callable[[object, str], T]) -> Callable[[object, str], tuple[tuple[str, T], ...]]:
    """A parser of values by name, such as `{root/decisions*: 3}`, each of which `parse` takes."""

    def parse_pairs(value: object, where: str) -> tuple[tuple[str, T], ...]:
        if not isinstance(value, dict):
            raise ContextasmError(where, f"`{value}` is not a mapping", "write {NAME: VALUE, ...}")
        return tuple((name, parse(item, f"{where}: {name}")) for name, item in value.items())

    return parse_pairs


def parse_intents(value: object, where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Types of events by intent, such as `{fix: [error, shell_exec]}`."""
    from contextasm.retrieval.reading.query_signals import INTENTS  # here: few layers name intents

    intents = by_name(parse_texts)(value, where)
    for name, _ in intents:
        require_known(name, [intent for intent, _ in INTENTS], where, "intent")
    return intents


def parse_word(value: object, where: str) -> str:
    """A word; a number counts as one."""
    return parse_text(str(value) if isinstance(value, int) and not isinstance(value, bool) else value, where)


def parse_flag(value: object, where: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ContextasmError(where, f"`{value}` is neither true nor false", "write true or false")
    return value


def parse_text(value: object, where: str) -> str:
    """Text of one line."""
    if not isinstance(value, str) or "\n" in value:
        raise ContextasmError(where, f"{value!r} is not text on one line", "put it in quotes")
    return value


def parse_texts(value: object, where: str) -> tuple[str, ...]:
    """Texts of one line each: a list of them, or a single one."""
    return tuple(parse_text(text, where) for text in (value if isinstance(value, list) else [value]))


def parse_scalar(value: object, where: str) -> str:
    """The text of a word, a number or a truth value, as a person would write it; never blank."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        what = f"expected text, found {describe_value(value)}"
        raise ContextasmError(where, what, "write one value, in quotes if necessary")
    text = str(value)
    if not text.strip():
        raise ContextasmError(where, "the value is empty", "give a value, or leave the line out")
    return text


def describe_value(value: object) -> str:
    """The sort of a value, or the value itself, for a message."""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    kinds = ((dict, "a mapping"), (list, "a list"), (type(None), "nothing"))
    return next((kind for type_, kind in kinds if isinstance(value, type_)), f"`{value}`")


def one_of(known: Collection[str], kind: str = "value") -> ParseValue:
    """A parser of one of the known names; `kind` is the word for such a name in a message."""
    return lambda value, where: require_known(parse_text(value, where), known, where, kind)


def some_of(known: Collection[str], kind: str = "value") -> ParseValue:
    """A parser of some of the known names, in the order given; `kind` is the word for such a name in a message."""
    return lambda value, where: tuple(require_known(name, known, where, kind) for name in parse_texts(value, where))


def require_known(name: str, known: Collection[str], where: str, kind: str = "value") -> str:
    """A name that is known; the message for any other gives the nearest one, or a list of them."""
    if name in known:
        return name
    names = list_names(known)
    hint = f"choose one of: {names}" if known else f"leave it out; no {kind} is defined"
    if meant := suggestion(name, known, kind):
        hint = f"{meant}{f' (available: {names})' if len(known) <= _FEW_NAMES else ''}"
    raise ContextasmError(where, f"unknown {kind} `{name}`", hint)


@cache
def load_table(path: str) -> Any:
    """The values of a JSON file of this package."""
    return load_json(required_bytes(path, "install ctxasm again").decode(), path)


def suggestion(name: str, known: Collection[str], kind: str, least: float = 0.0) -> str:
    """Advice on an unknown name: what people mean by it, else the nearest; empty for neither.

    `other_words.json` has, for each kind of names, patterns of what people type, with blanks between, and the name or
    advice.
    """
    for patterns, meant in load_table(__file__.replace("values.py", "other_words.json")).get(kind, {}).items():
        is_name = " " not in meant or meant.startswith("-")
        is_meant = any(wildcard_matches(pattern, name.casefold()) for pattern in patterns.split())
        if is_meant and (not is_name or meant.split()[0] in known):
            return f"did you mean {meant}?" if is_name else meant
    near = nearest(name, known, least)
    return f"did you mean {near}?" if near else ""


NAME_HINT = "use letters, digits, `.`, `_` and `-`, and do not begin with `.`"

LONGEST_NAME = 255
"""Bytes of the name of a folder; usual file systems have no longer ones."""


def is_name(text: str) -> bool:
    """Whether a text can be the name of an agent or team."""
    return bool(re.fullmatch(_NAME, text))


def parse_name(value: object, where: str) -> str:
    """The name of an agent or team: one path component (docs/architecture.md, Workspace); empty for none."""
    if isinstance(value, str) and len(value.encode(errors="surrogateescape")) > LONGEST_NAME:
        raise ContextasmError(where, f"the name {shown_name(value)} is too long", f"use at most {LONGEST_NAME} bytes")
    if not isinstance(value, str | int) or isinstance(value, bool) or (value and not is_name(str(value))):
        raise ContextasmError(where, f"`{shown_name(str(value))}` can't be a name", NAME_HINT)
    return str(value)


def parse_day(value: object, where: str) -> date:
    """A date, YYYY-MM-DD."""
    day = parse_date(value) if isinstance(value, str) else None
    if day is None:
        hint = "write it as YYYY-MM-DD, such as 2025-03-14"
        if isinstance(value, str) and is_date_form(value):
            hint = _missing_day_words(int(value[:4]), int(value[5:7]))
        raise ContextasmError(where, f"`{value}` is not a date", hint)
    return day


def parse_day_or_time(value: str, where: str) -> str:
    """A date, YYYY-MM-DD, or a time in ISO form, as UTC without a zone: YYYY-MM-DDTHH:MM:SS."""
    time = moment(value) if len(value.strip()) > len("YYYY-MM-DD") else None
    return time.isoformat() if time else parse_day(value, where).isoformat()


def _missing_day_words(year: int, month: int) -> str:
    """Why the calendar has no day of this form."""
    import calendar  # here: only for mistakes

    if not (1 <= month <= 12 and year):
        return "the months are 01 to 12" if year else "the first year is 0001"
    return f"{calendar.month_name[month]} {year} has {calendar.monthrange(year, month)[1]} days"


LONGEST_PATH = 1000
"""Characters of a path or pattern in settings: to compile a very long pattern takes minutes."""


def parse_inner_paths(value: object, where: str) -> tuple[str, ...]:
    """Paths or patterns that stay inside the workspace."""
    paths = parse_texts(value, where)
    for path in paths:
        if len(path) > LONGEST_PATH:
            raise ContextasmError(where, f"the path has {len(path):,} characters", f"use at most {LONGEST_PATH:,}")
        plain = posixpath.normpath(path.replace("\\", "/")) if path else ""
        if path.startswith(("/", "\\", "~")) or plain in {"", ".", ".."} or plain.startswith("../"):
            raise ContextasmError(
                where, f"`{path}` is not a path inside the workspace", "write it relative to the workspace"
            )
        if path != plain:
            raise ContextasmError(where, f"`{path}` is not in its shortest form", f"write {plain}")
    return paths


def parse_command(value: object, where: str) -> tuple[str, ...]:
    """Program and arguments: a list, or one text that is taken apart as a shell would."""
    if isinstance(value, str):
        import shlex  # here: few settings name a program

        try:
            words = tuple(shlex.split(value))
        except ValueError as error:
            raise ContextasmError(where, f"`{value}` ends inside quotes", "close them, or write a list") from error
    else:
        words = parse_texts([] if value is None else value, where)
    if not words or not words[0] or any("\0" in word for word in words):
        raise ContextasmError(where, "names no program", "write [PROGRAM, ARGUMENT, ...]")
    return words


def parse_seconds(value: object, where: str) -> float:
    """A time in seconds, above 0."""
    if not is_number(value, 0, LONGEST_TIMEOUT) or not value:
        raise wrong_number(value, where, "a time in seconds", f"give a number above 0, up to {LONGEST_TIMEOUT}")
    return float(value)
