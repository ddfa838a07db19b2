"""`ctxasm tokenizers`: list the tokenizers."""

from __future__ import annotations

from typing import Literal, TypedDict

from contextasm.cli.command_line import Command
from contextasm.cli.options import JsonOption
from contextasm.cli.output import write_json, write_table
from contextasm.selection.tokens import TOKENIZERS


class TokenizerData(TypedDict):
    """One tokenizer."""

    name: str
    """Its name."""
    about: str
    """What it counts."""


class TokenizersDocument(TypedDict):
    """The tokenizers, as `ctxasm tokenizers --json` lists them."""

    schema: Literal["ctxasm.tokenizers/1"]
    tokenizers: list[TokenizerData]
    """Every tokenizer."""


def list_tokenizers(*, json: JsonOption = False) -> None:
    """List the tokenizers. All of them work without a network."""
    if json:
        data = [{"name": name, "about": about} for name, about in TOKENIZERS.items()]
        write_json(TokenizersDocument, {"tokenizers": data})
    else:
        write_table(("tokenizer", "what it counts"), [*TOKENIZERS.items()])


run = Command(list_tokenizers)
