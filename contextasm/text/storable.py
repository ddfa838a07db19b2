"""Text that a person or a program gives, as a file can hold it."""

from __future__ import annotations

from typing import NamedTuple

from contextasm.model import Cleaning, ContextasmError, Problem, Secret
from contextasm.text.cleaning import clean_text, hidden_problem
from contextasm.text.memory_writer import clean_lines
from contextasm.text.secret_scanner import find_secrets


class StorableText(NamedTuple):
    """A text that can be stored."""

    text: str
    """LF line ends, no blanks around it or at the end of a line, nothing hidden."""
    problems: tuple[Problem, ...]
    """Of hidden characters that were removed, and of secrets, which stay, or are masked."""


def storable_text(text: str, where: str, *, masked: bool = False) -> StorableText:
    """The text as a file can hold it; `where` names it in messages.

    Secrets stay, or are `masked`. Raises `ContextasmError` for an empty text, a NUL character and invalid Unicode.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ContextasmError(where, f"character {error.start + 1} is not valid Unicode", "give UTF-8 text") from error
    if "\0" in text:
        raise ContextasmError(where, "contains a NUL character", "remove it")
    clean = clean_text(clean_lines(text), Cleaning(secrets="mask" if masked else "keep"))
    if not (stored := clean_lines(clean.text)):
        raise ContextasmError(where, "is empty", "give the text to store")
    hidden = [hidden_problem(where, run) for run in clean.hidden if run.kind != "blank"]
    secrets = clean.secrets if masked else find_secrets(stored)
    advice = "it is stored masked" if masked else "builds mask it; keep it out of the workspace"
    return StorableText(stored, (*hidden, *(_secret_problem(where, secret, advice) for secret in secrets)))


def _secret_problem(where: str, secret: Secret, advice: str) -> Problem:
    what = f"holds what looks like a secret ({secret.kind}: {secret.masked})"
    return Problem("secret", where, secret.line, what, advice)
