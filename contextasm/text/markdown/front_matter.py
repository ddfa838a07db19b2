"""Front matter and attributes: the small key/value forms at the edges of a Markdown text.

Not YAML: people write `key: value` and lists of words between two `---` lines in notes, and error messages need the
line of each value. Other lines are reported, and left out.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile

from contextasm.model import NamedTuple

Value = str | tuple[str, ...]

_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$")
_NESTED_TYPE = re.compile(r"[ \t]+type:[ \t]+(.*)$")
"""Claude Code writes the type of a memory below `metadata:`."""
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)$")
_SINGLE_QUOTED = re.compile("'((?:[^']|'')*+)'")
_ATTRIBUTES = re.compile(r"\{[ \t]*(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|[^\s\"{}]+)(?:[ \t]+|(?=\})))+\}$")
PAIR = re.compile(r"([A-Za-z_]\w*)=(?:\"([^\"]*)\"|([^\s\"{}]+))")


_FIRST_NAME = r"\{[ \t]*([A-Za-z_]\w*)[ \t]*="


class FrontMatter(NamedTuple):
    """Values between the first two `---` lines of a text."""

    values: Mapping[str, Value]
    lines: int
    """Number of lines, both rules included; 0 for a text without front matter."""
    unread: Mapping[int, str]
    """Lines, counted from 1, that can't be read, each with the key whose value it is a part of; empty for none."""


NONE = FrontMatter({}, 0, {})


def front_matter(lines: Sequence[str]) -> FrontMatter:
    """The front matter of a text given as lines.

    A first `---` that is never closed, or that encloses no `key: value` at all, is a rule of the text and stays.
    """
    if not lines or lines[0].rstrip() != "---":
        return NONE
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() in {"---", "..."}), 0)
    values: dict[str, Value] = {}
    items: dict[str, list[str]] = {}
    unread: dict[int, str] = {}
    key = nested_type = ""
    for number, line in _with_lists_joined(lines[1:end]):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if pair := _KEY.match(line):
            key = pair[1]
            values[key] = _scalar_or_list(pair[2] or "")
            items.pop(key, None)
        elif key == "metadata" and (nested := _NESTED_TYPE.match(line)):
            nested_type = _scalar(nested[1])
        elif (item := _ITEM.match(line)) and key and (values[key] == "" or isinstance(values[key], tuple)):
            items.setdefault(key, [*values[key]]).append(_scalar(item[1]))
        else:
            unread[number] = key if line[0].isspace() else ""
    values |= {key: tuple(texts) for key, texts in items.items()}
    if nested_type:
        values.setdefault("type", nested_type)
    return FrontMatter(values, end + 1, unread) if values else NONE


def _with_lists_joined(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines with their numbers in the text; a list in brackets over several lines is one, with its first number."""
    at = 0
    while at < len(lines):
        line, first = lines[at], at
        pair = _KEY.match(line)
        if pair and (pair[2] or "").startswith("[") and "]" not in line:
            end = next((n for n in range(at + 1, len(lines)) if "]" in lines[n] or _KEY.match(lines[n])), len(lines))
            if end < len(lines) and "]" in lines[end]:
                line, at = " ".join(part.strip() for part in lines[at : end + 1]), end
        yield first + 2, line
        at += 1


def _scalar_or_list(written: str) -> Value:
    written = written.strip()
    if written.startswith("[") and written.endswith("]"):
        return tuple(_scalar(part) for part in written[1:-1].split(",") if part.strip())
    return _scalar(written)


def _scalar(written: str) -> str:
    # Without its quotes; a value without quotes loses the comment after it.
    written = written.strip()
    if match := _SINGLE_QUOTED.match(written):
        return match[1].replace("''", "'")
    if written[:1] == '"' and (end := written.find('"', 1)) > 0:
        return written[1:end]
    return written.split(" #", 1)[0].rstrip()


def attributes(line: str) -> tuple[str, dict[str, str]]:
    """A line and the attributes in braces that end it: `text {importance=0.9 tags=a,b}`.

    Braces that hold anything but `name=value` pairs belong to the text.
    """
    bare = line.rstrip()
    if not bare.endswith("}"):
        return line, {}
    start = bare.rfind("{")
    if not _ATTRIBUTES.match(bare, start):
        return line, {}
    pairs = {name: quoted or plain for name, quoted, plain in PAIR.findall(bare, start)}
    return bare[:start].rstrip(), pairs


def broken_attributes(line: str, names: Collection[str]) -> str:
    """Braces that end a line and set one of these names, but are not attributes: `{id=two words}`; empty for none."""
    bare = line.rstrip()
    start = bare.rfind("{")
    if not bare.endswith("}") or start < 0 or _ATTRIBUTES.match(bare, start):
        return ""
    first = re.compile(_FIRST_NAME).match(bare, start)
    return bare[start:] if first and first[1] in names else ""


def front_matter_fault(lines: Sequence[str]) -> tuple[int, str] | None:
    """The first line, counted from 1, that keeps the head of a text from being front matter, and the reason.

    None for a text without a head. Lines that go on with the value of the line above are indented, as in YAML.
    """
    if not lines or lines[0].rstrip() != "---":
        return None
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() in {"---", "..."}), 0)
    if not end:
        return 1, "front matter that is never closed by `---`"
    head = front_matter(lines)
    for number in head.unread or ((2,) if not head.lines else ()):
        if not lines[number - 1].startswith((" ", "]", "}")) or number == 2:
            return number, "a line of front matter that is not `key: value`"
    for number, line in enumerate(lines[1:end], 2):
        if (pair := _KEY.match(line)) and _is_open(pair[2] or "", lines[number:end]):
            return number, "a value of front matter that is never closed"
    return None


def _is_open(value: str, later: Sequence[str]) -> bool:
    """Whether a list, a table or a quotation begins in a value, and ends neither there nor in the lines below."""
    closing = {"[": "]", "{": "}", '"': '"', "'": "'"}.get(value[:1])
    if not closing:
        return False
    rest = takewhile(lambda line: not _KEY.match(line), later)
    return not any(closing in line for line in (value[1:], *rest))
