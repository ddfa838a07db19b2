"""Parameters of the functions of `api`: values of Python become options as a person would type them.

Each parser takes the value and the parameter's name, and raises `ContextasmError` for a value that has another type.
A single text is a list of one, as in settings; a value is never taken apart letter by letter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import date as day
from itertools import islice
from typing import Any, TypedDict

from contextasm.config.input.options import Options
from contextasm.config.input.values import LARGEST, LARGEST_NUMBER
from contextasm.model import ContextasmError
from contextasm.text.names.matching import list_names, nearest


class RequestOptions(TypedDict, total=False):
    """The options of `ctxasm build` that say what the context is made of; man page ctxasm(1) describes each.

    One that is missing or None is left to the environment, the settings and the profile. A text where several are
    wanted is one of them.
    """

    agent: str | None
    team: str | None
    topic: str | None
    entities: Iterable[str] | None
    """Names of entities that the topic is about."""
    profile: str | os.PathLike[str] | None
    budget: int | str | None
    """Tokens, or a text such as `8k`."""
    tokenizer: str | None
    date: day | str | None
    tz: str | None
    layers: Mapping[str, int | str] | None
    """Most tokens of a layer, by its id."""
    strategy: str | None
    scope: Iterable[str] | None
    """Ids of the only layers to build."""
    session: str | None
    history: str | Iterable[Mapping[str, Any]] | None
    """The conversation so far: events, or messages of a model's API, or a text with the JSON of these."""
    open: Iterable[str | os.PathLike[str]] | None
    since: day | str | None
    event_types: Iterable[str] | None
    entity_types: Iterable[str] | None
    task: str | None
    exclude: Iterable[str] | None
    prefer: Iterable[str] | None
    show_expired: bool | None
    """Show memories before their first day and after their last one, too, with a label."""
    detail: str | None
    min_score: float | None
    deadline: int | None
    """Milliseconds."""
    additional: str | None
    request_id: str | None
    variables: Mapping[str, str | float] | None
    format: str | None
    """Format whose counts the budget holds; `contextasm.render` writes it."""
    privacy: str | None
    audience: str | None
    offline: bool | None
    """Ask no server: read the replica of a shared store as it is."""
    workspace: str | os.PathLike[str] | None


MAX_ITEMS = 10_000
"""Number of values of a list; more are refused, because a generator may never end."""


def parse_text(value: object, name: str) -> str:
    """A text that the command line could be given: it has no NUL character and no half of a surrogate pair."""
    if not isinstance(value, str):
        raise _refused(value, name, "a text")
    try:
        os.fsencode(value)
    except UnicodeEncodeError as error:
        raise ContextasmError(name, f"character {error.start + 1} is not valid Unicode", "give UTF-8 text") from error
    if "\0" in value:
        raise ContextasmError(name, "contains a NUL character", "remove it")
    return str.__str__(value)  # the text itself, where a class such as an enumeration writes itself in its own way


def parse_texts(value: object, name: str) -> tuple[str, ...]:
    """Several texts, or one; a set is sorted, because its order differs from run to run."""
    return _several(value, name, parse_text, "a text, or a list of texts")


def parse_path(value: object, name: str) -> str:
    """A path, as a text or as an object of `pathlib`."""
    if not isinstance(value, str | os.PathLike):
        raise _refused(value, name, "a path")
    path = parse_text(os.fspath(value), name)
    if not path:
        raise ContextasmError(name, "is empty", "give a path, or leave it out")
    return path


def parse_number(value: object, name: str) -> str:
    """A number, or the text of one, such as `8k`; whether it is in range is asked later."""
    if isinstance(value, str):
        return parse_text(value, name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _refused(value, name, "a number")
    if not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:  # Python writes no number of over 4,300 digits
        raise ContextasmError(name, "the number is out of range", f"give a number up to {LARGEST_NUMBER}")
    return str(int(value)) if value == int(value) else str(float(value))


def parse_count(value: object, name: str) -> int:
    """A whole number from 1 on."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refused(value, name, "a whole number")
    if not 1 <= value <= LARGEST:
        raise ContextasmError(name, "the number is out of range", f"give a number from 1 to {LARGEST}")
    return int(value)


def parse_flag(value: object, name: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise _refused(value, name, "True or False")
    return value


def parse_day(value: object, name: str) -> str:
    """A day, as a date, a time, whose day counts, or a text."""
    return value.isoformat()[:10] if isinstance(value, day) else parse_text(value, name)


def _parse_mapping(value: object, name: str) -> tuple[str, ...]:
    """The pairs of a mapping of names to texts or numbers, as `NAME=VALUE`."""
    if not isinstance(value, Mapping):
        raise _refused(value, name, "a mapping, such as {'NAME': 'VALUE'}")
    pairs = [(parse_text(key, name), item) for key, item in value.items()]
    if any(not key or "=" in key for key, _ in pairs):
        raise ContextasmError(name, "has an empty name, or a name with `=`", "give another name")
    return tuple(f"{key}={parse_number(item, f'{name}: {key}')}" for key, item in pairs)


def _parse_history(value: object, name: str) -> str:
    """Events or messages as the JSON of a list; a text as it is."""
    if isinstance(value, str):
        return parse_text(value, name)
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes | bytearray | memoryview):
        raise _refused(value, name, "a list of messages")
    import json

    try:
        return parse_text(json.dumps([*islice(value, MAX_ITEMS)]), name)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(value, name, "a list of messages, as in JSON") from error


_PARSERS_BY_FORM: Mapping[object, Callable[[object, str], Any]] = {None: parse_text, (): parse_texts, False: parse_flag}
"""The parsers of texts, of several texts and of flags, by their default in `Options`."""

_PARSERS: Mapping[str, Callable[[object, str], Any]] = {
    **{name: _PARSERS_BY_FORM[default] for name, default in Options._field_defaults.items()},
    "profile": parse_path,
    "budget": parse_number,
    "date": parse_day,
    "layers": _parse_mapping,
    "scope": lambda value, name: ",".join(parse_texts(value, name)),
    "history": _parse_history,
    "open": lambda value, name: _several(value, name, parse_path, "a path, or a list of paths"),
    "since": lambda value, name: value.isoformat() if isinstance(value, day) else parse_text(value, name),
    "deadline": parse_number,
    "min_score": parse_number,
    "variables": _parse_mapping,
    "workspace": parse_path,
}
"""The parsers of the fields of `Options`."""


def options_of_parameters(given: Mapping[str, Any]) -> Options:
    """The options as a person would type them; a value of None is left out.

    Raises `TypeError` for a name that is not an option's, as Python does, and `ContextasmError` for a value of
    another type.
    """
    if unknown := next((name for name in given if name not in Options._fields), None):
        near = nearest(unknown, Options._fields)
        guess = f"did you mean {near}? " if near else ""
        known = list_names(Options._fields)
        raise TypeError(f"got an unexpected keyword argument {unknown!r}: {guess}(available: {known})")
    values = [(name, value) for name, value in given.items() if value is not None]
    return Options(**{name: _PARSERS[name](value, name) for name, value in values})


def _several(value: object, name: str, parse: Callable[[object, str], str], wanted: str) -> tuple[str, ...]:
    if isinstance(value, str | os.PathLike):
        return (parse(value, name),)
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes | bytearray | memoryview):
        raise _refused(value, name, wanted)
    parsed = tuple(parse(item, name) for item in islice(value, MAX_ITEMS + 1))
    if len(parsed) > MAX_ITEMS:
        raise ContextasmError(name, f"has more than {MAX_ITEMS:,} values", "give fewer values")
    return tuple(sorted(parsed)) if isinstance(value, set | frozenset) else parsed


def _refused(value: object, name: str, wanted: str) -> ContextasmError:
    return ContextasmError(name, f"is of the type {type(value).__name__}", f"give {wanted}")
