"""`ctxasm fit`: the most of a text that a number of tokens holds."""

from __future__ import annotations

from typing import Annotated, Literal

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.options import QuietOption
from contextasm.cli.output import input_text, show_problems, write_stderr, write_stdout
from contextasm.config.input.options import Flag, Options
from contextasm.config.input.values import parse_tokens
from contextasm.config.resolve import counter_of_text, process_environment
from contextasm.model import ContextasmError
from contextasm.rendering.formats import MARKERS
from contextasm.selection.truncate import fit_text
from contextasm.text.cleaning.clean import clean_text, removal_problems


def print_fit(
    options: Options,
    *,
    file: Annotated[str, Argument("FILE", "The file to cut (`-` reads standard input).")] = "-",
    keep: Annotated[Literal["start", "end", "both"], Flag("The part of the text to keep.")] = "start",
    quiet: QuietOption = False,
) -> None:
    """Cut a text to the budget, with a marker for each part that is left out."""
    if options.budget is None:
        raise ContextasmError("budget", "no budget is given", "give one with -b N, such as -b 2k")
    budget = parse_tokens(options.budget, "--budget")
    counter = counter_of_text(options, process_environment())
    text = input_text(file)
    clean = clean_text(text)
    fitted = fit_text(clean.text, budget, counter, MARKERS["plain"](counter.count), keep)
    write_stdout(fitted)
    if not quiet:
        name = "standard input" if file == "-" else file
        show_problems([*removal_problems(name, clean.hidden)])
        if clean.secrets:
            count = len(clean.secrets)
            write_stderr(f"ctxasm: {name}: {count:,} secret{'s' * (count != 1)} masked")


run = Command(print_fit, ("budget", "tokenizer", "workspace"))
