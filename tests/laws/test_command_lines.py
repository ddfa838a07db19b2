"""Two readers of command lines: what ours reads, typer reads the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any
from unittest.mock import patch

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from contextasm.cli.command_line import COMMANDS, Argument, Command, Parameter, load_command
from contextasm.cli.typer_commands import group

TEXTS = ("a", "3", "a b", "-", "--", "-1", "--topic", "", "x=y", "--budget=8k", "é", "markdown", "bash", "0")


@cache
def typer_command(name: str) -> Any:
    """A command as typer has it, made once with its parser: that takes longer than to read a line."""
    command = group().get_command(None, name)
    parser = command.make_parser(typer.Context(command))
    command.make_parser = lambda _: parser
    return command


def read_by_typer(name: str, words: Sequence[str]) -> Mapping[str, Any]:
    with patch.object(Command, "run", lambda _, typed: typed):
        values: Mapping[str, Any] = typer_command(name).main(args=[*words], prog_name="ctxasm", standalone_mode=False)
    return values


def assert_equal(name: str, words: Sequence[str]) -> bool:
    """Whether our reader took the line, which then means the same to typer."""
    command = load_command(name)
    read = command.read(words)
    if read is not None:
        defaults = {each.name: each.default for each in command.parameters if each.default is not None}
        assert defaults | dict(read) == defaults | dict(read_by_typer(name, words)), words
    return read is not None


def typed(parameter: Parameter) -> list[list[str]]:
    """Ways to type a parameter that our reader takes."""
    value = {int: "3", float: "3", bool: ""}.get(parameter.kind, "bash" if parameter.name == "shell" else "text")
    if isinstance(parameter.about, Argument):
        return [[value]]
    if not value:
        return [[name] for name in parameter.names]
    return [[f"{parameter.names[0]}={value}"], *([name, value] for name in parameter.names)]


@pytest.mark.parametrize("name", COMMANDS)
def test_pairs_of_parameters_mean_the_same_to_both_readers(name: str) -> None:
    parameters = load_command(name).parameters
    needed = [word for each in parameters if each.default is ... for word in typed(each)[0]]
    ways = [typed(each) for each in parameters if each.default is not ...]
    of_one = [pair for each in ways for pair in product(each, each)]
    of_two = [(first[0], second[-1]) for first, second in product(ways, ways) if first is not second]
    read = [assert_equal(name, [*needed, *first, *second]) for first, second in (*of_one, *of_two)]
    assert any(read) or not ways


@given(st.data())
def test_lines_mean_the_same_to_both_readers(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*COMMANDS]))
    words = [word for each in load_command(name).parameters for way in typed(each) for word in way]
    assert_equal(name, data.draw(st.lists(st.sampled_from([*words, *TEXTS]), max_size=5)))
