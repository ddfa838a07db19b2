"""What `remember` is given, checked: flags, plain lines and JSON lines. No command.

Raises `ContextasmError`, for a line of standard input with its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contextasm.cli.owner import storable_text
from contextasm.config.values import require_known
from contextasm.model import ContextasmError
from contextasm.text.memory_parser import CONFIDENCE, IMPORTANCE
from contextasm.text.memory_writer import is_type, is_value
from contextasm.workspace.editing.remember import NewMemory

KEYS = ("text", "type", "confidence", "importance", "tags", "key")
"""What a JSON object may hold."""


def read_entries(
    kind: str | None, importance: str | None, tags: Iterable[str], key: str | None, supersedes: Iterable[str]
) -> NewMemory:
    """What the flags say of each memory, the text still missing."""
    return NewMemory(
        text="",
        type="note" if kind is None else _type(kind, "--type"),
        importance=None if importance is None else _importance(importance, "--importance"),
        tags=tuple(_part(each, "--tag") for each in tags),
        key="" if key is None else _word(key, "--key"),
        supersedes=tuple(_part(each, "--supersedes") for each in supersedes),
    )


def parse_entries(lines: str | None, text: str, plain: NewMemory) -> list[NewMemory]:
    """One entry for each line that is not blank; of the text where there are no lines."""
    if lines is None:
        return [plain._replace(text=storable_text(text, "TEXT"))]
    numbered = enumerate(lines.split("\n"), 1)
    found = [_entry(line.strip(), f"line {number}", plain) for number, line in numbered if line.strip()]
    if not found:
        raise ContextasmError("-", "standard input is empty", "pipe in one memory a line")
    return found


def _entry(line: str, where: str, plain: NewMemory) -> NewMemory:
    """The entry of one line; one that begins with a brace is JSON."""
    if not line.startswith("{"):
        return plain._replace(text=storable_text(line, where))
    import json

    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ContextasmError(where, f"begins with {{ but is no JSON ({error})", "put that right") from error
    for key in data:
        require_known(key, KEYS, where, "key")
    return _from_json(data, where, plain)


def _from_json(data: Mapping[str, object], where: str, plain: NewMemory) -> NewMemory:
    """The entry of a JSON object; what it does not say is as the flags say."""
    importance = plain.importance
    if "confidence" in data:
        importance = CONFIDENCE[
            require_known(_text(data, "confidence", where).casefold(), CONFIDENCE, where, "confidence")
        ]
    if "importance" in data:
        importance = _importance(data["importance"], f"{where}: importance")
    tags = data.get("tags", list(plain.tags))
    if not isinstance(tags, list) or not all(isinstance(each, str) for each in tags):
        raise ContextasmError(f"{where}: tags", "is no list of words", 'write ["one", "two"]')
    return plain._replace(
        text=storable_text(_text(data, "text", where), f"{where}: text"),
        type=_type(_text(data, "type", where), f"{where}: type") if "type" in data else plain.type,
        importance=importance,
        tags=tuple(_part(each, f"{where}: tags") for each in tags),
        key=_word(_text(data, "key", where), f"{where}: key") if "key" in data else plain.key,
    )


def _text(data: Mapping[str, object], key: str, where: str) -> str:
    """A value that has to be words."""
    value = data.get(key)
    if not isinstance(value, str):
        raise ContextasmError(f"{where}: {key}", "is missing" if value is None else "is no text", "give it in quotes")
    return value


def _importance(value: object, where: str) -> float:
    """0 to 1, or the word for it."""
    if isinstance(value, str) and value.casefold() in IMPORTANCE:
        return IMPORTANCE[value.casefold()]
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
    except (ValueError, OverflowError):
        number = -1.0
    if not 0 <= number <= 1:
        raise ContextasmError(where, f"{value} is no importance", f"give 0 to 1, or one of {', '.join(IMPORTANCE)}")
    return number


def _type(word: str, where: str) -> str:
    if not is_type(word):
        raise ContextasmError(where, f"{word!r} can't be a type", "give a word such as fact, without brackets")
    return word


def _word(word: str, where: str) -> str:
    if not is_value(word):
        raise ContextasmError(where, f"{word!r} can't be written in braces", "leave out quotes and braces")
    return word.strip()


def _part(word: str, where: str) -> str:
    if "," in word:
        raise ContextasmError(where, f"{word!r} holds a comma", "give them one by one")
    return _word(word, where)
