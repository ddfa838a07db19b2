"""Bars of `plan` for a terminal: a line for each budget, its layers in colours, and the colours with their layers."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from contextasm.model import Context

COLOURS = ("blue", "yellow", "red", "cyan", "green", "magenta", "bright_blue", "bright_yellow", "bright_red", "white")
"""Colours of the layers in their order, used again from the first on."""

_CELL = "█"


def terminal_bars(contexts: Sequence[Context]) -> str:
    """The tokens of each document as a bar, all in one scale: the longest document has the width of the terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    out = Console(file=(written := StringIO()), width=console.width, force_terminal=True, highlight=False)
    labels = [f"{context.request.budget:,}" for context in contexts]
    width = max(map(len, labels))
    longest = max(context.tokens for context in contexts) or 1
    room = max(console.width - width - 2 - len(f"  {longest:,}"), 10)
    for label, context in zip(labels, contexts, strict=True):
        line = Text(f"{label.rjust(width)}  ")
        at = tokens = 0
        for number, usage in enumerate(context.allowances):
            tokens += usage.used
            stop = round(tokens * room / longest)
            line.append(_CELL * (stop - at), COLOURS[number % len(COLOURS)])
            at = stop
        line.append(f"  {context.tokens:,}")
        out.print(line, no_wrap=True, overflow="crop")
    legend = Text(" " * (width + 2))
    for number, usage in enumerate(contexts[-1].allowances):
        legend.append(_CELL, COLOURS[number % len(COLOURS)])
        legend.append(f" {usage.layer}   ")
    out.print(legend)
    return written.getvalue()
