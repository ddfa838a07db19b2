"""Options of all commands: none that is typed stays without effect."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import contextasm
from contextasm.cli.app import COMMANDS, group, takes_one_value
from contextasm.config.input.options import UNUSED_IN_SEARCH
from tests.command import SAMPLE, inside, refused

ONE_VALUE = [
    (name, option.opts)
    for name in COMMANDS
    for option in group().get_command(None, name).params
    if takes_one_value(option)
]


def test_commands_have_options_that_take_one_value() -> None:
    assert ("build", ["--agent", "-a"]) in ONE_VALUE
    assert ("remember", ["--type"]) in ONE_VALUE
    assert ("build", ["--layer"]) not in ONE_VALUE
    assert ("build", ["--quiet", "-q"]) not in ONE_VALUE


@pytest.mark.parametrize(
    ("command", "names"), ONE_VALUE, ids=lambda value: value if isinstance(value, str) else value[0]
)
def test_second_value_is_refused_under_any_name(tmp_path: Path, command: str, names: list[str]) -> None:
    for (first, second), value in product(product(names, repeat=2), ("1", "2")):
        done = inside(command, first, "1", second, value, cwd=tmp_path)
    if command == "hook" and "--print-config" not in names:  # The answer has the error, and a host goes on.
        assert done.code == 0
        done = done._replace(code=2, out="")
    refused(done, f"error: {names[0]}: ", "more than once")


def test_search_offers_no_option_without_an_effect() -> None:
    """One that a build alone heeds would be a promise."""
    offered = {
        name.strip("-").replace("-", "_") for command, names in ONE_VALUE if command == "search" for name in names
    }
    assert not offered & {*UNUSED_IN_SEARCH, "layer", "active_file", "event_type", "entity_type", "var"}


@pytest.mark.parametrize("name", sorted({*UNUSED_IN_SEARCH} - {"topic", "format"}))
def test_search_refuses_an_option_without_an_effect_in_python(name: str) -> None:
    value = {"x": "1"} if name in {"layers", "variables"} else "1"
    with pytest.raises(contextasm.ContextasmError, match=f"^{name}: has no effect on a search"):
        contextasm.search("demo", workspace=str(SAMPLE), agent="luna", **{name: value})  # type: ignore[arg-type]
