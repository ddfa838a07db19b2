"""Whatever a program passes to a function of `contextasm`, it gets a result or a `ContextasmError`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import chdir, suppress
from datetime import UTC, date, datetime
from enum import Enum
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import format_exception
from typing import Any, get_type_hints
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

import contextasm
from contextasm.api import RequestOptions
from tests.command import fill, inside


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
    found = inspect.signature(FUNCTIONS[name]).parameters
    own = [parameter.name for parameter in found.values() if parameter.kind is not parameter.VAR_KEYWORD]
    return own if len(own) == len(found) else [*own, *get_type_hints(RequestOptions)]


REQUIRED: Mapping[str, Any] = {
    "text": "The demo is at noon",
    "name": "m-1",
    "kind": "agent",
    "context": None,
    "budget": 500,
}


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
    failed: dict[str, BaseException] = {}
    options = set() if name == "build" else set(parameters("build"))
    whole = {"remember", "log", "owners", "fit", "count"}
    for parameter in [own for own in parameters(name) if own not in options or name in whole]:
        for value in ODD:
            try:
                call(name, {parameter: value})
            except Exception as error:  # noqa: BLE001 - all failures are shown at once
                failed[f"{parameter}={value!r:.40}" if not isinstance(value, int) else parameter] = error
    assert failed == {}


@given(st.data())
def test_parameters_together_are_taken_or_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*FUNCTIONS]))
    odd = st.sampled_from(ODD) | st.text() | st.lists(st.text(), max_size=3)
    call(name, data.draw(st.dictionaries(st.sampled_from(parameters(name)), odd, max_size=4)))


TOKEN = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
"""A secret of a known form."""

HOSTILE = (
    st.lists(
        st.sampled_from(
            [f" {TOKEN} ", "a", "a b", "\n", "\r", "\t", "::error::x", "\x1b[31m", "\u202e", "\u200b", "\x85", "é", "/"]
        )
        | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8),
        min_size=1,
        max_size=6,
    )
    .map("".join)
    .filter(bool)
)
"""Texts that no message may show as they are."""

_UNSEEN = "\u200b\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"


def is_shown_as_it_is(text: str) -> bool:
    """Whether a text is one line without a secret and without characters that act or that nobody sees."""
    unseen = [
        character for character in text if character in _UNSEEN or category(character) in {"Cc", "Cs", "Zl", "Zp"}
    ]
    return not unseen and TOKEN not in text


TEXT_OPTIONS = (
    "agent",
    "team",
    "profile",
    "tokenizer",
    "date",
    "tz",
    "strategy",
    "since",
    "format",
    "privacy",
    "audience",
)
"""Options of one text that are refused where they name nothing."""


def build_error(options: Mapping[str, Any]) -> contextasm.ContextasmError | None:
    """The error that a build with these options raises; None where it has a result."""
    try:
        contextasm.build(**options)
    except contextasm.ContextasmError as error:
        return error
    return None


@given(st.sampled_from(TEXT_OPTIONS), HOSTILE)
def test_an_error_has_the_text_that_the_command_line_prints(option: str, text: str) -> None:
    with TemporaryDirectory() as folder, chdir(fill(Path(folder), {"agents/a/IDENTITY.md": "I am a.\n"})):
        error = build_error({"agent": "a", option: text})
        if error is not None:
            agent = () if option == "agent" else ("--agent=a",)
            result = inside("build", *agent, f"--{option}={text}", cwd=folder)
            assert result.err == f"ctxasm: error: {error}\n"
            for shown in (str(error), error.where, error.what, error.hint):
                assert is_shown_as_it_is(shown)
            assert TOKEN not in "".join(format_exception(error))


@pytest.mark.parametrize("name", ["a\ud800", "a\udcff\n::error::x", f"{TOKEN}\n\u202e"])
def test_no_error_breaks_a_line_or_shows_a_secret(name: str, tmp_path: Path) -> None:
    for given_options in ({"agent": name}, {"workspace": tmp_path / name}, {"open": [name], "agent": name}):
        with pytest.raises(contextasm.ContextasmError) as caught:
            contextasm.build(**given_options)
        assert is_shown_as_it_is(str(caught.value))


@pytest.mark.parametrize("option", ["open", "exclude", "scope", "event_types", "prefer"])
def test_a_list_that_never_ends_is_refused(option: str) -> None:
    with pytest.raises(contextasm.ContextasmError, match=f"{option}: has more than 10,000 values"):
        contextasm.build(**{option: repeat("a")})  # type: ignore[arg-type]
