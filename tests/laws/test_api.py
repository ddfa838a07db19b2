"""Whatever a program passes to a function of `contextasm`, it gets a result or a `ContextasmError`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import chdir, suppress
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

import contextasm
from contextasm.api import RequestOptions
from tests.command import fill
from tests.workspaces import law


class _Colour(str, Enum):  # noqa: UP042 - the older kind, whose own text is `_Colour.RED`
    RED = "red"


ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**30, 10**5000, 1.5, -0.0, float("nan"), float("inf"), 3 + 2j),
    *("", " ", "a", "a,b", "../a", "/", "~", "x" * 5000, "a\0b", "\ud800", "\udcff", "a\nb", "*", "[", "{a}", "A=1"),
    *(b"a", bytearray(b"a"), date(2025, 3, 10), date.min, datetime(2025, 3, 10, 23, tzinfo=UTC), _Colour.RED),
    *([], ["a"], ["a", 1], [None], [[]], ("a", b"b"), {"a"}, frozenset(), {}, {"L3": 3}, {1: 2}, {"a=b": "c"}),
    *({"L3": None}, {"L3": [1]}, Path("a"), Path("a\0b"), range(3), object(), int, len, ...),
)
"""Values that no parameter, or only another one, is made for."""

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    name: getattr(contextasm, name) for name in contextasm.__all__ if inspect.isfunction(getattr(contextasm, name))
}


def parameters(name: str) -> list[str]:
    """The names of all parameters of a function."""
    found = inspect.signature(FUNCTIONS[name]).parameters
    own = [parameter.name for parameter in found.values() if parameter.kind is not parameter.VAR_KEYWORD]
    return own if len(own) == len(found) else [*own, *get_type_hints(RequestOptions)]


REQUIRED: Mapping[str, Any] = {"text": "The demo is at noon", "name": "m-1", "kind": "agent", "context": None}


def call(name: str, values: Mapping[str, Any]) -> None:
    """Call a function with these values, in a workspace of its own unless they name one."""
    with TemporaryDirectory() as folder:
        workspace = fill(Path(folder), {"agents/a/memories/m.md": "- [fact] The demo is at six.\n"})
        named = parameters(name)
        usual = {key: value for key, value in REQUIRED.items() if key in named} | {"workspace": workspace}
        usual = {key: value for key, value in usual.items() if key in named}
        with chdir(folder), suppress(contextasm.ContextasmError):
            FUNCTIONS[name](**{**usual, **values})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_parameter_takes_or_refuses_each_odd_value(name: str) -> None:
    """Each alone; nothing but `ContextasmError` comes out. The options of `build` are those of other functions, too."""
    failed: dict[str, BaseException] = {}
    options = set() if name == "build" else set(parameters("build"))
    for parameter in [own for own in parameters(name) if own not in options or name in {"remember", "log", "owners"}]:
        for value in ODD:
            try:
                call(name, {parameter: value})
            except Exception as error:  # noqa: BLE001 - all failures are shown at once
                failed[f"{parameter}={value!r:.40}" if not isinstance(value, int) else parameter] = error
    assert failed == {}


@law(100)
@given(st.data())
def test_parameters_together_are_taken_or_refused(data: st.DataObject) -> None:
    """Several odd values and any text, at once."""
    name = data.draw(st.sampled_from([*FUNCTIONS]))
    odd = st.sampled_from(ODD) | st.text() | st.lists(st.text(), max_size=3)
    call(name, data.draw(st.dictionaries(st.sampled_from(parameters(name)), odd, max_size=4)))
