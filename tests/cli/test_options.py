"""Options of all commands: none that is typed stays without effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import contextasm
from contextasm.cli.typer_commands import group
from contextasm.config.input.options import USED_IN_SEARCH, Options
from tests.command import SAMPLE, inside


def test_last_value_of_an_option_counts() -> None:
    """So an alias of a shell may hold one, and the line another."""
    done = inside("build", "-w", SAMPLE, "-a", "kenji", "-b", "1k", "--budget", "9k", "-a", "luna")
    assert done.out == inside("build", "-w", SAMPLE, "-a", "luna", "-b", "9k").out


def test_search_offers_no_option_without_an_effect() -> None:
    """One that a build alone heeds would be a promise."""
    options = group().get_command(None, "search").params
    offered = {name.strip("-").replace("-", "_") for option in options for name in option.opts}
    unused = {*Options._fields} - {*USED_IN_SEARCH}
    assert not offered & {*unused, "layer", "active_file", "event_type", "entity_type", "var"}


@pytest.mark.parametrize("name", sorted({*Options._fields} - {*USED_IN_SEARCH, "topic", "format"}))
def test_search_refuses_an_option_without_an_effect_in_python(name: str) -> None:
    value = {"x": "1"} if name in {"layers", "variables"} else "1"
    with pytest.raises(contextasm.ContextasmError, match=f"^{name}: has no effect on a search"):
        contextasm.search("demo", workspace=str(SAMPLE), agent="luna", **{name: value})  # type: ignore[arg-type]


def test_each_flag_of_a_request_has_one_heading_in_help() -> None:
    table = json.loads((Path(contextasm.__file__).parent / "cli/help.json").read_text(encoding="utf-8"))
    named = [name for names in table["groups"].values() for name in names]
    assert [named.count(name) for name in Options._fields] == [1] * len(Options._fields)
