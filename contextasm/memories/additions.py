"""New memories as they are typed or sent: their fields are checked before anything is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from contextasm.config.input.values import parse_day, require_known
from contextasm.model import ContextasmError, Document, Memory, Problem
from contextasm.text.json_reader import load_json
from contextasm.text.memories.cites import CitedFile, file_lines, parse_cite, written_cite
from contextasm.text.memories.parser import CONFIDENCE, parse_memories
from contextasm.text.memories.writer import parse_importance, parse_items, parse_type, parse_value, storable_text
from contextasm.text.names.matching import nearest
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import NewMemory

_KEYS = ("text", "type", "confidence", "importance", "tags", "key")
"""The keys of a memory in JSON."""


USUAL_TYPES = ("note", "fact", "decision", "task", "preference", "rule", "learning", "insight", "question", "goal")
"""Types of memories that need no other memory to have them."""


def type_problems(workspace: Folder, folder: str, kind: str) -> Iterator[Problem]:
    """The problem of a type that no memory of a folder has, if it is nearly one that some have."""
    documents = (workspace.read(path) for path in workspace.list(f"{folder}/*.md") if kind not in USUAL_TYPES)
    memories = (parse_memories(each)[0] for each in documents if isinstance(each, Document))
    known = {*USUAL_TYPES, *(memory.type for found in memories for memory in found)}
    if kind not in known and (near := nearest(kind, known, 0.8)):
        hint = f"did you mean {near}? `ctxasm edit ID` changes it"
        yield Problem("type", "--type", 0, f"no other memory has the type {kind}", hint)


_PARSERS: Mapping[str, Callable[[Any, str], Any]] = {
    "type": parse_type,
    "importance": parse_importance,
    "tags": parse_items,
    "key": parse_value,
    "supersedes": parse_items,
    "repositories": parse_items,
    "writer": parse_value,
    "valid_from": lambda day, where: str(parse_day(day, where)),
    "expires": lambda day, where: str(parse_day(day, where)),
}


def shared_fields(given: Mapping[str, tuple[str, object]]) -> NewMemory:
    """A memory without its text, of fields with their names in messages and their values; None is not given.

    Raises `ContextasmError`.
    """
    fields: Mapping[str, Any] = {
        field: _PARSERS[field](value, where) for field, (where, value) in given.items() if value is not None
    }
    memory = NewMemory("", **fields)
    if memory.valid_from > memory.expires > "":
        raise ContextasmError(given["expires"][0], "is before the first day", "swap the two days")
    return memory


def read_cites(typed: Iterable[str], workspace: Folder, option: str) -> tuple[str, ...]:
    """Cites of lines as they are now, of texts such as `src/a.py:3-5` or `src/a.py:3`.

    Raises `ContextasmError`, which names the `option`, for another text, and for lines that no file of the workspace
    has.
    """
    cites = []
    for text in typed:
        cite, where = parse_cite(text), f"{option} {text}"
        if not cite or cite[3]:
            raise ContextasmError(where, "names no lines of a file", "write FILE:FIRST-LAST, such as src/a.py:3-5")
        if "," in cite[0]:
            raise ContextasmError(where, "the path has a comma, which separates cites", "rename the file")
        cites.append(_cite_now(workspace.relative(cite[0]), *cite[1:3], workspace, where))
    return parse_items(cites, option)


def renewed_cites(memory: Memory, workspace: Folder) -> tuple[str, ...]:
    """The cites of a memory with the lines at which their text is now, and if it is nowhere, with the text there now.

    Raises `ContextasmError` for lines that no file of the workspace has.
    """
    cites = []
    for text, cite in ((text, parse_cite(text)) for text in memory.cites):
        if not cite:
            cites.append(text)
            continue
        path, first, last, _ = cite
        read = workspace.read(path)
        at = (CitedFile(read.data).find(cite) if isinstance(read, Document) else 0) or first
        cites.append(_cite_now(path, at, last - first + at, workspace, f"{memory.id}: cites {text}"))
    return tuple(cites)


def _cite_now(path: str, first: int, last: int, workspace: Folder, where: str) -> str:
    document = workspace.read(path)
    if not isinstance(document, Document):
        what = document.message if document else "does not exist"
        raise ContextasmError(where, f"{path} {what}", "name existing lines of a file in the workspace")
    lines = file_lines(document.data)
    if last > (count := len(lines)):
        raise ContextasmError(
            where, f"{path} has {count:,} line{'s' * (count != 1)}", "name existing lines of a file in the workspace"
        )
    return written_cite(path, first, last, lines)


class NewMemoryReader:
    """Makes memories of texts and of JSON. `shared` has the fields that each of them gets if it names no other."""

    def __init__(self, shared: NewMemory) -> None:
        self._shared = shared
        self.problems: list[Problem] = []
        """Of hidden characters that were removed from the texts, and of secrets, which stay."""

    def from_text(self, text: str, where: str) -> NewMemory:
        """The memory that is this text; `where` names it in messages. Raises `ContextasmError`."""
        stored, problems = storable_text(text, where)
        self.problems += problems
        return self._shared._replace(text=stored)

    def from_lines(self, text: str) -> Sequence[NewMemory]:
        """One memory for each line that is not blank; a line that begins with a brace is JSON.

        Raises `ContextasmError`, with the number of a line that is wrong.
        """
        numbered = [(f"line {number}", line.strip()) for number, line in enumerate(text.split("\n"), 1)]
        memories = [self._from_line(line, where) for where, line in numbered if line]
        if not memories:
            raise ContextasmError("-", "standard input is empty", "pipe in one memory per line")
        return memories

    def _from_line(self, line: str, where: str) -> NewMemory:
        if not line.startswith("{"):
            return self.from_text(line, where)
        try:
            data = load_json(line, where)
        except ContextasmError as error:
            what = f"begins with {{, but can't be read: {error.what}"
            raise ContextasmError(where, what, "correct the line") from error
        assert isinstance(data, dict)
        for key in data:
            require_known(key, _KEYS, where, "key")
        return self._from_json(data, where)

    def _from_json(self, data: Mapping[str, object], where: str) -> NewMemory:
        """The memory of a JSON object; a missing key leaves the field as the others have it."""
        memory = self.from_text(_required_text(data, "text", where), f"{where}: text")
        fields: dict[str, Any] = {name: _required_text(data, name, where) for name in ("type", "key") if name in data}
        if "confidence" in data:
            confidence = _required_text(data, "confidence", where).casefold()
            fields["importance"] = CONFIDENCE[require_known(confidence, CONFIDENCE, where, "confidence")]
        fields |= {name: data[name] for name in ("importance", "tags") if name in data}
        tags = data.get("tags", [])
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise ContextasmError(f"{where}: tags", "is not a list of words", 'write ["one", "two"]')
        return memory._replace(**{name: _PARSERS[name](value, f"{where}: {name}") for name, value in fields.items()})


def _required_text(data: Mapping[str, object], key: str, where: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        what = "is missing" if value is None else "is not text"
        raise ContextasmError(f"{where}: {key}", what, "give it in quotes")
    return value
