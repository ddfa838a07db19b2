"""Text that a person or a program gives, as a file can hold it."""

from __future__ import annotations

from typing import NamedTuple

from contextasm.model import CLEAN, Cleaning, ContextasmError, Problem, Secret
from contextasm.text.cleaning import clean_text, hidden_problem
from contextasm.text.memory_writer import clean_lines
from contextasm.text.secret_scanner import find_secrets

LONGEST_TEXT = 1 << 16
"""Characters of a text that is stored: some 16,000 tokens, several contexts; no rule searches a longer one."""


class StorableText(NamedTuple):
    """A text that can be stored."""

    text: str
    """LF line ends, no blanks around it or at the end of a line, nothing hidden."""
    problems: tuple[Problem, ...]
    """Of hidden characters that were removed, and of secrets."""


def storable_text(text: str, where: str, *, masks: bool = False) -> StorableText:
    """The text as a file can hold it; `where` names it in messages.

    Secrets stay, or with `masks` a mask stands in place of each. Raises `ContextasmError` for an empty text, a NUL
    character, invalid Unicode and more than `LONGEST_TEXT` characters.
    """
    if len(text) > LONGEST_TEXT:
        hint = f"{LONGEST_TEXT:,} are the most of one text: store what matters of it, or put it into a file of its own"
        raise ContextasmError(where, f"has {len(text):,} characters", hint)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ContextasmError(where, f"character {error.start + 1} is not valid Unicode", "give UTF-8 text") from error
    if "\0" in text:
        raise ContextasmError(where, "contains a NUL character", "remove it")
    clean = clean_text(clean_lines(text), CLEAN if masks else Cleaning(secrets="keep"))
    if not (stored := clean_lines(clean.text)):
        raise ContextasmError(where, "is empty", "give the text to store")
    hidden = [hidden_problem(where, run) for run in clean.hidden if run.kind != "blank"]
    secrets = clean.secrets if masks else find_secrets(stored)
    return StorableText(stored, (*hidden, *(secret_problem(where, secret, masked=masks) for secret in secrets)))


def secret_problem(where: str, secret: Secret, *, masked: bool) -> Problem:
    """The problem of a secret in a text that is stored, or of one in whose place a mask is stored."""
    what = f"holds what looks like a secret ({secret.kind}: {secret.masked})"
    if masked:
        return Problem("secret", where, secret.line, f"{what}, masked here", "the secret is still where it comes from")
    return Problem("secret", where, secret.line, what, "builds mask it; keep it out of the workspace")
