"""`NamedTuple` as `typing` has it, made in a sixth of the time: a build makes ninety classes of it.

`typing` reads each type, compiles those that are written as text, and compiles the text of a function for each class.
Here types stay as they are written, and classes with as many fields share what `collections` makes for that number,
under names of their own. This needs functions whose code has nothing of the names but its list of them, as it is in
CPython; the tests hold both kinds of classes equal. Type checkers see the one of `typing`.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _NamedTupleMaker(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return type.__new__(cls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body[field] for field in fields if field in body}
            example = _example(len(fields))
            shared = {method: vars(example)[method] for method in ("_make", "_asdict", "__getnewargs__")}
            getters = {field: vars(example)[own] for field, own in zip(fields, example._fields, strict=True)}
            row = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields, "__slots__": ()}
            new = _renamed(example.__new__, fields, tuple(defaults.values()), f"{name}.__new__")
            own = {"__new__": new, "_replace": _replace, "__repr__": _repr}
            return type(name, (tuple, *bases[1:]), {**shared, **own, **body, **row, **getters})

    class NamedTuple(metaclass=_NamedTupleMaker):
        """A tuple with a name for each item."""


@cache
def _example(count: int) -> Any:
    return namedtuple("_example", [f"field{number}" for number in range(count)])  # noqa: PYI024 - its names do not matter


def _renamed(function: Any, fields: tuple[str, ...], defaults: tuple[object, ...], name: str) -> FunctionType:
    """A copy of `__new__` with other parameters."""
    code = function.__code__.replace(co_varnames=("_cls", *fields), co_name="__new__", co_qualname=name)
    new = FunctionType(code, function.__globals__, "__new__", defaults)
    new.__qualname__ = name
    return new


def _replace(self: Any, /, **changes: object) -> Any:
    """A copy with other values of some fields."""
    values = self._make(map(changes.pop, self._fields, self))
    if changes:
        raise ValueError(f"Got unexpected field names: {[*changes]!r}")
    return values


def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"{type(self).__name__}({values})"
