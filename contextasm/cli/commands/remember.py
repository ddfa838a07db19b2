"""`ctxasm remember`: add one memory, or one from each line of standard input."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.options import Receipt
from contextasm.cli.output import read_stdin, show_problems
from contextasm.cli.owner import OWNER_AND_DAY, recover_first
from contextasm.config.input.options import Flag, Options, Text, Texts
from contextasm.config.resolve import process_environment
from contextasm.memories.additions import NewMemoryReader, read_cites, shared_fields, type_problems
from contextasm.memories.owner import find_owner, place_for_memories
from contextasm.memories.storage import storage_of
from contextasm.rendering.json_codec import Positive, Share
from contextasm.workspace.storage import RememberOutcome


class RememberedData(TypedDict):
    """One memory."""

    outcome: Literal["stored", "reinforced"]
    """Whether it is new, or reinforced another."""
    id: str
    """The id of the memory that holds it."""
    path: str
    """The file, relative to the workspace."""
    line: Positive
    """The line at which its text begins."""
    importance: Share
    """The importance it has now."""
    alike: Share
    """The similarity to the memory that it reinforced; 1 if it was stored."""
    left_out: list[str]
    """Fields, as name=value, that the reinforced memory has another value for."""


class RememberedDocument(TypedDict):
    """The outcome of each memory, as `ctxasm remember --json` prints it."""

    schema: Literal["ctxasm.remembered/1"]
    memories: list[RememberedData]
    """Every memory, as given."""


def add_memories(
    options: Options,
    *,
    text: Annotated[str, Argument("TEXT", "The memory (`-` reads standard input, one text or JSON object per line).")],
    kind: Annotated[Text, Flag("The type (default: note).", "TYPE", "--type")] = None,
    importance: Annotated[
        Text, Flag("0 to 1, or low, medium, high, critical (default: that of the file, or 0.5).", "X")
    ] = None,
    tag: Annotated[Texts, Flag("A tag; repeatable.", "TAG")] = (),
    key: Annotated[Text, Flag("The subject; memories about the same subject share a key.", "KEY")] = None,
    supersedes: Annotated[Texts, Flag("A memory that this one replaces; repeatable.", "ID", completed="memory")] = (),
    valid_from: Annotated[Text, Flag("The first day on which the memory is shown.", "YYYY-MM-DD")] = None,
    expires: Annotated[Text, Flag("The last day on which the memory is shown.", "YYYY-MM-DD")] = None,
    repositories: Annotated[Texts, Flag("A repository that the memory is about; repeatable.", "GLOB")] = (),
    cites: Annotated[Texts, Flag("Lines of a file that prove the memory; repeatable.", "FILE:FIRST-LAST")] = (),
    file: Annotated[Text, Flag("Write to this file (default: the owner's file for this month).", "FILE")] = None,
    force: Annotated[bool, Flag("Store the memory even if another memory says the same.")] = False,
    receipt: Receipt,
) -> None:
    """Add a memory to the owner's file for this month.

    If an active memory says nearly the same, that memory is reinforced instead: its importance goes up by 0.1. It also
    gets the new tags, and the new key and type if it has none. Prints one line for each memory.
    """
    receipt.require_stdout()
    named = {"type": kind or "note", "importance": importance, "key": key, "supersedes": supersedes}
    named |= {"valid_from": valid_from, "expires": expires, "repositories": repositories}
    given = {name: (f"--{name.replace('_', '-')}", value) for name, value in named.items()} | {"tags": ("--tag", tag)}
    reader = NewMemoryReader(shared_fields(given))
    memories = reader.from_lines(read_stdin("-", "memories")) if text == "-" else [reader.from_text(text, "TEXT")]
    show_problems(reader.problems)
    process = process_environment()
    owner = find_owner(options, process, needed=file is None)
    recover_first(owner.workspace)
    memories = [memory._replace(cites=read_cites(cites, owner.workspace, "--cites")) for memory in memories]
    place = place_for_memories(owner, file, process)
    show_problems([*type_problems(owner.workspace, place.folder, kind or "note")])
    outcomes = storage_of(owner.workspace, place.path).remember(place, memories, owner.day, force=force)
    receipt.write(RememberedDocument, {"memories": [*map(_outcome_data, outcomes)]}, map(_outcome_line, outcomes))


run = Command(add_memories, OWNER_AND_DAY)


def _outcome_line(outcome: RememberOutcome) -> str:
    memory = outcome.memory
    line = f"{outcome.what} {memory.id} {memory.path}:{memory.line}"
    if outcome.what == "stored":
        return line
    unmerged = "".join(f"; left out {field}" for field in outcome.unmerged)
    alike = f"{outcome.alike:.0%} alike{unmerged}"
    return f"{line} (importance now {memory.importance:g}; {alike}; --force stores it anyway)"


def _outcome_data(outcome: RememberOutcome) -> dict[str, object]:
    """An outcome, with what `RememberedData` has of it."""
    more = {"outcome": outcome.what, "alike": round(outcome.alike, 4), "left_out": outcome.unmerged}
    return outcome.memory._asdict() | more
