"""Memories as written: a bullet for the end of a list, and changed fields of a memory in a file.

`text.memories.parser` reads back exactly the text and the fields that were given. No other text of a file changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from contextasm.model import CLEAN, Cleaning, ContextasmError, Memory, Problem, Secret
from contextasm.text.cleaning.clean import clean_text, removal_problems
from contextasm.text.cleaning.secrets.scanner import find_secrets
from contextasm.text.markdown.blocks import list_mark, parts, without_block_comments
from contextasm.text.markdown.front_matter import PAIR, attributes, broken_attributes
from contextasm.text.markdown.literals import fence_opening
from contextasm.text.memories.parser import CONFIDENCE, DEFAULTS, FIELDS, IMPORTANCE, TASK_MARKS, TYPE, parse_share

_FENCE_END = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*$")
_UNQUOTED = re.compile(r"[^\s\"{}]+")
_PLAIN = re.compile(r"[\w./:+-][\w./:+, -]*")
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\"{}\ud800-\udfff]")


def clean_lines(text: str) -> str:
    """A text as a bullet gives it back: LF line ends, no blanks at the end of a line or around the text."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def is_type(word: str) -> bool:
    """Whether a word can be in the brackets before a memory."""
    brackets = TYPE.fullmatch(f"[{word}]")
    return bool(brackets and word == word.strip() and word not in TASK_MARKS and is_value(word))


def is_value(word: str) -> bool:
    """Whether a word can be the value of an attribute."""
    return bool(word.strip()) and not _FORBIDDEN.search(word)


def format_bullet(text: str, kind: str, fields: Mapping[str, str]) -> str:
    """A memory as a list item, without a line end, of a text that `clean_lines` gives."""
    attribute_values = dict(fields)
    head = f"[{kind}] "
    if text.startswith("("):
        # `[type] (text` would be taken for a link.
        head, attribute_values = "", {"type": kind, **attribute_values}
    last = text.rpartition("\n")[2]
    if not attribute_values and (attributes(last)[1] or broken_attributes(last, FIELDS)):
        attribute_values = {"status": "active"}  # else braces that end the text would be taken for the memory's own
    first, *rest = f"- {head}{text}".split("\n")
    lines = [first, *(f"  {line}" if line else "" for line in rest)]
    return "\n".join(_append_attributes(lines, attribute_values) if attribute_values else lines)


def memory_bullet(memory: Memory) -> str:
    """A memory as a list item that states each of its fields but for defaults, so that no heading above decides one."""
    values = {name: getattr(memory, name) for name in FIELDS if name != "type"}
    stated = {name: field_text(value) for name, value in values.items() if DEFAULTS.get(name) != value}
    return format_bullet(memory.text, memory.type, stated)


def append_bullets(text: str, bullets: Sequence[str]) -> str:
    """Text to append to a file's text so that it ends in these list items, line ends LF."""
    lead = "" if not text or text.endswith("\n") else "\n"
    lines = text.split("\n")
    last = lines[-1] or (lines[-2] if len(lines) > 1 else "")
    if last.strip() and not list_mark(last) and last[:1] not in {" ", "\t"}:
        lead += "\n"
    return lead + "".join(f"{bullet}\n" for bullet in bullets)


def ends_under(text: str, day: str) -> bool:
    """Whether the last heading of a file's text names this day."""
    titles = [part.title for part in parts(without_block_comments(text).split("\n")) if part.kind == "heading"]
    return bool(titles) and titles[-1].startswith(day)


def field_text(value: object) -> str:
    """The value of a field of a memory as it is written: words of a list with commas, numbers as short as they are."""
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return short if float(short := f"{value:g}") == value else repr(value)
    return str(value)


def bullet_with_fields(lines: Sequence[str], fields: Mapping[str, str]) -> list[str]:
    """The lines of a list item, with or without carriage returns, with fields set; after a fence they get one more."""
    remaining = dict(fields)
    if "type" in remaining and (typed := _with_type(lines[0], remaining["type"])):
        lines = [typed, *lines[1:]]
        del remaining["type"]
    return _set_last_braces(lines, remaining) if remaining else [*lines]


def _with_type(first: str, kind: str) -> str:
    """The first line of a list item with another type in its brackets; empty if it has no such brackets."""
    lead = len(first) - len(first[1:].lstrip())
    match = TYPE.match(first, lead)
    if not match or match[1] in TASK_MARKS:
        return ""
    return f"{first[:lead]}[{kind}]{first[match.end(1) + 1 :]}"


def _set_last_braces(lines: Sequence[str], fields: Mapping[str, str]) -> list[str]:
    *above, last = lines
    bare = last.rstrip()
    if not attributes(bare)[1]:
        return _append_attributes(lines, fields)
    at = bare.rfind("{")
    return [*above, bare[:at] + _set_braces(bare[at:], fields) + last[len(bare) :]]


def _append_attributes(lines: Sequence[str], fields: Mapping[str, str]) -> list[str]:
    *above, last = lines
    bare = last.rstrip()
    if fence_opening(last) or _FENCE_END.match(last):
        # After the ticks they would keep the fence from closing.
        return [*above, last, "  " + _set_braces("{}", fields) + ("\r" if last.endswith("\r") else "")]
    return [*above, f"{bare} {_set_braces('{}', fields)}{last[len(bare) :]}"]


def _set_braces(braces: str, fields: Mapping[str, str]) -> str:
    # New fields come after the others.
    new_fields = dict(fields)

    def pair(match: re.Match[str]) -> str:
        name = match[1]
        if name not in fields:
            return match[0]
        new_fields.pop(name, None)
        return f"{name}={_quoted(fields[name])}"

    inner = PAIR.sub(pair, braces[1:-1])
    if emptied := "|".join(name for name, value in fields.items() if not value):
        # The last pair stays with an empty value: without the braces, others at the end of the text would be read.
        inner = re.sub(rf'(?:^|[ \t]+)(?:{emptied})=""(?=[ \t]|$)', "", inner).lstrip() or inner
    new_pairs = (f"{name}={_quoted(value)}" for name, value in new_fields.items())
    return "{" + " ".join([*filter(None, [inner.rstrip()]), *new_pairs]) + "}"


def _quoted(value: str) -> str:
    return value if _UNQUOTED.fullmatch(value) else f'"{value}"'


def front_matter_with_fields(lines: Sequence[str], fields: Mapping[str, str]) -> list[str]:
    """The lines of a front matter, both rules included, with fields set; new ones come before the closing rule."""
    written = list(lines)
    end = "\r" if lines[0].endswith("\r") else ""
    for name, value in fields.items():
        form = re.compile(rf"({name}[ \t]*:)[ \t]*(?:\"[^\"]*\"|'[^']*'|.*?)(\s+#.*|\s*)$", re.DOTALL)
        # Of a key that is there twice the last one counts.
        at = next((n for n in reversed(range(1, len(written) - 1)) if form.match(written[n])), None)
        new_value = value if _PLAIN.fullmatch(value) else f'"{value}"'
        if at is None:
            written.insert(len(written) - 1, f"{name}: {new_value}{end}")
        else:
            items = _items_below(written, at)
            written[at] = form.sub(lambda match, value=new_value: f"{match[1]} {value}{match[2]}", written[at])  # type: ignore[misc]
            written = [line for number, line in enumerate(written) if number not in items]
    return written


def _items_below(lines: Sequence[str], at: int) -> set[int]:
    """The lines of the list below a key; empty if a value follows the key."""
    if lines[at].partition("#")[0].strip()[-1:] != ":":
        return set()
    items: set[int] = set()
    for number, line in enumerate(lines[at + 1 :], at + 1):
        if line.lstrip().startswith("- "):
            items.add(number)
        elif line.strip() and not line.lstrip().startswith("#"):
            break
    return items


LONGEST_VALUE = 1000
"""Characters of a value in the braces of a memory, such as a tag, a key or an id."""

MOST_ITEMS = 100
"""Tags of one memory, or ids that it supersedes."""


def _share(value: object, where: str, meaning: str, words: Mapping[str, float]) -> float:
    is_written = isinstance(value, str | int | float) and not isinstance(value, bool)
    number = parse_share(str(value), words) if is_written else None
    if number is None:
        hint = f"give a number from 0 to 1, or one of {', '.join(words)}"
        raise ContextasmError(where, f"{quoted_value(value)} is not {meaning}", hint)
    return number


parse_importance = partial(_share, meaning="an importance", words=IMPORTANCE)
"""The importance from 0 to 1 of a number or a word; it takes the value and its place for messages."""

parse_confidence = partial(_share, meaning="a confidence", words=CONFIDENCE)
"""The confidence from 0 to 1 of a number or a word, likewise."""


def parse_type(word: str, where: str) -> str:
    """The type of a memory, a word that can be written in brackets."""
    _refuse_long(word, where)
    if not is_type(word):
        hint = "give a word such as fact, without brackets"
        raise ContextasmError(where, f"{quoted_value(word)} can't be a type", hint)
    return word


def parse_value(word: str, where: str) -> str:
    """A value of a field, without blanks around it, that braces can hold."""
    _refuse_long(word, where)
    if not is_value(word):
        hint = "remove quotes, braces and line ends from it"
        raise ContextasmError(where, f"the value {quoted_value(word)} can't be written in braces", hint)
    return word.strip()


def parse_items(words: Iterable[str], where: str) -> tuple[str, ...]:
    """The values of a field that takes several: no more than `MOST_ITEMS`, and none with a comma."""
    items = tuple(words)
    if len(items) > MOST_ITEMS:
        raise ContextasmError(where, f"has {len(items):,} values", f"give at most {MOST_ITEMS}")
    for word in items:
        if "," in word:
            raise ContextasmError(where, f"{quoted_value(word)} contains a comma", "give the words one by one")
    return tuple(parse_value(word, where) for word in items)


def _refuse_long(word: str, where: str) -> None:
    if len(word) > LONGEST_VALUE:
        raise ContextasmError(where, f"has {len(word):,} characters", f"use at most {LONGEST_VALUE:,}")


_LONGEST_QUOTE = 80
"""Characters."""


def quoted_value(value: object) -> str:
    """A value as a message quotes it: of a long one the beginning, secrets masked before it is cut."""
    written = clean_text(repr(value)).text
    return written if len(written) <= _LONGEST_QUOTE else f"{written[: _LONGEST_QUOTE - 3]}..."


LONGEST_TEXT = 1 << 16
"""Characters of a text that is stored: some 16,000 tokens, several contexts; no rule searches a longer one."""


def storable_text(text: str, where: str, *, masks: bool = False) -> tuple[str, tuple[Problem, ...]]:
    """The text as a file can hold it, and problems of hidden characters and secrets; `where` names it in messages.

    Hidden characters are removed, and line ends are LF; no line has blanks at its end, nor the text around it.

    Secrets stay, or with `masks` a mask replaces each. Raises `ContextasmError` for an empty text, a NUL
    character, invalid Unicode and more than `LONGEST_TEXT` characters.
    """
    if len(text) > LONGEST_TEXT:
        hint = f"store at most {LONGEST_TEXT:,}, such as its main points, or put it into its own file"
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
    hidden = removal_problems(where, clean.hidden)
    secrets = clean.secrets if masks else find_secrets(stored)
    return stored, (*hidden, *(secret_problem(where, secret, masked=masks) for secret in secrets))


def secret_problem(where: str, secret: Secret, *, masked: bool) -> Problem:
    """The problem of a secret in a text that is stored, or of one in whose place a mask is stored."""
    what = f"holds what looks like a secret ({secret.kind}: {secret.masked})"
    if masked:
        return Problem("secret", where, secret.line, f"{what}, masked here", "the source still holds the secret")
    return Problem("secret", where, secret.line, what, "builds mask it, but keep it out of the workspace")
