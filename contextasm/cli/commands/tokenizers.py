"""`ctxasm tokenizers`: the ways of counting tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from contextasm.cli.options import json_text, say, table


def run(json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> int:
    """List the ways of counting tokens. All work without a network."""
    from contextasm.selection.tokens import TOKENIZERS

    if json:
        say(json_text([{"name": name, "about": about} for name, about in TOKENIZERS.items()]))
    else:
        say(table(("tokenizer", "what it counts"), [*TOKENIZERS.items()]))
    return 0
