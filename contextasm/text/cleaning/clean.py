"""Cleaning: the text that may be shown and searched, made of a text as it was written.

Of files, of values that their escapes spell, of arguments and of names alike. Nothing is decoded here.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from contextasm.model import CLEAN, Cleaning, Document, Hidden, Problem, Secret, Span
from contextasm.text.cleaning.hidden_characters import strip_hidden
from contextasm.text.cleaning.secrets.scanner import mask_secrets

MAX_QUOTED_LENGTH = 200
"""Number of characters of a hidden text that a message quotes."""

MAX_REPORTED = 20
"""Number of hidden runs of one file that are problems of their own."""

HIDDEN_TEXT = "hidden-text"
"""Code of the problem of hidden characters."""

LONGEST_WORD = 100
"""Number of characters of a word that a message shows in full; the middle of a longer one is left out."""

LONGEST_MESSAGE = 2000
"""Number of characters of a message; one that quotes more than that says nothing more."""

_SHORT = 40
"""Number of characters up to which the clean form of a value is remembered."""

_MASK_ONLY = Cleaning("raw")

_REMOVED = "removed from the text; find out who wrote this"


class CleanText(NamedTuple):
    """A text after cleaning, with what was taken out."""

    text: str
    """With LF line ends; lines keep their numbers."""
    hidden: tuple[Hidden, ...]
    secrets: tuple[Secret, ...] = ()
    gaps: tuple[Span, ...] = ()
    """First and last line of lines that are blank since a secret of several lines was there."""


def clean_text(text: str, cleaning: Cleaning = CLEAN) -> CleanText:
    """The text without its hidden and control characters, then with its secrets masked.

    Cleaning it again changes nothing.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    hidden: tuple[Hidden, ...] = ()
    if cleaning.hidden != "raw":
        text, hidden = strip_hidden(text, only_controls=cleaning.hidden == "keep")
    if cleaning.secrets == "keep":
        return CleanText(text, hidden)
    masked = mask_secrets(text)
    return CleanText(masked.text, hidden, masked.secrets, masked.gaps)


def shown_name(path: str) -> str:
    """A path as it may be shown: escapes for line ends, hidden and control characters, masks for secrets.

    The path itself where there is nothing of that; bytes that are no UTF-8 stay.
    """
    readable = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if clean_text(readable).text == readable and not {"\n", "\t"} & {*path}:
        return path
    escaped = (
        character.encode("unicode_escape").decode()
        if character in "\n\t" or clean_text(character).text != character
        else character
        for character in readable
    )
    return mask_secrets("".join(escaped)).text


_LONG_WORD = re.compile(rf"[^\s/]{{{LONGEST_WORD + 1},}}")


def message_line(text: str) -> str:
    """A message as people may see it, in one line: clean, and without the middle of very long words and messages.

    A word ends at a blank and at `/`, so a path keeps each of its names up to that length.
    """
    line = " ".join(clean_text(text).text.split())
    if len(line) <= LONGEST_WORD:
        return line
    return _without_middle(_LONG_WORD.sub(lambda word: _without_middle(word[0], LONGEST_WORD), line), LONGEST_MESSAGE)


def _without_middle(text: str, most: int) -> str:
    # The beginning says what it is about, and the end what to do.
    end = most // 3
    return text if len(text) <= most else f"{text[: most - end - 3]}...{text[-end:]}"


_CI_COMMAND = re.compile(r"^(?=[^\S\n]*::)", re.MULTILINE)


def without_ci_commands(text: str) -> str:
    """The text with a backslash before each line that begins with `::`, which a CI system would obey."""
    return _CI_COMMAND.sub(r"\\", text) if "::" in text else text


def clean_value(value: object, cleaning: Cleaning, line: int, hidden: list[Hidden]) -> object:
    """The value with all texts in it cleaned, mappings and lists in place; what was removed is added to `hidden`.

    `line` is that of the value's file, for values that know none of their own.
    """
    if isinstance(value, str):
        clean = _clean_short_text(value, cleaning) if len(value) <= _SHORT else clean_text(value, cleaning)
        hidden += (run._replace(line=line) for run in clean.hidden)
        return clean.text
    if isinstance(value, tuple):
        return tuple(clean_value(item, cleaning, line, hidden) for item in value)
    if isinstance(value, list):
        value[:] = [clean_value(item, cleaning, line, hidden) for item in value]
    elif isinstance(value, dict):
        line, lines = getattr(value, "line", line), getattr(value, "lines", {})
        items = [
            (clean_value(key, cleaning, line, hidden), _clean_item(key, item, cleaning, lines.get(key, line), hidden))
            for key, item in value.items()
        ]
        value.clear()
        value.update(items)
    return value


@lru_cache(maxsize=1024)
def _clean_short_text(text: str, cleaning: Cleaning) -> CleanText:
    # Keys, types and days come again in each row of a file.
    return clean_text(text, cleaning)


def _clean_item(key: object, item: object, cleaning: Cleaning, line: int, hidden: list[Hidden]) -> object:
    # A value may be a secret by its key alone, such as `password`.
    cleaned = clean_value(item, cleaning, line, hidden)
    if not isinstance(key, str) or not isinstance(cleaned, str) or cleaning.secrets == "keep":
        return cleaned
    before = f"{key}: "
    masked = clean_value(before + cleaned, _MASK_ONLY, 0, [])
    assert isinstance(masked, str)
    return masked[len(before) :] if masked.startswith(before) else cleaned


def hidden_problems(document: Document) -> Iterator[Problem]:
    """A problem for each run of characters that reading removed; of a file with many, the last one counts the rest.

    Runs inside the managed block are left out: they were reported where they come from.
    """
    removed = [run for run in document.hidden if run.kind != "blank" and not _is_in_gap(document, run.line)]
    for run in removed[:MAX_REPORTED]:
        yield hidden_problem(document.path, run)
    if len(removed) > MAX_REPORTED:
        message = f"{len(removed) - MAX_REPORTED} further runs of hidden characters from here on"
        yield Problem(HIDDEN_TEXT, document.path, removed[MAX_REPORTED].line, message, _REMOVED)


def hidden_problem(path: str, run: Hidden) -> Problem:
    """The problem of a run of characters that reading removed."""
    return Problem(HIDDEN_TEXT, path, run.line, hidden_words(run), _REMOVED)


def hidden_words(run: Hidden) -> str:
    """The run in words, with the beginning of the message that it spells."""
    count = f"{run.length} hidden characters" if run.length > 1 else "a hidden character"
    payload = run.payload if len(run.payload) <= MAX_QUOTED_LENGTH else run.payload[:MAX_QUOTED_LENGTH] + "..."
    says = f' that say "{payload}"' if payload else ""
    return f"{count} at column {run.column} ({run.kind}: {run.codes}){says}"


def _is_in_gap(document: Document, line: int) -> bool:
    return any(gap.first <= line <= gap.last for gap in document.gaps)
