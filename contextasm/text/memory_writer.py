"""Memories written: a bullet for the end of a list, and other fields for a memory that is there.

`text.memories` reads back exactly what was given. What stands in a file already is never put in another form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from contextasm.text.front_matter import PAIR, attributes, front_matter
from contextasm.text.markdown import fence_opening, heading, list_mark
from contextasm.text.memory_parser import TASK_MARKS, TYPE, bullet_end

_FENCE_END = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*$")
_UNQUOTED = re.compile(r"[^\s\"{}]+")
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\"{}]")


def clean_lines(text: str) -> str:
    """A text in the form in which a bullet gives it back: LF line ends, no blanks at the end of a line or around it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def is_type(word: str) -> bool:
    """Whether a word can stand in the brackets before a memory."""
    found = TYPE.fullmatch(f"[{word}]")
    return bool(found and word == word.strip() and word not in TASK_MARKS and is_value(word))


def is_value(word: str) -> bool:
    """Whether a word can be the value of an attribute."""
    return bool(word.strip()) and not _FORBIDDEN.search(word)


def format_bullet(text: str, kind: str, fields: Mapping[str, str]) -> str:
    """A memory as a list item, without a line end. The text is one that `clean_lines` gives."""
    stated = dict(fields)
    head = f"[{kind}] "
    if text.startswith("("):
        # `[type] (text` would be taken for a link.
        head, stated = "", {"type": kind, **stated}
    if not stated and attributes(text.rpartition("\n")[2])[1]:
        stated = {"status": "active"}  # else braces that end the text would be taken for the memory's own
    first, *rest = f"- {head}{text}".split("\n")
    lines = [first, *(f"  {line}" if line else "" for line in rest)]
    return "\n".join(_with_braces(lines, stated) if stated else lines)


def append_bullets(text: str, bullets: Sequence[str]) -> str:
    """What to write behind a file's text so that it ends in these list items, line ends LF."""
    lead = "" if not text or text.endswith("\n") else "\n"
    lines = text.split("\n")
    last = lines[-1] or (lines[-2] if len(lines) > 1 else "")
    if last.strip() and not list_mark(last) and last[:1] not in {" ", "\t"}:
        lead += "\n"
    return lead + "".join(f"{each}\n" for each in bullets)


def ends_under(text: str, day: str) -> bool:
    """Whether the last heading of a file's text names this day."""
    titles = (heading(line) for line in reversed(text.split("\n")))
    return next((title[1].startswith(day) for title in titles if title), False)


def with_fields(text: str, line: int, fields: Mapping[str, str]) -> str:
    """A file's whole text with other fields of the memory at a line, counted from 1; not a byte else is changed."""
    lines = text.split("\n")
    front = front_matter([each.rstrip() for each in lines])
    if front.values.get("type"):
        lines[: front.lines] = _with_front(lines[: front.lines], fields)
    else:
        stop = bullet_end(lines, line - 1)
        lines[line - 1 : stop] = _stated(lines[line - 1 : stop], fields)
    return "\n".join(lines)


def _stated(lines: Sequence[str], fields: Mapping[str, str]) -> list[str]:
    """A list item whose attributes say this as well."""
    *above, last = lines
    bare = last.rstrip()
    if not attributes(bare)[1]:
        return _with_braces(lines, fields)
    at = bare.rfind("{")
    return [*above, bare[:at] + _updated(bare[at:], fields) + last[len(bare) :]]


def _with_braces(lines: Sequence[str], fields: Mapping[str, str]) -> list[str]:
    """A list item without attributes of its own, with these."""
    *above, last = lines
    bare = last.rstrip()
    if fence_opening(last) or _FENCE_END.match(last):
        # Behind the ticks they would keep the fence from closing.
        return [*above, last, "  " + _updated("{}", fields) + ("\r" if last.endswith("\r") else "")]
    return [*above, f"{bare} {_updated('{}', fields)}{last[len(bare) :]}"]


def _updated(braces: str, fields: Mapping[str, str]) -> str:
    """Attributes in braces with these values, those that are new behind the others."""
    left = dict(fields)

    def pair(found: re.Match[str]) -> str:
        name = found[1]
        if name not in fields:
            return found[0]
        left.pop(name, None)
        return f"{name}={_quoted(fields[name])}"

    inner = PAIR.sub(pair, braces[1:-1])
    return "{" + " ".join([*filter(None, [inner.rstrip()]), *(f"{name}={_quoted(left[name])}" for name in left)]) + "}"


def _quoted(value: str) -> str:
    return value if _UNQUOTED.fullmatch(value) else f'"{value}"'


def _with_front(lines: Sequence[str], fields: Mapping[str, str]) -> list[str]:
    """Front matter, both rules included, with these values, those that are new before the closing rule."""
    written = list(lines)
    end = "\r" if lines[0].endswith("\r") else ""
    for name, value in fields.items():
        form = re.compile(rf"({name}[ \t]*:)[ \t]*(?:\"[^\"]*\"|'[^']*'|.*?)(\s+#.*|\s*)$", re.DOTALL)
        # Of a key that stands there twice the last one counts.
        at = next((n for n in reversed(range(1, len(written) - 1)) if form.match(written[n])), None)
        if at is None:
            written.insert(len(written) - 1, f"{name}: {value}{end}")
        else:
            written[at] = form.sub(lambda found, value=value: f"{found[1]} {value}{found[2]}", written[at])  # type: ignore[misc]
    return written
