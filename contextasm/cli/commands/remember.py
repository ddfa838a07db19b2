"""`ctxasm remember`: add one memory, or one from each line of standard input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from contextasm.cli.options import JsonOption, QuietOption, takes_options
from contextasm.cli.output import format_json, read_stdin, require_stdout, write_receipt
from contextasm.cli.owner import OWNER_AND_DAY, Owner, find_owner, is_read_as_memories, storable_text
from contextasm.config.options import Options
from contextasm.config.values import require_known
from contextasm.model import ContextasmError
from contextasm.text.memory_parser import CONFIDENCE, IMPORTANCE
from contextasm.text.memory_writer import is_type, is_value

if TYPE_CHECKING:
    from contextasm.workspace.editing.remember import MemoryPlace, NewMemory, RememberOutcome


class MemoryFlags(NamedTuple):
    """The flags of `remember` beside its owner and its day, as typed."""

    kind: Annotated[
        str, typer.Option("--type", metavar="TYPE", help="The type (default: note).", show_default=False)
    ] = "note"
    importance: Annotated[
        str | None,
        typer.Option(metavar="X", help="0 to 1, or low, medium, high, critical (default: that of the file, or 0.5)."),
    ] = None
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="A tag; repeatable.")] = None
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="The subject; memories with the same key are of one subject.")
    ] = None
    supersedes: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A memory that this one replaces; repeatable.")
    ] = None
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write to this file (default: memories/YYYY-MM.md of the owner).")
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Store the memory even if another one says the same.")] = False
    json: JsonOption = False
    quiet: QuietOption = False


def add_memories(
    options: Options,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT", help="The memory; - reads standard input, a text or a JSON object in each line."
        ),
    ],
    *,
    flags: MemoryFlags,
) -> int:
    """Add a memory to the owner's file of the month.

    If an active memory says the same in nearly the same words, that memory is reinforced instead: its importance goes
    up by 0.1, and it gets the new tags, key and type where it has none of its own. Standard output gets one line for
    each memory.
    """
    if flags.json or not flags.quiet:
        require_stdout()
    memories = _typed_memories(text, _shared_fields(flags))
    owner = find_owner(options, needed=flags.file is None)
    outcomes = _remember(owner, _memory_place(owner, flags.file), memories, force=flags.force)
    if flags.json:
        data = [_outcome_data(outcome) for outcome in outcomes]
        write_receipt(format_json({"schema": "ctxasm.remembered/1", "memories": data}))
    elif not flags.quiet:
        write_receipt("".join(f"{_outcome_line(outcome)}\n" for outcome in outcomes))
    return 0


run = takes_options(add_memories, OWNER_AND_DAY)


def _remember(
    owner: Owner, place: MemoryPlace, memories: Sequence[NewMemory], *, force: bool
) -> Sequence[RememberOutcome]:
    """Remember in the owner's files, or in the store where these memories lie there."""
    from contextasm.workspace.editing.remember import remember

    overlay = owner.workspace.overlay
    home = overlay.home(place.path) if overlay else None
    if home is None:
        return remember(owner.workspace, place, memories, owner.day, force=force)
    from contextasm.workspace.store.overlay import StoreOverlay
    from contextasm.workspace.store.writing import remember_in_store

    assert isinstance(overlay, StoreOverlay)
    return remember_in_store(owner.workspace, overlay, home, memories, owner.day, force=force)


def _memory_place(owner: Owner, file: str | None) -> MemoryPlace:
    """The file to write to and the folder to compare with.

    Raises `ContextasmError` for a file of another owner, and for one that no build reads memories from.
    """
    from contextasm.config.values import parse_inner_paths
    from contextasm.workspace.editing.files import refuse_store, writable_path
    from contextasm.workspace.editing.remember import MemoryPlace

    if file is None:
        folder = f"{owner.path}/memories"
        return MemoryPlace(folder, f"{folder}/{str(owner.day)[:7]}.md")
    (path,) = parse_inner_paths(owner.workspace.relative(file), "--file")
    if Path(path).suffix != ".md" or any(part.startswith(".") for part in path.split("/")):
        raise ContextasmError("--file", f"{file} is not a file of memories", "name a file that ends in .md")
    if owner.path and not path.startswith(f"{owner.path}/"):
        raise ContextasmError("--file", f"{path} is not in {owner.path}/", "leave out -a and -t, or name another file")
    refuse_store(owner.workspace, path)
    writable_path(owner.workspace, path)
    if not is_read_as_memories(owner.workspace, path):
        folder = f"{owner.path or 'agents/NAME'}/memories"
        raise ContextasmError("--file", f"no build reads memories from {path}", f"name a file such as {folder}/x.md")
    return MemoryPlace(path.rpartition("/")[0], path)


def _outcome_line(outcome: RememberOutcome) -> str:
    memory = outcome.memory
    line = f"{outcome.what} {memory.id} {memory.path}:{memory.line}"
    if outcome.what == "stored":
        return line
    unmerged = "".join(f"; left out {field}" for field in outcome.unmerged)
    alike = f"{outcome.alike:.0%} alike{unmerged}"
    return f"{line} (importance now {memory.importance:g}; {alike}; --force stores it all the same)"


def _outcome_data(outcome: RememberOutcome) -> Mapping[str, object]:
    """An outcome as values for JSON."""
    memory = outcome.memory
    return {
        "outcome": outcome.what,
        "id": memory.id,
        "path": memory.path,
        "line": memory.line,
        "importance": memory.importance,
        "alike": round(outcome.alike, 4),
        "left_out": list(outcome.unmerged),
    }


_KEYS = ("text", "type", "confidence", "importance", "tags", "key")
"""The keys of a memory in JSON."""


def _shared_fields(flags: MemoryFlags) -> NewMemory:
    """The fields that the flags give to each memory, with an empty text."""
    from contextasm.workspace.editing.remember import NewMemory

    return NewMemory(
        text="",
        type=_parse_type(flags.kind, "--type"),
        importance=None if flags.importance is None else _parse_importance(flags.importance, "--importance"),
        tags=tuple(_parse_list_item(tag, "--tag") for tag in flags.tag or ()),
        key="" if flags.key is None else _parse_value(flags.key, "--key"),
        supersedes=tuple(_parse_list_item(name, "--supersedes") for name in flags.supersedes or ()),
    )


def _typed_memories(text: str, shared: NewMemory) -> Sequence[NewMemory]:
    """The memory that is typed, or those of standard input; `shared` holds the fields that each has."""
    if text == "-":
        return _memories_of_lines(read_stdin("-", "memories"), shared)
    return [shared._replace(text=storable_text(text, "TEXT"))]


def _memories_of_lines(text: str, shared: NewMemory) -> Sequence[NewMemory]:
    """One memory for each line that is not blank. Raises `ContextasmError`, with the number of a line that is wrong."""
    numbered = [(f"line {number}", line.strip()) for number, line in enumerate(text.split("\n"), 1)]
    memories = [_memory_of_line(line, where, shared) for where, line in numbered if line]
    if not memories:
        raise ContextasmError("-", "standard input is empty", "pipe in one memory a line")
    return memories


def _memory_of_line(line: str, where: str, shared: NewMemory) -> NewMemory:
    """The memory of one line; a line that begins with a brace is JSON."""
    if not line.startswith("{"):
        return shared._replace(text=storable_text(line, where))
    from contextasm.text.json_reader import load_json

    try:
        data = load_json(line, where)
    except ContextasmError as error:
        raise ContextasmError(where, f"begins with {{ but can't be read: {error.what}", "correct the line") from error
    assert isinstance(data, dict)
    for key in data:
        require_known(key, _KEYS, where, "key")
    return _memory_of_json(data, where, shared)


def _memory_of_json(data: Mapping[str, object], where: str, shared: NewMemory) -> NewMemory:
    """The memory of a JSON object; a missing key leaves the field as the flags give it."""
    importance = shared.importance
    if "confidence" in data:
        confidence = _required_text(data, "confidence", where).casefold()
        importance = CONFIDENCE[require_known(confidence, CONFIDENCE, where, "confidence")]
    if "importance" in data:
        importance = _parse_importance(data["importance"], f"{where}: importance")
    tags = data.get("tags", list(shared.tags))
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ContextasmError(f"{where}: tags", "is not a list of words", 'write ["one", "two"]')
    return shared._replace(
        text=storable_text(_required_text(data, "text", where), f"{where}: text"),
        type=_parse_type(_required_text(data, "type", where), f"{where}: type") if "type" in data else shared.type,
        importance=importance,
        tags=tuple(_parse_list_item(tag, f"{where}: tags") for tag in tags),
        key=_parse_value(_required_text(data, "key", where), f"{where}: key") if "key" in data else shared.key,
    )


def _required_text(data: Mapping[str, object], key: str, where: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        what = "is missing" if value is None else "is not text"
        raise ContextasmError(f"{where}: {key}", what, "give it in quotes")
    return value


def _parse_importance(value: object, where: str) -> float:
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


def _parse_type(word: str, where: str) -> str:
    if not is_type(word):
        raise ContextasmError(where, f"{word!r} can't be a type", "give a word such as fact, without brackets")
    return word


def _parse_value(word: str, where: str) -> str:
    if not is_value(word):
        raise ContextasmError(where, f"{word!r} can't be written in braces", "leave out quotes and braces")
    return word.strip()


def _parse_list_item(word: str, where: str) -> str:
    if "," in word:
        raise ContextasmError(where, f"{word!r} contains a comma", "give the words one by one")
    return _parse_value(word, where)
