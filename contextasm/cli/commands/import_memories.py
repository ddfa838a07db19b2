"""`ctxasm import`: add the memories that another program has stored."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Literal, TypedDict

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.options import Receipt, refuse_given
from contextasm.cli.output import format_json, read_stdin, show_problems
from contextasm.cli.owner import OWNER, recover_first, refuse_outputs
from contextasm.config.input.options import Flag, Options, Text
from contextasm.config.input.values import require_known
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.config.resolve import process_environment
from contextasm.memories.owner import Owner, find_owner, place_for_memories
from contextasm.memories.storage import storage_of
from contextasm.model import ContextasmError, Document, Problem, grouped
from contextasm.rendering.json_codec import Count, Digest
from contextasm.text.exchange.entry import CheckedEntries, LeftOutPart, SourceFile, checked_entries
from contextasm.text.exchange.formats import IMPORT_FORMATS
from contextasm.text.names.matching import list_names
from contextasm.upkeep.archive import archived_memory_ids
from contextasm.workspace.atomic import as_bytes, refuse_unwritable, write
from contextasm.workspace.exchange_files import read_import_files, source_file
from contextasm.workspace.folder import Folder
from contextasm.workspace.outputs import OutputFile, current_bytes, file_identity
from contextasm.workspace.storage import ImportOutcome, MemoryPlace, Outcome

MAX_LISTED = 20
"""Number of entries of one kind that are listed one by one."""

WORDS: Mapping[Outcome, str] = {
    "added": "added",
    "changed": "changed",
    "differs": "left although they differ",
    "left": "left as they are",
    "archived": "left in the archive",
}
"""Outcomes in the words of the receipt."""


class ImportedDocument(TypedDict):
    """The outcome of each entry, as `ctxasm import --json` prints it."""

    schema: Literal["ctxasm.imported/1"]
    dry_run: bool
    """Whether nothing was written."""
    added: Count
    """How many entries are new memories."""
    changed: Count
    """How many memories were changed."""
    differs: Count
    """How many were left although they differ."""
    left: Count
    """How many were left as they are."""
    archived: Count
    """How many were left in the archive, which their memories have left for."""
    files: dict[str, Digest]
    """The files that were read, each with the SHA-256 of its bytes."""
    stored: dict[str, Digest]
    """The files of these memories, likewise, as they are afterwards."""
    memories: list[ImportOutcome]
    """Every entry, in order."""
    problems: list[Problem]
    """What was wrong with entries."""
    left_out: list[LeftOutPart]
    """Parts of the files that are in no memory."""


def import_memories(
    options: Options,
    *,
    source: Annotated[str, Argument("FROM", f"The format: {list_names(IMPORT_FORMATS)}.")],
    path: Annotated[str, Argument("PATH", "The file, or the folder of memories (`-` reads standard input).")],
    file: Annotated[Text, Flag("Write to this file (default: memories/imported-FROM.md of the owner).", "FILE")] = None,
    update: Annotated[bool, Flag("Change stored memories that differ from the imported ones.")] = False,
    dry_run: Annotated[bool, Flag("Show what would be done, and write nothing.")] = False,
    receipt_file: Annotated[Text, Flag("Write the output of --json to this file.", "FILE", "--receipt")] = None,
    receipt: Receipt,
) -> None:
    """Import the memories of another program for an agent or a team, with their ids, dates and states.

    Ids identify memories, so importing a file again adds nothing. An existing memory is not changed. A difference is
    reported, and --update applies it. An archived memory stays in the archive. Hidden characters are removed and
    secrets are masked; each one is reported.
    """
    receipt.require_stdout()
    files = _read_files(source, path)
    checked = _checked_entries(source, path, files)
    owner = find_owner(options, process_environment(), reads_memories=dry_run)
    show_problems(owner.problems)
    place = _import_place(owner, file, source)
    others = [*files, f"{owner.workspace.root}/{place.path}"]
    target = _receipt_target(receipt_file, others, owner.workspace, options) if receipt_file is not None else None
    if dry_run:
        refuse_given({"--receipt": receipt_file}, "--dry-run", "--json prints it")
    else:
        recover_first(owner.workspace)
    storage = storage_of(owner.workspace, place.path)
    outcomes = storage.import_entries(place, checked.entries, update=update, dry_run=dry_run)
    data = _receipt_data(outcomes, checked, dry_run=dry_run) | _digests(files, outcomes, owner.workspace)
    if target:
        _write_receipt(target, format_json(ImportedDocument, data))
    receipt.write(ImportedDocument, data, _receipt_lines(outcomes, checked.left_out, update=update, dry_run=dry_run))
    show_problems(checked.problems, rest="--json lists all")


run = Command(import_memories, OWNER)


def _read_files(source: str, path: str) -> Mapping[str, SourceFile]:
    """The files to import, by their paths. Raises `ContextasmError` for an unknown format."""
    folder_files = IMPORT_FORMATS[require_known(source, IMPORT_FORMATS, "FROM", "format")][1]
    if path == "-":
        return {path: source_file("standard input", as_bytes(read_stdin("-", "memories")))}
    return {file.name: file for file in read_import_files(path, folder_files)}


def _checked_entries(source: str, path: str, files: Mapping[str, SourceFile]) -> CheckedEntries:
    """The entries of the files, checked. Raises `ContextasmError` for broken input, and if there is no entry."""
    if not (filled := [file for file in files.values() if file.text.strip()]):
        raise ContextasmError(next(iter(files.values())).name, "is empty", "name a file with memories")
    checked = checked_entries(IMPORT_FORMATS[source][0](filled, load_yaml))
    if not checked.entries:
        raise ContextasmError(path, "holds no memory", "name another file, or choose the format of this file")
    return checked


def _import_place(owner: Owner, file: str | None, source: str) -> MemoryPlace:
    """The place for new memories: the file that was named, or one for the format in the folder of the owner."""
    place = place_for_memories(owner, file, process_environment())
    if file is None and place.folder:
        place = place._replace(path=f"{place.folder}/imported-{source}.md")
    return place._replace(archived_ids=archived_memory_ids(owner.workspace, place.folder))


def _receipt_target(path: str, others: Iterable[str], workspace: Folder, options: Options) -> OutputFile:
    """The file that `--receipt` names.

    Raises `ContextasmError` for standard output, for a file that the import reads or writes, for one that a build could
    read, and for one that can't be written.
    """
    target = OutputFile.named("receipt", path)
    if target.identity in {file_identity(os.path.abspath(other)) for other in others}:
        raise ContextasmError(f"--receipt {path}", "the import reads or writes this file", "name another file")
    refuse_outputs([target], workspace, options)
    refuse_unwritable(target.path)
    if (old := current_bytes(target.path)) and b'"ctxasm.imported/' not in old:
        raise ContextasmError(f"--receipt {path}", "exists, but is not a receipt", "name another file")
    return target


def _write_receipt(target: OutputFile, text: str) -> None:
    try:
        write(target.path, as_bytes(text))
    except ContextasmError as error:
        raise ContextasmError(error.where, f"{error.what}; the memories are stored", error.hint) from error


def _receipt_lines(
    outcomes: Sequence[ImportOutcome], left_out: Sequence[LeftOutPart], *, update: bool, dry_run: bool
) -> Iterator[str]:
    """The number of entries of each outcome, then what a person may want to look at."""
    counts = Counter(outcome.outcome for outcome in outcomes)
    places = dict.fromkeys(outcome.path for outcome in outcomes if outcome.outcome == "added")
    target = f" to {', '.join(places)}" if places else ""
    parts = [f"{counts[what]:,} {words}{target if what == 'added' else ''}" for what, words in WORDS.items()]
    told = [part for part, what in zip(parts, WORDS, strict=True) if counts[what] or what == "added"]
    yield f"{'would be: ' if dry_run else ''}{'; '.join(told)}"
    hint = "" if update else " (--update applies it)"
    listed = [(each, f"{each.outcome} {each.id} {each.path}:{each.line}") for each in outcomes]
    yield from _listed([f"{place}: {', '.join(each.differing)}{hint}" for each, place in listed if each.differing])
    yield from _listed([f"{place}: says the same as {each.alike}" for each, place in listed if each.alike])
    yield from _listed([*_left_out_lines(left_out)])


def _listed(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MAX_LISTED]
    if len(lines) > MAX_LISTED:
        yield f"... and {len(lines) - MAX_LISTED:,} more (--json lists all)"


def _left_out_lines(left_out: Sequence[LeftOutPart]) -> Iterator[str]:
    """A line for each kind of what is in no memory, with the first place of it."""
    places = grouped((part.what, part.where) for part in left_out)
    for what, (first, *others) in places.items():
        yield f"left out {first}: {what}" + (f", and {len(others):,} more" if others else "")


def _receipt_data(outcomes: Sequence[ImportOutcome], checked: CheckedEntries, *, dry_run: bool) -> dict[str, object]:
    """The receipt, with what `ImportedDocument` has of it, but for the digests of files."""
    counts = Counter(outcome.outcome for outcome in outcomes)
    numbers = {what: counts[what] for what in WORDS}
    memories = [
        outcome._replace(sources=checked.places[entry.id], digest=sha256(entry.text.encode()).hexdigest())
        for outcome, entry in zip(outcomes, checked.entries, strict=True)
    ]
    return checked._asdict() | numbers | {"dry_run": dry_run, "memories": memories}


def _digests(
    files: Mapping[str, SourceFile], outcomes: Sequence[ImportOutcome], workspace: Folder
) -> dict[str, Mapping[str, str]]:
    """The digests of the files that were read, and of those that hold the memories."""
    stored = {path: workspace.read(path) for path in dict.fromkeys(each.path for each in outcomes if each.line)}
    documents = {path: read.digest for path, read in stored.items() if isinstance(read, Document)}
    return {"files": {file.name: file.digest for file in files.values()}, "stored": documents}
