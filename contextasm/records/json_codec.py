"""Named tuples as values that JSON can hold, and back again, checked field by field.

The types that a named tuple declares decide both ways, so a new field of one needs no line here.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def to_json(value: Any) -> Any:
    """A value as JSON can hold it.

    Named tuples and tuples of pairs are objects, other tuples lists, and sets of words lists in code point order.
    """
    return _to_json(type(value), value)


def _to_json(declared: Any, value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, frozenset):
        return sorted(value)
    actual: Any = type(value)
    if _is_named_tuple(actual):
        return {name: _to_json(hint, getattr(value, name)) for name, hint in _field_types(actual).items()}
    if isinstance(value, tuple):
        args = get_args(declared)
        if _is_tuple_of_pairs(declared):
            return {key: _to_json(get_args(args[0])[1], item) for key, item in value}
        return [_to_json(args[0] if args else type(item), item) for item in value]
    return value


def from_json(kind: Any, value: Any, where: str) -> Any:
    """The value of type `kind` that `to_json` turned into `value`.

    A field that is missing takes its default. Raises `ValueError` with `where` and the fault.
    """
    if get_origin(kind) in {Union, UnionType}:
        return _first_that_fits(get_args(kind), value, where)
    if _is_named_tuple(kind):
        return _named_tuple(kind, value, where)
    if get_origin(kind) in {tuple, frozenset}:
        return _collection(kind, value, where)
    if kind is date and isinstance(value, str):
        return date.fromisoformat(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise ValueError(f"{where} is no {getattr(kind, '__name__', kind)}")


def _first_that_fits(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    for kind in sorted(kinds, key=lambda kind: kind is float):
        try:
            return from_json(kind, value, where)
        except ValueError:
            continue
    raise ValueError(f"{where} is none of {', '.join(getattr(kind, '__name__', str(kind)) for kind in kinds)}")


def _named_tuple(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is no object")  # noqa: TRY004 - one kind of error for all that is wrong
    hints = _field_types(kind)
    missing = set(hints) - set(kind._field_defaults) - set(value)
    for what, names in (("is missing", missing), ("is not known", set(value) - set(hints))):
        if names:
            raise ValueError(f"{where}.{min(names)} {what}")
    return kind(**{name: from_json(hints[name], item, f"{where}.{name}") for name, item in value.items()})


def _collection(kind: Any, value: Any, where: str) -> tuple[Any, ...] | frozenset[Any]:
    if _is_tuple_of_pairs(kind):
        return _tuple_of_pairs(kind, value, where)
    if not isinstance(value, list):
        raise ValueError(f"{where} is no list")  # noqa: TRY004 - as above
    args, origin = get_args(kind), get_origin(kind)
    kinds = [args[0]] * len(value) if origin is frozenset or args[-1] is Ellipsis else [*args]
    if len(kinds) != len(value):
        raise ValueError(f"{where} has {len(value)} items, not {len(kinds)}")
    pairs = enumerate(zip(kinds, value, strict=True))
    items = tuple(from_json(item_kind, item, f"{where}.{number}") for number, (item_kind, item) in pairs)
    return frozenset(items) if origin is frozenset else items


def _tuple_of_pairs(kind: Any, value: Any, where: str) -> tuple[tuple[str, Any], ...]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is no object")  # noqa: TRY004 - as above
    value_type = get_args(get_args(kind)[0])[1]
    return tuple((key, from_json(value_type, item, f"{where}.{key}")) for key, item in value.items())


def _is_named_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_tuple_of_pairs(kind: Any) -> bool:
    """Whether a type is `tuple[tuple[str, X], ...]`; its values are objects in JSON."""
    args = get_args(kind)
    return len(args) == 2 and args[1] is Ellipsis and get_origin(args[0]) is tuple and get_args(args[0])[0] is str


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {name: hints[name] for name in kind._fields}
