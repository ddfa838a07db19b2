"""Values of declared types as values that JSON can hold, and back again, checked field by field.

The types that a named tuple or a `TypedDict` declares decide both ways, so a new field needs no line here.
`tools/json_schemas.py` makes the JSON Schema of each document from the same types and the texts under their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

Count = Annotated[int, ("minimum", 0)]
Positive = Annotated[int, ("minimum", 1)]
Share = Annotated[float, ("minimum", 0), ("maximum", 1)]
Digest = Annotated[str, ("pattern", "^[0-9a-f]{64}$")]
Day = Annotated[str, ("pattern", r"^\d{4}-\d{2}-\d{2}$")]
Code = Annotated[str, ("pattern", "^[a-z]+(-[a-z]+)*$")]

INLINE = "inline"
"""Marks, in `Annotated`, a field of a document that is not there itself: its own fields are in its place."""

_Encoder = Callable[[Any], Any]


def to_json(kind: Any, value: Any) -> Any:
    """A value as JSON can hold it, in the form of the type `kind`.

    Named tuples and `TypedDict`s are objects of the fields that `kind` has: a value of another type gives its fields of
    the same names, in the order of `kind`, and each literal is its own value. Tuples of pairs are objects, other tuples
    lists, and sets of words lists in code point order. A name that Python reserves ends with `_` in a type.
    """
    return _encoder(kind)(value)


@cache
def _encoder(kind: Any) -> _Encoder:
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _encoder(args[0])
    if kind is date:
        return date.isoformat
    if is_typeddict(kind) or _is_named_tuple(kind):
        return lambda value: _object(kind, value)
    if origin in {Union, UnionType}:
        kinds = [each for each in args if each is not NoneType]
        encode = _encoder(kinds[0]) if len(kinds) == 1 else _encode_by_value
        return lambda value: value if value is None else encode(value)
    if origin in {tuple, list, Sequence, dict, Mapping}:
        return _collection_encoder(kind, origin, args)
    return lambda value: value


def _collection_encoder(kind: Any, origin: Any, args: tuple[Any, ...]) -> _Encoder:
    if origin is tuple and args[-1] is not Ellipsis:
        return lambda value: [_encoder(each)(item) for each, item in zip(args, value, strict=True)]
    if origin in {dict, Mapping} or _is_tuple_of_pairs(kind):
        encode = _encoder(args[1] if args[1] is not Ellipsis else get_args(args[0])[1])
        return lambda value: {key: encode(item) for key, item in dict(value).items()}
    encode = _encoder(args[0])
    return lambda value: [encode(item) for item in value]


def _encode_by_value(value: Any) -> Any:
    """A value of one of several types; the items of a collection are of types that JSON has."""
    if _is_named_tuple(type(value)):
        return _object(type(value), value)
    return [*value] if isinstance(value, tuple) else value


def _object(kind: Any, value: Any) -> dict[str, Any]:
    read = value.__getitem__ if isinstance(value, Mapping) else lambda name: getattr(value, name)
    data: dict[str, Any] = {}
    for name, (encode, constant, is_inline) in _field_encoders(kind).items():
        if is_inline:
            data |= encode(read(name))
        elif getattr(kind, "__total__", True) or name in value:
            data[name.removesuffix("_")] = constant or encode(read(name))
    return data


@cache
def _field_encoders(kind: Any) -> dict[str, tuple[_Encoder, Any, bool]]:
    """By field: its encoder; its value if it is a single literal, else None; whether its own fields are put inline."""
    encoders = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        literals = get_args(hint) if get_origin(hint) is Literal else ()
        constant = literals[0] if len(literals) == 1 else None
        encoders[name] = _encoder(hint), constant, INLINE in getattr(hint, "__metadata__", ())
    return encoders


_field_types = cache(get_type_hints)


def from_json(kind: Any, value: Any, where: str) -> Any:
    """The value of type `kind` that `to_json` turned into `value`.

    A field that is missing takes its default. Raises `ValueError` with `where` and the fault.
    """
    if get_origin(kind) in {Union, UnionType}:
        return _first_that_fits(get_args(kind), value, where)
    if _is_named_tuple(kind):
        return _named_tuple(kind, value, where)
    if get_origin(kind) in {tuple, Mapping}:
        return _collection(kind, value, where)
    if kind is date and isinstance(value, str):
        return date.fromisoformat(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise ValueError(f"{where} is not of type {getattr(kind, '__name__', kind)}")


def _first_that_fits(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    for kind in sorted(kinds, key=lambda kind: kind is float):
        try:
            return from_json(kind, value, where)
        except ValueError:
            continue
    raise ValueError(f"{where} is not one of {', '.join(getattr(kind, '__name__', str(kind)) for kind in kinds)}")


def _named_tuple(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is not an object")  # noqa: TRY004 - one kind of error for all that is wrong
    hints = _field_types(kind)
    missing = set(hints) - set(kind._field_defaults) - set(value)
    for what, names in (("is missing", missing), ("is not known", set(value) - set(hints))):
        if names:
            raise ValueError(f"{where}.{min(names)} {what}")
    return kind(**{name: from_json(hints[name], item, f"{where}.{name}") for name, item in value.items()})


def _collection(kind: Any, value: Any, where: str) -> tuple[Any, ...] | dict[str, Any]:
    args, is_mapping = get_args(kind), get_origin(kind) is Mapping
    form = dict if is_mapping or _is_tuple_of_pairs(kind) else list
    if not isinstance(value, form):
        raise ValueError(f"{where} is not {'a list' if form is list else 'an object'}")  # noqa: TRY004 - as above
    if isinstance(value, dict):
        item_kind = args[1] if is_mapping else get_args(args[0])[1]
        items = {key: from_json(item_kind, item, f"{where}.{key}") for key, item in value.items()}
        return items if is_mapping else tuple(items.items())
    kinds = [args[0]] * len(value) if args[-1] is Ellipsis else [*args]
    if len(kinds) != len(value):
        raise ValueError(f"{where} has {len(value)} items, not {len(kinds)}")
    pairs = enumerate(zip(kinds, value, strict=True))
    return tuple(from_json(item_kind, item, f"{where}.{number}") for number, (item_kind, item) in pairs)


def _is_named_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_tuple_of_pairs(kind: Any) -> bool:
    """Whether a type is `tuple[tuple[str, X], ...]`; its values are objects in JSON."""
    args = get_args(kind)
    return len(args) == 2 and args[1] is Ellipsis and get_origin(args[0]) is tuple and get_args(args[0])[0] is str
