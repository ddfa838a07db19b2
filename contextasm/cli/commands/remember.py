"""`ctxasm remember`: one memory, or one from each line of standard input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.output import format_json, read_stdin, write_stdout
from contextasm.cli.owner import (
    AgentOption,
    DateOption,
    Owner,
    OwnerOptions,
    QuietOption,
    TeamOption,
    WorkspaceOption,
    ZoneOption,
    find_owner,
    storable_text,
)
from contextasm.config.values import require_known
from contextasm.model import ContextasmError
from contextasm.text.memory_parser import CONFIDENCE, IMPORTANCE
from contextasm.text.memory_writer import is_type, is_value
from contextasm.workspace.editing.remember import NewMemory

if TYPE_CHECKING:
    from contextasm.workspace.editing.remember import MemoryPlace, RememberOutcome


def run(
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="What to remember; - reads standard input, a text or JSON object a line."),
    ],
    agent: AgentOption = None,
    team: TeamOption = None,
    kind: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="What kind of memory it is; note.")] = None,
    importance: Annotated[
        str | None, typer.Option(metavar="X", help="0 to 1, or low, medium, high, critical; the file's, or 0.5.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="A tag; repeatable.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="What it is about, for memories of one key.")] = None,
    supersedes: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A memory that no longer holds; repeatable.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write to this list of the workspace; else memories/YYYY-MM.md.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Store it even if a memory says the same.")] = False,
    date: DateOption = None,
    tz: ZoneOption = None,
    json: Annotated[bool, typer.Option("--json", help="What was done, as JSON.")] = False,
    quiet: QuietOption = False,
    workspace: WorkspaceOption = None,
) -> int:
    """Add a memory to the owner's list of the month.

    Where a memory in force says the same already, in nearly the same letters, that one is reinforced instead: its
    importance goes up by 0.1. What was done is said on standard output, a line for each memory.
    """
    pass
    from contextasm.workspace.editing.remember import remember

    plain = read_entries(kind, importance, tag or (), key, supersedes or ())
    found = parse_entries(read_stdin("-", "memories") if text == "-" else None, text, plain)
    owner = find_owner(OwnerOptions(agent, team, workspace, date, tz), needed=file is None)
    done = remember(owner.workspace, _place(owner, file), found, owner.day, force=force)
    if json:
        write_stdout(format_json({"schema": "ctxasm.remembered/1", "memories": [_data(each) for each in done]}))
    elif not quiet:
        write_stdout("".join(f"{_line(each)}\n" for each in done))
    return 0


def _place(owner: Owner, file: str | None) -> MemoryPlace:
    """Where to write, and what to compare with. Raises `ContextasmError` for a file that is not the owner's."""
    from contextasm.config.values import parse_inner_paths
    from contextasm.model import ContextasmError
    from contextasm.workspace.editing.remember import MemoryPlace

    if file is None:
        folder = f"{owner.path}/memories"
        return MemoryPlace(folder, f"{folder}/{owner.day:%Y-%m}.md")
    (path,) = parse_inner_paths(owner.workspace.relative(file), "--file")
    if Path(path).suffix != ".md" or any(part.startswith(".") for part in path.split("/")):
        raise ContextasmError("--file", f"{file} is no list of memories", "name a file that ends in .md")
    if owner.path and not path.startswith(f"{owner.path}/"):
        raise ContextasmError("--file", f"{path} is not in {owner.path}/", "leave out -a and -t, or name another file")
    return MemoryPlace(path.rpartition("/")[0], path)


def _line(done: RememberOutcome) -> str:
    """What was done, for a person."""
    memory = done.memory
    line = f"{done.what} {memory.id} {memory.path}:{memory.line}"
    if done.what == "stored":
        return line
    return f"{line} (importance now {memory.importance:g}; {done.alike:.0%} alike; --force stores it all the same)"


def _data(done: RememberOutcome) -> dict[str, object]:
    """What was done, for a program."""
    memory = done.memory
    return {
        "outcome": done.what,
        "id": memory.id,
        "path": memory.path,
        "line": memory.line,
        "importance": memory.importance,
        "alike": round(done.alike, 4),
    }


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
