"""Memories as written: a bullet for the end of a list, and changed fields of a memory in a file.

`text.memory_parser` reads back exactly the text and the fields that were given. No other text of a file changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from contextasm.model import Memory
from contextasm.text.comments import without_block_comments
from contextasm.text.front_matter import PAIR, attributes, broken_attributes, front_matter
from contextasm.text.literals import fence_opening
from contextasm.text.markdown import heading, list_mark
from contextasm.text.memory_fields import FIELDS
from contextasm.text.memory_parser import TASK_MARKS, TYPE, bullet_end, states_one_memory

_FENCE_END = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*$")
_UNQUOTED = re.compile(r"[^\s\"{}]+")
_PLAIN = re.compile(r"[\w./:+-][\w./:+, -]*")
_DEFAULTS: Mapping[str, object] = {"importance": 0.5, "confidence": 0.5, "status": "active"}
"""What a missing field means, where that is not empty or false."""

_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\"{}\ud800-\udfff]")


def clean_lines(text: str) -> str:
    """A text as a bullet gives it back: LF line ends, no blanks at the end of a line or around the text."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def is_type(word: str) -> bool:
    """Whether a word can stand in the brackets before a memory."""
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
    return format_bullet(memory.text, memory.type, dict(_stated_fields(memory)))


def _stated_fields(memory: Memory) -> Iterator[tuple[str, str]]:
    for name in FIELDS:
        value = getattr(memory, name)
        if name != "type" and value is not False and value not in ("", ()) and _DEFAULTS.get(name) != value:
            yield name, field_text(value)


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
    titles = (heading(line) for line in reversed(without_block_comments(text).split("\n")))
    return next((title[1].startswith(day) for title in titles if title), False)


def with_fields(text: str, line: int, fields: Mapping[str, str]) -> str:
    """A file's whole text with fields set in the memory at a line, counted from 1; no other byte changes."""
    lines = text.split("\n")
    front = front_matter([line_text.rstrip() for line_text in lines])
    if states_one_memory(front.values, [line_text.rstrip("\r") for line_text in lines[front.lines :]]):
        lines[: front.lines] = front_matter_with_fields(lines[: front.lines], fields)
    else:
        stop = bullet_end(without_block_comments(text).split("\n"), line - 1)
        lines[line - 1 : stop] = bullet_with_fields(lines[line - 1 : stop], fields)
    return "\n".join(lines)


def with_bullets(text: str, bullets: Mapping[int, str]) -> str:
    """A file's whole text, LF, with the list item at each line, counted from 1, replaced by another one."""
    lines = text.split("\n")
    bare = without_block_comments(text).split("\n")
    at, written = 0, list[str]()
    for line, bullet in sorted(bullets.items()):
        written += [*lines[at : line - 1], bullet]
        at = bullet_end(bare, line - 1)
    return "\n".join([*written, *lines[at:]])


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
    """The lines of a list item, with or without carriage returns, with fields set; behind a fence they get one more."""
    remaining = dict(fields)
    if "type" in remaining and (typed := _with_type(lines[0], remaining["type"])):
        lines = [typed, *lines[1:]]
        del remaining["type"]
    return _set_last_braces(lines, remaining) if remaining else [*lines]


def _with_type(first: str, kind: str) -> str:
    """The first line of a list item with another type in its brackets; empty where it has no such brackets."""
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
        # Behind the ticks they would keep the fence from closing.
        return [*above, last, "  " + _set_braces("{}", fields) + ("\r" if last.endswith("\r") else "")]
    return [*above, f"{bare} {_set_braces('{}', fields)}{last[len(bare) :]}"]


def _set_braces(braces: str, fields: Mapping[str, str]) -> str:
    # New fields come behind the others.
    new_fields = dict(fields)

    def pair(match: re.Match[str]) -> str:
        name = match[1]
        if name not in fields:
            return match[0]
        new_fields.pop(name, None)
        return f"{name}={_quoted(fields[name])}"

    inner = PAIR.sub(pair, braces[1:-1])
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
        # Of a key that stands there twice the last one counts.
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
    """The lines of the list below a key; empty where a value stands behind the key."""
    if lines[at].partition("#")[0].strip()[-1:] != ":":
        return set()
    items: set[int] = set()
    for number, line in enumerate(lines[at + 1 :], at + 1):
        if line.lstrip().startswith("- "):
            items.add(number)
        elif line.strip() and not line.lstrip().startswith("#"):
            break
    return items
