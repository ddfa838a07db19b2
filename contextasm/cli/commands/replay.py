"""`ctxasm replay`: a recorded build again, to the same bytes, or the inputs that changed.

What other commands do with a record they do with `open_record`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from contextasm.cli.output import write_stderr, write_stdout

if TYPE_CHECKING:
    from contextasm.config.options import ProcessEnvironment
    from contextasm.records.record import Record
    from contextasm.records.replay import Replay


def run(
    record: Annotated[str, typer.Argument(metavar="RECORD", help="Its file, or the first digits of its id.")],
    *,
    workspace: Annotated[
        str | None, typer.Option("--workspace", "-w", metavar="DIR", help="The workspace; else the record's own.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing but errors on standard error.")] = False,
) -> int:
    """Build again what a record tells of, and write it to standard output if it is the same, byte for byte.

    Inputs that were stored with the record are taken from there, all others from the workspace. Where the bytes
    differ nothing is written, each changed input is named, and the exit code is 1.
    """
    from contextasm.config.resolve import process_environment
    from contextasm.rendering.formats import FORMATS

    own = open_record(record, workspace, process_environment())
    done = replay_record(own)
    if not done.context or not done.same:
        return show_differences(own, done)
    if not quiet:
        for change in done.changes:
            write_stderr(f"ctxasm: note: {change.path}: {change.kind}, but the bytes are the same")
        source = "the stored inputs" if done.stored else "the workspace"
        write_stderr(f"same {len(done.context.text.encode()):,} bytes from {source}; etag {done.context.etag}")
    write_stdout(FORMATS[done.context.request.format](done.context))
    return 0


class OpenedRecord(NamedTuple):
    """A record that was found and read."""

    path: Path
    record: Record
    root: Path | None
    """The workspace that it belongs to; None where none was found."""


def open_record(name: str, workspace: str | None, around: ProcessEnvironment) -> OpenedRecord:
    """The record that a path or the first digits of an id mean. Raises `ContextasmError` if there is none."""
    found = find_opened_record(name, workspace, around)
    if found:
        return found
    from contextasm.model import ContextasmError

    hint = "give its file, or the first digits of its id; `ctxasm build --record` writes one"
    raise ContextasmError(name, "no such record", hint)


def find_opened_record(name: str, workspace: str | None, around: ProcessEnvironment) -> OpenedRecord | None:
    """The same, but None where there is no such record."""
    from contextasm.config.options import Options
    from contextasm.config.resolve import open_workspace
    from contextasm.model import ContextasmError
    from contextasm.records.replay import FOLDER, find_record, load_record

    try:
        root = Path(open_workspace(Options(workspace=workspace), around).root)
    except ContextasmError:
        if workspace:
            raise
        root = None
    path = find_record(name, root, around.folder)
    if path is None:
        return None
    home = path.absolute().parent.parent
    if not workspace and home.name == FOLDER:
        root = home.parent
    return OpenedRecord(path, load_record(path), root)


def replay_record(own: OpenedRecord) -> Replay:
    """Build a record again. Raises `ContextasmError` where nothing is there to build it from."""
    from contextasm.config.build import load_counter
    from contextasm.config.resolve import process_environment
    from contextasm.model import ContextasmError
    from contextasm.records.replay import replay, stored
    from contextasm.workspace.folder import Folder
    from contextasm.workspace.snapshot import SnapshotWorkspace

    counter, counts = load_counter(own.record.request.tokenizer, process_environment().environment)
    inputs = stored(own.record, own.path)
    if inputs is None and own.root is None:
        hint = "name the workspace with -w DIR"
        raise ContextasmError(str(own.path), "its inputs are not stored, and there is no workspace here", hint)
    if inputs is not None:
        done = replay(own.record, SnapshotWorkspace(own.record.lists, inputs), counter)._replace(stored=True)
    else:
        assert own.root
        done = replay(own.record, Folder(own.root), counter)
    if counts:
        counts.save()
    return done


def show_differences(own: OpenedRecord, done: Replay) -> int:
    """Tell which inputs changed; the exit code."""
    from contextasm import __version__

    for change in done.changes:
        write_stderr(f"{change.path}: {change.kind}")
    count = len(done.changes)
    if count:
        what = f"{count} input{'s' * (count != 1)} changed since: `ctxasm diff {own.path.stem}` shows what came of it"
    else:
        version = dict(own.record.making.versions).get("ctxasm", "unknown")
        what = f"the inputs are the same, but ctxasm {version} wrote it and this is {__version__}: use that version"
    write_stderr(f"ctxasm: error: {own.path}: can't be replayed to the same bytes: {what}")
    return 1
