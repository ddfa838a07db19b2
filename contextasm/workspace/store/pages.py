"""Rows of a store as Markdown: a memory as one list item with all its fields, and the files of these, called pages.

A page holds memories that one role of the database stored, so nothing that one role stores can change how another's
memories are read. They are all private or all open. The field `writer` of a memory is another thing: it is what the
program said of itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from hashlib import sha256
from typing import Any

from contextasm.model import AS_WRITTEN, CLEAN, ContextasmError, Document, Memory
from contextasm.text.cleaning.clean import clean_text, clean_value, decode_document, shown_name
from contextasm.text.cleaning.hidden_characters import strip_hidden
from contextasm.text.cleaning.private_parts import private_lines
from contextasm.text.memories.parser import DAYS, LISTS, WORDS, parse_memories
from contextasm.text.memories.writer import LONGEST_TEXT, LONGEST_VALUE, clean_lines, is_type, is_value, memory_bullet

FIELDS = tuple(name for name in Memory._fields if name not in {"path", "line"})
"""Fields of a memory that are columns of its row, of the same names."""

_WORDS = ("id", "status", *WORDS[1:])
COLUMNS = ", ".join(f"coalesce(to_char({name}, 'YYYY-MM-DD'), '')" if name in DAYS else name for name in FIELDS)
"""The columns as a `SELECT` names them: days as texts, empty for none."""

_PAGE = re.compile(r"([0-9]{4}-[0-9]{2}\.(?:private\.)?)([0-9]{6})\.[^/]+\.md")
"""The name of a page: month and privacy, number, role."""

_LONGEST_ID = 200
_LONGEST_LIST = 8192
"""Characters of an id without its role's number, and of a list with its commas (`sql/001_memories.sql`)."""

_LARGEST = 120_000
"""Bytes of a memory with all its fields, as its page has them: 512 of these are a file that is read."""


def memory_of_row(row: Sequence[Any]) -> Memory:
    """The memory of a row of `COLUMNS`; its place is not known."""
    fields = dict(zip(FIELDS, row, strict=True))
    return Memory(**{**fields, **{name: tuple(fields[name]) for name in LISTS}}, path="", line=0)


def is_private_id(id_: str) -> bool:
    """Whether an id is that of a private memory (`sql/001_memories.sql`)."""
    return bool(re.match("[0-9]+p-", id_))


def ids_of_name(name: str, number: int) -> Sequence[str]:
    """The ids that a memory may have in the store which is called `name` elsewhere, by the number of the role.

    The role's own one, open or private; or another role's, whose number an export leaves.
    """
    return f"{number}-{name}", f"{number}p-{name}", name


def name_of_id(id_: str, number: int | str = "[0-9]+") -> str:
    """The id of a memory in an export of the role with this number, without its prefix; by default, of any role."""
    return re.sub(rf"\A{number}p?-", "", id_)


def with_references(memory: Memory, rename: Callable[[str], str]) -> Memory:
    """The memory with other ids of the memories that it supersedes, and of the one that supersedes it."""
    return memory._replace(
        supersedes=tuple(map(rename, memory.supersedes)),
        superseded_by=memory.superseded_by and rename(memory.superseded_by),
    )


def row_of_memory(memory: Memory) -> list[object]:
    """The values of `FIELDS` as the driver takes them."""
    values = memory._asdict()
    days = {name: date.fromisoformat(values[name]) if values[name] else None for name in DAYS}
    lists = {name: [*values[name]] for name in LISTS}
    return [{**values, **days, **lists}[name] for name in FIELDS]


def page_name(page: str, role: str) -> str:
    """The name of the file of a role's page. No two roles share one, even if case does not count in names."""
    if not re.fullmatch(r"[a-z0-9_-]+", role):
        plain = re.sub(r"[^a-z0-9_-]+", "-", role.lower())
        role = f"{plain}~{sha256(role.encode()).hexdigest()[:8]}"
    return f"{page}.{role}.md"


def page_of_name(name: str) -> tuple[str, str] | None:
    """Month with privacy, and number, of the page that a file is by its name; None for any other file.

    Together they are the page as the table has it.
    """
    match = _PAGE.fullmatch(name)
    return (match[1], match[2]) if match else None


def page_text(memories: Sequence[Memory]) -> str:
    """The text of a page, LF line ends. Nothing that a row has can change how another one is read."""
    return "".join(f"{memory_bullet(readable_memory(memory))}\n" for memory in memories)


def readable_memory(memory: Memory) -> Memory:
    """The memory as its page has it: without values of fields that would be read as something else.

    The table refuses most of them, whichever client they come from.
    """
    lists = [word for name in LISTS for word in getattr(memory, name)]
    joined = "".join([memory.type, *(getattr(memory, name) for name in _WORDS), *lists])
    if joined.isascii() and joined.isprintable():  # what else a value may not have, the table refuses
        return memory
    values: dict[str, Any] = {
        name: word if _is_seen(word) else "" for name in _WORDS if (word := getattr(memory, name))
    }
    values |= {name: tuple(filter(_is_seen, getattr(memory, name))) for name in LISTS}
    return memory._replace(type=memory.type if _is_seen(memory.type) else "note", **values)


def _is_seen(word: str) -> bool:
    """Whether a word can be a value, and nothing in it is hidden."""
    return is_value(word) and strip_hidden(word)[0] == word


def storable_memory(memory: Memory, where: str) -> Memory:
    """The memory as a page gives it back, at no place yet; a private one if its text says so, as in a file.

    Raises `ContextasmError` at `where` for one that a list item can't hold.
    """
    stored = memory._replace(path="", line=0, text=clean_lines(memory.text), type=memory.type.strip())
    stored = stored._replace(private=stored.private or _says_private(stored))
    values = [stored.id, *filter(None, (getattr(stored, name) for name in _WORDS[1:]))]
    lists = [word for name in LISTS for word in getattr(stored, name)]
    fits = is_type(stored.type) and not any("," in word for word in lists)
    _refuse_long(stored, [*values, *lists, stored.type], where)
    _refuse_unseen(stored, where)
    if stored.text and not clean_text(stored.text).text.strip():
        raise ContextasmError(where, "the text has only hidden characters", "add words, or remove the memory")
    if not stored.status.isascii():  # servers and Python do not agree on what is in lower case
        raise ContextasmError(where, "the status has letters beyond ASCII", "write one such as active or archived")
    # One more item after it: what the text opens and leaves open must not reach the next memory.
    if fits and _read_back(f"{page_text([stored])}- [note] x\n") == [stored, ("note", "x")]:
        return stored
    hint = "rewrite it as a list item of plain paragraphs, or keep it out of the store"
    raise ContextasmError(where, "can't be stored, because it would be read differently", hint)


def _says_private(memory: Memory) -> bool:
    document = decode_document("memory.md", page_text([memory]).encode(), CLEAN)
    return not isinstance(document, Document) or bool(private_lines(document, None))


def _refuse_long(memory: Memory, values: Sequence[str], where: str) -> None:
    """Raise `ContextasmError` for a memory whose text, values or lists are longer than the table takes."""
    lengths = [
        ("the text", len(memory.text), LONGEST_TEXT),
        ("the id", len(memory.id), _LONGEST_ID),
        ("a value", max(map(len, values)), LONGEST_VALUE),
        *((name, len(",".join(getattr(memory, name))), _LONGEST_LIST) for name in LISTS),
    ]
    for what, length, most in lengths:
        if length > most:
            raise ContextasmError(where, f"{what} has {length:,} characters", f"the store takes at most {most:,}")
    texts = [memory.text.replace("\n", "\n  "), ",".join(word for name in LISTS for word in getattr(memory, name))]
    size = len("".join([*texts, memory.type, *(getattr(memory, name) for name in _WORDS)]).encode(errors="replace"))
    if size > _LARGEST:
        what = f"the memory has {size:,} bytes, and at most {_LARGEST:,} fit"
        raise ContextasmError(where, what, "store its main points, or put it into its own file")


def _refuse_unseen(memory: Memory, where: str) -> None:
    """Raise `ContextasmError` for a value that would not be read as it is, and name it."""
    words = [(name, word) for name in _WORDS if (word := getattr(memory, name)) or name == "id"]
    words += [(name, word) for name in LISTS for word in getattr(memory, name)]
    for name, word in (*words, ("type", memory.type)):
        if not is_value(word) or clean_value(word, CLEAN, 0, []) != word:  # something in it is hidden or masked
            what = f"can't be stored, because '{shown_name(word)}' of its {name} would be read differently"
            raise ContextasmError(where, what, "remove hidden characters, line ends, braces and secrets from it")


def _read_back(text: str) -> list[object]:
    document = decode_document("", text.encode(errors="surrogatepass"), AS_WRITTEN)
    if not isinstance(document, Document):
        return []
    memories, problems = parse_memories(document)
    if problems or len(memories) != 2:
        return []
    first, last = memories
    return [first._replace(line=0), (last.type, last.text)]
