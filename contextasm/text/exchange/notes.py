"""Memories in the Markdown of other programs: a text in parts, and the fields that front matter states for all.

Each part is a bullet or a paragraph, with the heading above it, and may be a memory. The readers of Codex and
Hermes, whose files are little more than that, are here, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from contextasm.model import ContextasmError, Parse
from contextasm.text.cleaning.private_parts import KEY, says_private_in_front
from contextasm.text.exchange.entry import (
    LeftOutPart,
    SourceEntry,
    SourceFile,
    derived_id,
    fitting_type,
    fitting_words,
    stated,
    unread_keys,
)
from contextasm.text.markdown.blocks import begins_bullet, bullet_end, heading, is_rule, part_at
from contextasm.text.markdown.front_matter import Value, front_matter
from contextasm.text.memories.parser import FIELDS, LISTS, YES

FRONT_FIELDS = frozenset(FIELDS) - {"id"}
"""Fields that front matter states for all memories of a file; an id is that of one memory."""


def with_front_fields(
    file: SourceFile, items: Iterable[SourceEntry | LeftOutPart]
) -> Iterator[SourceEntry | LeftOutPart]:
    """The items of a file, each entry with the fields of the file's front matter that it does not state itself.

    The tags of both count. An entry of a private file is private, even if it says otherwise.
    """
    front = _front_fields(file.text)
    for item in items:
        if isinstance(item, LeftOutPart):
            yield item
            continue
        fields = {**front, **item.fields}
        own, shared = item.fields.get("tags"), front.get("tags")
        if isinstance(own, list) and isinstance(shared, list):
            fields["tags"] = [*dict.fromkeys([*shared, *own])]
        if front.get(KEY):
            fields[KEY] = True
        yield item._replace(fields=fields)


def unread_front(file: SourceFile) -> Iterator[LeftOutPart]:
    """The keys of a file's front matter that are not fields of a memory, and its lines that can't be read."""
    found = front_matter(file.text.split("\n"))
    yield from unread_keys(found.values, FRONT_FIELDS, f"{file.name}:1")
    yield from (LeftOutPart(f"{file.name}:{line}", "front matter") for line in found.unread)


def _front_fields(text: str) -> dict[str, object]:
    """Values by names of `FRONT_FIELDS`."""
    lines = text.split("\n")
    found = front_matter(lines)
    named = [name for name in FIELDS if name in FRONT_FIELDS and found.values.get(name)]
    stated = {name: _as_stated(name, found.values) for name in named}
    fields = {name: value for name, value in stated.items() if value not in ("", [])}
    fields.pop(KEY, None)
    return {**fields, KEY: True} if says_private_in_front(lines, found.lines) else fields


def _as_stated(name: str, values: Mapping[str, Value]) -> object:
    """A value of front matter, in the form in which entries state it; as written if it has no such form."""
    value = values[name]
    if name in LISTS:
        parts = value.split(",") if isinstance(value, str) else value
        return [part.strip() for part in parts if part.strip()]
    word = value if isinstance(value, str) else ", ".join(value)
    if name == "type":
        return fitting_type(word)
    if name == "pin":
        return YES.get(word.casefold(), word)
    return word


_BOLD_LINE = re.compile(r"(\*\*|__)(.+?):?\1:?")
"""A whole line in bold type is taken for a heading."""
_BOLD_LEVEL = 7
"""Below all others."""


TextPart = tuple[int, str, tuple[str, ...], str]
"""Line of the text, counted from 1; text of a bullet without its mark, or of a paragraph; headings above it, from
an empty text to the nearest one.

The last is empty for what may be a memory, else it says what it is, such as a rule.
"""


KindOf = Callable[[str, Sequence[str]], str]
"""Gives, for text and headings of a part that is not a memory, what it is; for any other part an empty text."""


def note_items(
    file: SourceFile, entry: Callable[[str, str, Sequence[str]], SourceEntry], kind_of: KindOf | None = None
) -> Iterator[SourceEntry | LeftOutPart]:
    """The items of a file of notes; `entry` makes that of a part, of its place, its text and the headings above it."""
    lines = file.text.split("\n")
    front = front_matter(lines)
    above = 0 if FRONT_FIELDS.isdisjoint(front.values) else front.lines
    if above:
        yield from unread_front(file)
    for line, text, titles, left_out in text_parts("\n".join(lines[above:]), kind_of):
        first = above + line
        if left_out:
            numbers = [number for number, words in enumerate(text.split("\n"), first) if words.strip()]
            yield from (LeftOutPart(f"{file.name}:{number}", left_out) for number in numbers)
        else:
            yield entry(f"{file.name}:{first}", text, titles)


def text_items(
    text: object, where: str, names: Sequence[str], tags: Sequence[str], fields: Mapping[str, object]
) -> Iterator[SourceEntry | LeftOutPart]:
    """The items of a text in a file of JSON; None is an empty text. Raises `ContextasmError` for anything else.

    The ids are made of `names`. Each entry has these fields and, after the heading above it, these tags.
    """
    if not isinstance(text, str | None):
        raise ContextasmError(where, "is not text", "correct it, or choose the format of the file")
    for line, content, (*_, title), left_out in text_parts(text or ""):
        place = f"{where}: line {line}"
        if left_out:
            yield LeftOutPart(place, left_out)
        else:
            own = stated({**fields, "tags": fitting_words([title, *tags])})
            yield SourceEntry(place, derived_id(*names, title, content), content, own)


def text_parts(text: str, kind_of: KindOf | None = None) -> Iterator[TextPart]:
    """The parts of a text in their order: each line that is not blank is in a part, or in the heading of one.

    A fence of code, or a comment, belongs to the paragraph before it. A line in bold type with nothing below it is a
    paragraph.
    """
    lines = text.split("\n")
    at, titles, unclosed = 0, {0: ""}, set[str]()
    unused: TextPart | None = None  # the last heading, while nothing is below it
    while at < len(lines):
        line = lines[at]
        stop = at + 1
        if found := _title(line):
            if unused:
                yield unused
            above = {level: words for level, words in titles.items() if level < found[0]}
            titles = {**above, found[0]: found[1]}
            unused = at + 1, line.strip(), ("",), "heading with nothing below it" if heading(line) else ""
        elif is_rule(line):
            yield at + 1, line.strip(), (*titles.values(),), "rule"
        elif line.strip():
            stop, content = _content(lines, at, unclosed)
            kind = kind_of(content, (*titles.values(),)) if kind_of else ""
            unused = unused if kind else None
            yield at + 1, content, (*titles.values(),), kind
        at = stop
    if unused:
        yield unused


def _title(line: str) -> tuple[int, str] | None:
    """Level and words of a line that is a heading, or is taken for one; None for any other line."""
    if found := heading(line):
        return found[0], found[1].strip()
    bold = _BOLD_LINE.fullmatch(line.strip())
    return (_BOLD_LEVEL, bold[2].strip()) if bold else None


def _content(lines: Sequence[str], at: int, unclosed: set[str]) -> tuple[int, str]:
    """The line after the bullet or paragraph at a line, and its text."""
    if not begins_bullet(lines[at]):
        stop = at
        while stop < len(lines) and not _ends_paragraph(lines[stop]):
            stop = part_at(lines, stop, unclosed).stop
        return stop, "\n".join(lines[at:stop]).strip()
    end, stop = bullet_end(lines, at), at + 1
    while stop < end and not (is_rule(lines[stop]) and lines[stop][0] not in " \t"):
        stop = part_at(lines, stop, unclosed).stop
    stop = min(stop, end)
    rest = [own[min(2, len(own) - len(own.lstrip())) :] for own in lines[at + 1 : stop]]
    return stop, "\n".join([lines[at][1:].strip(), *rest]).rstrip()


def _ends_paragraph(line: str) -> bool:
    return not line.strip() or begins_bullet(line) or is_rule(line) or heading(line) is not None


# --- Codex -----------------------------------------------------------------------------------------------------------

# `MEMORY.md` and `memory_summary.md` of the folder `~/.codex/memories`.
#
# As of its source (openai/codex, codex-rs/memories/write/templates/memories/consolidation.md, 2026): `MEMORY.md` has a
# `# Task Group: NAME` with lines `scope:` and `applies_to:`, then a `## Task N` for each task with its rollouts and
# keywords, then sections of bullets. `memory_summary.md` begins with the line `v1` and ends with an index,
# `## What's in Memory`. What only leads to other files is left out: scopes, rollouts, keywords and the index. Those
# files are recaps of conversations, and what these two were made of.
_GROUP = "Task Group:"
_SCOPE = re.compile(r"(?:scope|applies_to):")
_KINDS = {"rollout_summary_files": "list of rollouts", "keywords": "keywords", "What's in Memory": "index"}
"""By its heading, what a section is that holds no memory."""


def read_codex(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """A memory for each bullet and paragraph, tagged with its section and its task group."""
    for file in files:
        yield from with_front_fields(file, note_items(file, _codex_entry, _codex_kind))


def _codex_entry(where: str, text: str, titles: Sequence[str]) -> SourceEntry:
    names = [title.removeprefix(_GROUP).strip() for title in titles]
    return SourceEntry(where, derived_id("codex", *names, text), text, stated({"tags": fitting_words(names)}))


def _codex_kind(text: str, titles: Sequence[str]) -> str:
    if titles[-1].startswith(_GROUP) and _SCOPE.match(text):
        return "scope of a task group"
    if len(titles) == 1 and text == "v1":
        return "version"
    return next((_KINDS[title] for title in titles if title in _KINDS), "")


# --- Hermes ----------------------------------------------------------------------------------------------------------

# `MEMORY.md` and `USER.md` of the folder `~/.hermes/memories`.
#
# As of its source (NousResearch/hermes-agent, tools/memory_tool.py, 2026): entries of one or several lines with a line
# `§` between them, without ids and dates. `MEMORY.md` has the agent's notes; `USER.md` has what the agent knows about
# its user, which is private.
_BETWEEN_ENTRIES = "§"
_USER = "user"


def read_hermes(files: Sequence[SourceFile], _parse: Parse) -> Iterator[SourceEntry | LeftOutPart]:
    """A memory for each entry; entries of `USER.md` are private and have the type `user`."""
    for file in files:
        yield from with_front_fields(file, _hermes_entries(file))


def _hermes_entries(file: SourceFile) -> Iterator[SourceEntry | LeftOutPart]:
    store = file.stem.casefold()
    fields = {"type": _USER, KEY: True} if store == _USER else {}
    lines = file.text.split("\n")
    start = front_matter(lines).lines
    yield from unread_front(file)
    for stop in [*(at for at, line in enumerate(lines) if at >= start and line == _BETWEEN_ENTRIES), len(lines)]:
        if text := "\n".join(lines[start:stop]).strip():
            yield SourceEntry(f"{file.name}:{start + 1}", derived_id("hermes", store, text), text, fields)
        start = stop + 1
