"""Private parts of a document: found in its text, and left out of it for a shared context.

A flag that can't be understood counts as set: what is marked at all is not shown to others by a slip.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import groupby
from typing import Any

from contextasm.model import ContextasmError, Document, Gap, Parse
from contextasm.text.caching import MOST_CACHED
from contextasm.text.json_reader import all_values, load_json
from contextasm.text.markdown.blocks import begins_bullet, bullet_end, heading, is_underline, parts
from contextasm.text.markdown.literals import fence_opening
from contextasm.text.memories.parser import YES, id_root

KEY = "private"
"""Name of the flag in front matter, attributes and rows."""

_ROW_FLAG = re.compile(r"[\"']?private[\"']?[ \t]*:", re.IGNORECASE)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_FRONT_FLAG = re.compile(r"[ \t]*[\"']?private[\"']?[ \t]*:[ \t]*[\"']?([^\s\"'#]*)", re.IGNORECASE)
_FLAG = re.compile(r"(?:^|\s)private(?:[ \t]*[=:][ \t]*[\"']?([^\s\"',]*)|(?=\s*$)|(?=[\s,]+\w+=))", re.IGNORECASE)
_TAIL = re.compile(r"(?:</?\w[^<>]*>|\[\^[^\[\]\s]+\])\Z")
"""An element of HTML or a footnote, which may be after a mark."""

_LONGEST_TAIL = 200
"""Characters in which one of these is looked for."""

_DATA_NAMES = (".yaml", ".yml", ".json")
_NPM_FILE = "package.json"
"""Name of a file in which the key `private` of the whole says that the package is not published (npm)."""

_PACKAGES = "dependencies"
"""End of the names of tables whose keys are packages, such as `dev-dependencies`."""

_NPM_FLAG = re.compile(r'(?<!\\)"private"(?=[ \t]*:)')


def withhold(document: Document, parse: Parse | None) -> Document:
    """The document without its private parts: they are gaps of its text.

    Private are a file whose front matter says so, memories and other blocks that end in `{private=true}`, lines of JSON
    that hold `"private": true`, and a file of values in which any mapping does. `parse` reads YAML.
    """
    lines = (document.head or document.text).split("\n")
    if says_private_in_front(lines, len(lines) if document.head else 0) or _is_private_data(document, parse):
        return withhold_file(document)
    text = _NPM_FLAG.sub('"npm"', document.text) if _is_of_npm(document.path) else document.text
    numbers = _cached_private_lines(text) if len(text) <= MOST_CACHED else _private_lines(text.split("\n"))
    return blank_lines(document, frozenset(document.line + number for number in numbers))


def withhold_as(document: Document, visible: Document) -> Document:
    """The document, decoded in another way, without the private lines that `visible`, the same file, lacks."""
    if visible.withheld == "file":
        return visible
    return without_ids(blank_lines(document, withheld_lines(visible)), visible.hidden_ids)


def private_lines(document: Document, parse: Parse | None) -> frozenset[int]:
    """The lines of the file, counted from 1, that a shared context lacks as private. `parse` reads YAML."""
    return withheld_lines(withhold(document, parse))


_NAMING = re.compile(
    r"""[ \t]*\b(?:supersedes|superseded_by)[\"']?[ \t]*[=:][ \t]*("[^"\n]*"|'[^'\n]*'|\[[^\]\n]*\]|[^\s{}]*)"""
)
_ID = re.compile(r"[^\s,\[\]{}\"']+")
_NAMING_FIELDS = ("supersedes", "superseded_by")
_NAMED = re.compile(r"\b(?:supersedes|superseded_by)[\"']?[ \t]*[=:][^}\n]*")
_NAMED_IN_HEAD = re.compile(r"^(?:supersedes|superseded_by)[ \t]*:.*(?:\n(?![A-Za-z_][\w-]*[ \t]*:).*)*", re.MULTILINE)
_ITEM_OR_ID = re.compile(rf"^[ \t]*-[ \t]+[\"']?({_ID.pattern})[\"']?[ \t]*$|{_ID.pattern}", re.MULTILINE)


def without_ids(document: Document, ids: Collection[str]) -> Document:
    """The document without these ids in what its memories replace or are replaced by, however that is written."""

    def is_hidden(name: str) -> bool:
        return name in ids or id_root(name) in ids

    def rest(match: re.Match[str]) -> str:
        names = _ID.findall(match[1])
        left = [name for name in names if not is_hidden(name)]
        if len(left) == len(names):
            return match[0]
        value = f'"{", ".join(left)}"' if match[1][:1] != "[" else f"[{', '.join(left)}]"
        return match[0].removesuffix(match[1]) + value if left else ""

    def without(naming: re.Pattern[str], text: str) -> str:
        """A text without the ids in fields of one line, then without the ones in other forms."""
        blank = partial(_ITEM_OR_ID.sub, lambda match: "" if is_hidden(match[1] or match[0]) else match[0])
        return naming.sub(lambda match: blank(match[0]), _NAMING.sub(rest, text))

    def without_front(value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        names = _ID.findall(value if isinstance(value, str) else ",".join(value))
        left = tuple(name for name in names if not is_hidden(name))
        return value if len(left) == len(names) else left

    front = {key: without_front(value) if key in _NAMING_FIELDS else value for key, value in document.front.items()}
    text, head = without(_NAMED, document.text), without(_NAMED_IN_HEAD, document.head)
    if (text, head, front) == (document.text, document.head, document.front):
        return document
    return document._replace(text=text, head=head, front=front, hidden_ids=frozenset(ids))


def withheld_lines(document: Document) -> frozenset[int]:
    """The lines of a document's file, counted from 1, that it lacks as private."""
    gaps = [gap for gap in document.gaps if gap.reason == KEY]
    return frozenset(line for gap in gaps for line in range(gap.first, gap.last + 1))


def blank_lines(document: Document, numbers: frozenset[int], reason: str = KEY) -> Document:
    """The document without these lines of its file, which are gaps for a reason."""
    if not numbers:
        return document._replace(gaps=tuple(sorted(document.gaps)), withheld="rows")
    taken = {line for gap in document.gaps for line in range(gap.first, gap.last + 1)}
    lines = document.text.split("\n")
    for number in numbers:
        if 0 <= number - document.line < len(lines):
            lines[number - document.line] = ""
    gaps = [Gap(first, last, reason) for first, last in _runs(numbers - taken)]
    return document._replace(
        text="\n".join(lines),
        gaps=tuple(sorted((*document.gaps, *gaps))),
        hidden=tuple(run for run in document.hidden if run.line not in numbers),
        secrets=tuple(secret for secret in document.secrets if secret.line not in numbers),
        withheld="rows" if reason == KEY else document.withheld,
    )


def withhold_file(document: Document) -> Document:
    """The document with nothing of its text, front matter and values left."""
    blank = "\n" * document.whole.count("\n")
    last = max([document.whole.rstrip("\n").count("\n") + 1, *(gap.last for gap in document.gaps)])
    gaps = (Gap(1, last, KEY),)
    return document._replace(text=blank, line=1, front={}, head="", gaps=gaps, hidden=(), secrets=(), withheld="file")


def is_set(value: object) -> bool:
    """Whether the value of a flag is anything but `false` or `no`; a mapping is not a value of a flag."""
    return not isinstance(value, Mapping) and YES.get(str(value).strip().casefold(), True)


def without_private(value: object, path: str, lines: list[int]) -> object:
    """The value of a file without what is private in it, in place; the line of each part is added to `lines`.

    These are private mappings, and texts that hold a private part, with the row that has such a text itself. A row is
    an item of a list, or a package of a manifest. A value that is itself private becomes an empty list.
    """
    if not _is_of_npm(path) and _is_private(value):
        lines.append(_line_of(value))
        return []
    _leave_out(value, lines)
    return value


def marks_more_than_values(text: str, value: object) -> bool:
    """Whether a line of a file's text has a mark that is not the end of a text in its value: in a comment, say."""
    texts = (part for part in all_values(value) if isinstance(part, str))
    marked = {line.strip() for part in texts for line in part.split("\n") if _says_private(line)}
    return any(marked.isdisjoint(_written_values(line)) for line in text.split("\n") if _says_private(line))


def _written_values(line: str) -> Iterator[str]:
    """The texts that a line of YAML, JSON or TOML may hold: what is in quotes, what follows its key, and all of it."""
    quoted = (part.replace('\\"', '"') for part in re.split(r'(?<!\\)"', line))
    return map(str.strip, (*quoted, *line.split("'"), re.sub(r"^\s*(?:-\s+)*(?:[^\s:=]+\s*[:=]\s+)?", "", line), line))


def _leave_out(value: object, lines: list[int], key: str = "") -> None:
    """Leave out what is private in the value of a key, which is not private itself; add the line of each part."""
    if isinstance(value, list):
        rows = [item for item in value if not _is_private_row(item)]
        kept = {*map(id, rows)}
        lines += (_line_of(item) for item in value if id(item) not in kept)
        value[:] = rows
        for item in rows:
            _leave_out(item, lines)
    elif isinstance(value, dict):
        is_left_out = _is_private_row if key.casefold().endswith(_PACKAGES) else _is_private
        for name in [name for name, item in value.items() if is_left_out(item)]:
            lines.append(_line_of(value.pop(name), getattr(value, "lines", {}).get(name, _line_of(value))))
        for name, item in value.items():
            _leave_out(item, lines, str(name))


def _is_private(value: object) -> bool:
    """Whether a mapping holds the flag, or a text a private part."""
    if isinstance(value, str):
        return "{" in value and any(True for _ in _private_lines(value.split("\n")))
    return isinstance(value, Mapping) and is_private_mapping(value)


def _is_private_row(value: object) -> bool:
    """Whether a value is private, or a mapping with such a text."""
    texts = value.values() if isinstance(value, Mapping) else ()
    return _is_private(value) or any(isinstance(item, str) and _is_private(item) for item in texts)


def _line_of(value: object, otherwise: int = 1) -> int:
    return int(getattr(value, "line", otherwise))


def is_private_mapping(value: Mapping[Any, object]) -> bool:
    """Whether a mapping holds the flag, set."""
    return any(isinstance(key, str) and key.strip().casefold() == KEY and is_set(item) for key, item in value.items())


def says_private_in_front(lines: Sequence[str], front: int) -> bool:
    """Whether the front matter of a text, its first `front` lines, holds the flag, or a line that ends in the mark.

    A mark inside of double quotes is a part of a value. For 0, front matter that never ends is read up to a blank line.
    """
    if lines[0].rstrip() != "---":
        return False
    end = front or next((n for n, line in enumerate(lines) if not line.strip()), len(lines))
    flags = (_FRONT_FLAG.match(line) for line in lines[1:end])
    unquoted = (_QUOTED.sub('""', line) for line in lines[1:end])
    return any(flag and is_set(flag[1]) for flag in flags) or any(map(_says_private, unquoted))


def _is_of_npm(path: str) -> bool:
    return path.rpartition("/")[2] == _NPM_FILE


def _is_private_data(document: Document, parse: Parse | None) -> bool:
    """Whether the text is YAML or JSON with a private mapping; also if it should be, and can't be parsed."""
    text = document.whole
    if (text.isascii() and KEY not in text.lower()) or not _ROW_FLAG.search(text):
        return False
    value: object = None
    try:
        value = load_json(text, document.path)
    except ContextasmError:
        try:
            value = parse(text, document.path) if parse else None
        except ContextasmError:
            return document.path.casefold().endswith(_DATA_NAMES)
    if _is_of_npm(document.path) and isinstance(value, dict):
        value.pop(KEY, None)
    return any(isinstance(each, dict) and is_private_mapping(each) for each in all_values(value))


@lru_cache(maxsize=256)
def _cached_private_lines(text: str) -> tuple[int, ...]:
    return tuple(_private_lines(text.split("\n")))


def _private_lines(lines: Sequence[str]) -> Iterator[int]:
    """Numbers of the private lines, counted from 0."""
    # In code that is never closed a heading may be none, so it ends no section, but each private line there counts.
    starts = _section_starts(lines)
    stop = 0
    for part in parts(lines, is_cautious=True):
        if part.stop <= stop or part.kind == "fence":
            continue
        line = lines[part.first]
        if part.kind == "bullet":
            stop_of_item = bullet_end(lines, part.first)
            if any(map(_says_private, lines[part.first : stop_of_item])):
                yield from range(part.first, stop_of_item)
            yield from (n for n in range(part.first, part.stop) if is_private_json(lines[n]))
        elif is_private_json(line):
            yield part.first
        elif part.kind == "heading" and _says_private(line):
            stop = next((at for at, level in starts if at > part.first and level <= part.level), len(lines))
            yield from range(part.first, stop)
        elif _says_private(line):
            stop = next((n for n in range(part.first, len(lines)) if _ends_paragraph(lines[n])), len(lines))
            if under := next((n for n in range(part.first + 1, stop) if is_underline(lines[n])), 0):
                own = _underline_level(lines[under])
                stop = next((at for at, level in starts if at > under and level <= own), len(lines))
            yield from range(_paragraph_start(lines, part.first), stop)


def _section_starts(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """First line and level of each heading, of an underlined one, too."""
    for part in parts(lines):
        line = lines[part.first]
        if part.kind == "heading":
            yield part.first, part.level
        elif part.kind == "line" and is_underline(line) and part.first and not _ends_paragraph(lines[part.first - 1]):
            yield _paragraph_start(lines, part.first), _underline_level(line)


def _underline_level(line: str) -> int:
    return 1 if "=" in line else 2


def _paragraph_start(lines: Sequence[str], at: int) -> int:
    return next((n + 1 for n in range(at - 1, -1, -1) if _ends_paragraph(lines[n])), 0)


def _says_private(line: str) -> bool:
    """Whether braces that end a line or a cell of a table, but for a full stop or the like, hold the flag."""
    return "{" in line and any(map(_ends_private, line.split("|")))


def _ends_private(text: str) -> bool:
    bare = _without_tail(text)
    while bare.endswith(("}", "-->")):
        if bare.endswith("-->"):
            bare, _, inner = bare.removesuffix("-->").rpartition("<!--")
            if _ends_private(inner):
                return True
        else:
            start = bare.rfind("{")
            inner, _, after = bare[max(start, 0) :].partition("}")
            if start < 0 or _without_tail(after.rstrip("}")):
                return False
            if any(is_set(flag[1] or "") for flag in _FLAG.finditer(inner[1:])):
                return True
            bare = bare[:start]
        bare = _without_tail(bare)
    return False


def _without_tail(text: str) -> str:
    """The text without what may be after a mark: elements, footnotes, all but letters, digits, braces and backticks.

    A comment is left: it may hold the mark.
    """
    end, may_be_comment = len(text), True
    while end and text[end - 1] not in "{}`":
        if may_be_comment and text.endswith("-->", 0, end):
            may_be_comment = "<!--" in text
            if may_be_comment:
                break
        if text[end - 1] in ">]" and (match := _TAIL.search(text, max(0, end - _LONGEST_TAIL), end)):
            end = match.start()
        elif text[end - 1].isalnum():
            break
        else:
            end -= 1
    return text[:end]


def is_private_json(line: str) -> bool:
    """Whether a line is an object of JSON with the flag, or with a text in it that holds a private part."""
    if not line.lstrip().startswith("{") or (KEY not in line.casefold() and "\\u" not in line):
        return False
    with suppress(ContextasmError):
        return any(map(_is_private, all_values(load_json(line, "line"))))
    return False


def _ends_paragraph(line: str) -> bool:
    return not line.strip() or begins_bullet(line) or bool(heading(line) or fence_opening(line))


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of consecutive numbers."""
    for _, group in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        yield run[0], run[-1]
