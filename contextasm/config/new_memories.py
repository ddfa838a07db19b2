"""New memories as they are typed or sent: their fields are checked before anything is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from contextasm.config.values import require_known
from contextasm.model import ContextasmError, Problem
from contextasm.text.json_reader import load_json
from contextasm.text.memory_fields import CONFIDENCE, IMPORTANCE
from contextasm.text.memory_writer import is_type, is_value
from contextasm.text.storable import storable_text
from contextasm.workspace.editing.remember import NewMemory

_KEYS = ("text", "type", "confidence", "importance", "tags", "key")
"""The keys of a memory in JSON."""

LONGEST_VALUE = 1000
"""Characters of a value in the braces of a memory, such as a tag, a key or an id."""

MOST_ITEMS = 100
"""Tags of one memory, or ids that it supersedes."""


class NewMemoryReader:
    """Makes memories of texts and of JSON. `shared` has the fields that each of them gets where it names no other."""

    def __init__(self, shared: NewMemory) -> None:
        self._shared = shared
        self.problems: list[Problem] = []
        """Of hidden characters that were removed from the texts, and of secrets, which stay."""

    def from_text(self, text: str, where: str) -> NewMemory:
        """The memory that is this text; `where` names it in messages. Raises `ContextasmError`."""
        stored = storable_text(text, where)
        self.problems += stored.problems
        return self._shared._replace(text=stored.text)

    def from_lines(self, text: str) -> Sequence[NewMemory]:
        """One memory for each line that is not blank; a line that begins with a brace is JSON.

        Raises `ContextasmError`, with the number of a line that is wrong.
        """
        numbered = [(f"line {number}", line.strip()) for number, line in enumerate(text.split("\n"), 1)]
        memories = [self._from_line(line, where) for where, line in numbered if line]
        if not memories:
            raise ContextasmError("-", "standard input is empty", "pipe in one memory a line")
        return memories

    def _from_line(self, line: str, where: str) -> NewMemory:
        if not line.startswith("{"):
            return self.from_text(line, where)
        try:
            data = load_json(line, where)
        except ContextasmError as error:
            what = f"begins with {{ but can't be read: {error.what}"
            raise ContextasmError(where, what, "correct the line") from error
        assert isinstance(data, dict)
        for key in data:
            require_known(key, _KEYS, where, "key")
        return self._from_json(data, where)

    def _from_json(self, data: Mapping[str, object], where: str) -> NewMemory:
        """The memory of a JSON object; a missing key leaves the field as the others have it."""
        memory = self.from_text(_required_text(data, "text", where), f"{where}: text")
        importance = memory.importance
        if "confidence" in data:
            confidence = _required_text(data, "confidence", where).casefold()
            importance = CONFIDENCE[require_known(confidence, CONFIDENCE, where, "confidence")]
        if "importance" in data:
            importance = parse_importance(data["importance"], f"{where}: importance")
        tags = data.get("tags", list(memory.tags))
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise ContextasmError(f"{where}: tags", "is not a list of words", 'write ["one", "two"]')
        return memory._replace(
            type=parse_type(_required_text(data, "type", where), f"{where}: type") if "type" in data else memory.type,
            importance=importance,
            tags=parse_items(tags, f"{where}: tags"),
            key=parse_value(_required_text(data, "key", where), f"{where}: key") if "key" in data else memory.key,
        )


def _required_text(data: Mapping[str, object], key: str, where: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        what = "is missing" if value is None else "is not text"
        raise ContextasmError(f"{where}: {key}", what, "give it in quotes")
    return value


def parse_importance(value: object, where: str) -> float:
    """The importance from 0 to 1 of a number or a word. Raises `ContextasmError`."""
    if isinstance(value, str) and value.casefold() in IMPORTANCE:
        return IMPORTANCE[value.casefold()]
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
    except (ValueError, OverflowError):
        number = -1.0
    if not 0 <= number <= 1:
        words = ", ".join(IMPORTANCE)
        raise ContextasmError(where, f"{value} is not an importance", f"give 0 to 1, or one of {words}")
    return number


def parse_type(word: str, where: str) -> str:
    """The type of a memory, a word. Raises `ContextasmError` for one that can't be written in brackets."""
    _refuse_long(word, where)
    if not is_type(word):
        raise ContextasmError(where, f"{word!r} can't be a type", "give a word such as fact, without brackets")
    return word


def parse_value(word: str, where: str) -> str:
    """A value of a field, without blanks around it. Raises `ContextasmError` for one that braces can't hold."""
    _refuse_long(word, where)
    if not is_value(word):
        raise ContextasmError(where, f"{word!r} can't be written in braces", "leave out quotes and braces")
    return word.strip()


def parse_items(words: Iterable[str], where: str) -> tuple[str, ...]:
    """The values of a field that takes several. Raises `ContextasmError` for too many, and for a comma in one."""
    items = tuple(words)
    if len(items) > MOST_ITEMS:
        raise ContextasmError(where, f"has {len(items):,} values", f"give {MOST_ITEMS} at most")
    for word in items:
        if "," in word:
            raise ContextasmError(where, f"{word!r} contains a comma", "give the words one by one")
    return tuple(parse_value(word, where) for word in items)


def _refuse_long(word: str, where: str) -> None:
    if len(word) > LONGEST_VALUE:
        raise ContextasmError(where, f"has {len(word):,} characters", f"give {LONGEST_VALUE:,} at most")
