"""`NamedTuple` as `typing` has it, made in a sixth of the time: a build makes ninety classes of it.

`typing` reads each type, compiles the ones written as text, and compiles the text of a function for each class.
Here types stay as they are written, and classes with as many fields share what `collections` makes for that number,
under names of their own. This needs a `__new__` whose code has the names as its variables, and a `_replace` that has
them in a cell: so it is in CPython 3.11 to 3.13, and a law holds both kinds of classes equal. Type checkers, other
versions and other Pythons get the one of `typing`.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from functools import cache
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple"]

if TYPE_CHECKING or sys.implementation.name != "cpython" or sys.version_info >= (3, 14):
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
            getters = {field: vars(example)[slot] for field, slot in zip(fields, example._fields, strict=True)}
            row = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields, "__slots__": ()}
            new = _new(example, fields, tuple(defaults.values()), f"{name}.__new__")
            own = {"__new__": new, "_replace": _replace(example, fields), "__repr__": _repr}
            # In this order: what a class defines itself replaces ours, and the fields replace their defaults.
            return type(name, (tuple, *bases[1:]), {**shared, **own, **body, **row, **getters})

    class NamedTuple(metaclass=_NamedTupleMaker):
        """A tuple with a name for each item."""


@cache
def _example(count: int) -> Any:
    return namedtuple("_example", [f"field{number}" for number in range(count)])  # noqa: PYI024 - its names do not matter


def _new(example: Any, fields: tuple[str, ...], defaults: tuple[object, ...], name: str) -> FunctionType:
    """The `__new__` of a class, whose parameters have its names."""
    code = example.__new__.__code__.replace(co_varnames=("_cls", *fields), co_name="__new__", co_qualname=name)
    new = FunctionType(code, example.__new__.__globals__, "__new__", defaults)
    new.__qualname__ = name
    return new


def _replace(example: Any, fields: tuple[str, ...]) -> FunctionType:
    """The `_replace` of a class: a closure over the names of its fields."""
    function = example._replace
    cells = (CellType(fields) if cell.cell_contents == example._fields else cell for cell in function.__closure__)
    return FunctionType(function.__code__, function.__globals__, "_replace", None, tuple(cells))


def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"{type(self).__name__}({values})"
