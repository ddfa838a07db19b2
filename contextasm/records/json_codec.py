"""Named tuples as plain values, such as JSON holds, and back again, checked field by field.

The types that a named tuple declares say both ways, so a field that is added to one needs no line here.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def to_json(value: Any) -> Any:
    """A value as JSON can hold it: named tuples and tuples of pairs are objects, other tuples lists."""
    return _plain(type(value), value)


def _plain(kind: Any, value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    own: Any = type(value)
    if _is_named(own):
        return {key: _plain(hint, getattr(value, key)) for key, hint in _fields(own).items()}
    if isinstance(value, tuple):
        args = get_args(kind)
        if _is_object(kind):
            return {key: _plain(get_args(args[0])[1], each) for key, each in value}
        return [_plain(args[0] if args else type(each), each) for each in value]
    return value


def from_json(kind: Any, value: Any, where: str) -> Any:
    """The value of type `kind` that a plain value stands for; the way back from `to_json`.

    A field that is missing takes its default. Raises `ValueError` with `where` and what is wrong.
    """
    if get_origin(kind) in {Union, UnionType}:
        return _either(get_args(kind), value, where)
    if _is_named(kind):
        return _named(kind, value, where)
    if get_origin(kind) is tuple:
        return _tuple(kind, value, where)
    if kind is date and isinstance(value, str):
        return date.fromisoformat(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise ValueError(f"{where} is no {getattr(kind, '__name__', kind)}")


def _either(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    """The value as the first of several types that it fits."""
    for kind in sorted(kinds, key=lambda kind: kind is float):
        try:
            return from_json(kind, value, where)
        except ValueError:
            continue
    raise ValueError(f"{where} is none of {', '.join(getattr(kind, '__name__', str(kind)) for kind in kinds)}")


def _named(kind: Any, value: Any, where: str) -> Any:
    """A named tuple from an object with its fields."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} is no object")  # noqa: TRY004 - one kind of error for all that is wrong
    hints = _fields(kind)
    missing = set(hints) - set(kind._field_defaults) - set(value)
    for what, keys in (("is missing", missing), ("is not known", set(value) - set(hints))):
        if keys:
            raise ValueError(f"{where}.{min(keys)} {what}")
    return kind(**{key: from_json(hints[key], each, f"{where}.{key}") for key, each in value.items()})


def _tuple(kind: Any, value: Any, where: str) -> tuple[Any, ...]:
    """A tuple from a list, or from an object where it is one of pairs."""
    args = get_args(kind)
    if _is_object(kind):
        if not isinstance(value, dict):
            raise ValueError(f"{where} is no object")
        return tuple((key, from_json(get_args(args[0])[1], each, f"{where}.{key}")) for key, each in value.items())
    if not isinstance(value, list):
        raise ValueError(f"{where} is no list")  # noqa: TRY004 - as above
    kinds = [args[0]] * len(value) if args[-1] is Ellipsis else [*args]
    if len(kinds) != len(value):
        raise ValueError(f"{where} has {len(value)} items, not {len(kinds)}")
    return tuple(from_json(each, item, f"{where}.{n}") for n, (each, item) in enumerate(zip(kinds, value, strict=True)))


def _is_named(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_object(kind: Any) -> bool:
    """Whether a type is a tuple of any number of pairs of a word and something."""
    args = get_args(kind)
    return len(args) == 2 and args[1] is Ellipsis and get_origin(args[0]) is tuple and get_args(args[0])[0] is str


@cache
def _fields(kind: Any) -> dict[str, Any]:
    """A named tuple's fields with their types."""
    hints = get_type_hints(kind)
    return {key: hints[key] for key in kind._fields}
