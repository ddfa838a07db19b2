"""`ctxasm count`: the number of tokens of a text."""

from __future__ import annotations

from typing import Annotated

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.output import input_text, write_stdout
from contextasm.config.input.options import Options
from contextasm.config.resolve import counter_of_text, process_environment


def print_count(
    options: Options, *, file: Annotated[str, Argument("FILE", "The file to count (`-` reads standard input).")] = "-"
) -> None:
    """Print the number of tokens of a text, and nothing else. The text is counted unchanged."""
    counter = counter_of_text(options, process_environment())
    write_stdout(f"{counter.count(input_text(file))}\n")


run = Command(print_count, ("tokenizer", "workspace"))
