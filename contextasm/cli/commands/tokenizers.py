"""`ctxasm tokenizers`: the ways of counting tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from contextasm.cli.output import format_json, format_table, write_stdout


def run(json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> int:
    """List the ways of counting tokens. All work without a network."""
    from contextasm.selection.tokens import TOKENIZERS

    if json:
        write_stdout(format_json([{"name": name, "about": about} for name, about in TOKENIZERS.items()]))
    else:
        write_stdout(format_table(("tokenizer", "what it counts"), [*TOKENIZERS.items()]))
    return 0
