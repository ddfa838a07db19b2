"""`ctxasm remember`: one memory, or one from each line of standard input."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import format_json, read_stdin, write_stdout
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
)

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
    from contextasm.cli.memory_input import parse_entries, read_entries
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
