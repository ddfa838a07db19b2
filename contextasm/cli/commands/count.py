"""`ctxasm count`: the number of tokens of a text."""

from __future__ import annotations

from typing import Annotated

from contextasm import api
from contextasm.cli import output
from contextasm.cli.command_line import Argument, Command
from contextasm.config.input.options import Options
from contextasm.model import ContextasmError
from contextasm.workspace.reading import ReadFailure, file_bytes


def print_count(
    options: Options, file: Annotated[str, Argument("FILE", "The file to count; - is standard input.")] = "-"
) -> int:
    """Print the number of tokens of a text, and nothing else. The text is counted as it is, without a workspace."""
    text = output.read_stdin("count", "text") if file == "-" else _text(file)
    output.write_stdout(f"{api.count(text, tokenizer=options.tokenizer)}\n")
    return 0


run = Command(print_count, ("tokenizer",))


def _text(file: str) -> str:
    data = file_bytes(file)
    if isinstance(data, ReadFailure):
        raise ContextasmError(file, data.message, "name a file of text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContextasmError(file, f"byte {error.start} is not UTF-8", "name a file of UTF-8 text") from error
