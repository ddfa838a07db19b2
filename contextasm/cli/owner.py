"""Options and typed text of the commands that change files of an agent or a team."""

from __future__ import annotations

from contextasm.cli.output import show_problems

OWNER = ("agent", "team", "workspace")
"""Fields of `Options` that name an owner."""

READ_OWNER = (*OWNER, "offline")
"""Fields of `Options` of commands that read an owner's memories."""

OWNER_AND_DAY = (*OWNER, "date", "tz")


def typed_text(text: str, where: str, *, masked: bool = False) -> str:
    """The text as a file can hold it; what was removed, and secrets, are warned of. Raises `ContextasmError`.

    With `masked`, secrets are masked in the text.
    """
    from contextasm.text.storable import storable_text

    stored = storable_text(text, where, masks=masked)
    show_problems(stored.problems)
    return stored.text
