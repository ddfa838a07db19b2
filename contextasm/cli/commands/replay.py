"""`ctxasm replay`: a recorded build again, to the same bytes, or the inputs that changed.

What other commands do with a record they do with `opened`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from contextasm.cli.options import say, tell

if TYPE_CHECKING:
    from contextasm.config.resolve import Surroundings
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
    from contextasm.config.resolve import surroundings
    from contextasm.rendering.formats import FORMATS

    own = opened(record, workspace, surroundings())
    done = again(own)
    if not done.context or not done.same:
        return differs(own, done)
    if not quiet:
        for change in done.changes:
            tell(f"ctxasm: note: {change.path}: {change.kind}, but the bytes are the same")
        source = "the stored inputs" if done.stored else "the workspace"
        tell(f"same {len(done.context.text.encode()):,} bytes from {source}; etag {done.context.etag}")
    say(FORMATS[done.context.request.format](done.context))
    return 0


class Opened(NamedTuple):
    """A record that was found and read."""

    path: Path
    record: Record
    root: Path | None
    """The workspace that it belongs to; None where none was found."""


def opened(name: str, workspace: str | None, around: Surroundings) -> Opened:
    """The record that a path or the first digits of an id mean. Raises `ContextasmError` if there is none."""
    found = sought(name, workspace, around)
    if found:
        return found
    from contextasm.model import ContextasmError

    todo = "give its file, or the first digits of its id; `ctxasm build --record` writes one"
    raise ContextasmError(name, "no such record", todo)


def sought(name: str, workspace: str | None, around: Surroundings) -> Opened | None:
    """The same, but None where there is no such record."""
    from contextasm.config.resolve import Flags, open_workspace
    from contextasm.model import ContextasmError
    from contextasm.records.replay import FOLDER, find, load

    try:
        root = Path(open_workspace(Flags(workspace=workspace), around).root)
    except ContextasmError:
        if workspace:
            raise
        root = None
    path = find(name, root, around.folder)
    if path is None:
        return None
    home = path.absolute().parent.parent
    if not workspace and home.name == FOLDER:
        root = home.parent
    return Opened(path, load(path), root)


def again(own: Opened) -> Replay:
    """Build a record again. Raises `ContextasmError` where nothing is there to build it from."""
    from contextasm.config.resolve import counting, surroundings
    from contextasm.model import ContextasmError
    from contextasm.records.replay import replay, stored
    from contextasm.workspace.folder import Folder
    from contextasm.workspace.snapshot import Recalled

    counter, counts = counting(own.record.request.tokenizer, surroundings().environment)
    inputs = stored(own.record, own.path)
    if inputs is None and own.root is None:
        todo = "name the workspace with -w DIR"
        raise ContextasmError(str(own.path), "its inputs are not stored, and there is no workspace here", todo)
    if inputs is not None:
        done = replay(own.record, Recalled(own.record.lists, inputs), counter)._replace(stored=True)
    else:
        assert own.root
        done = replay(own.record, Folder(own.root), counter)
    if counts:
        counts.save()
    return done


def differs(own: Opened, done: Replay) -> int:
    """Tell which inputs changed; the exit code."""
    from contextasm import __version__

    for change in done.changes:
        tell(f"{change.path}: {change.kind}")
    count = len(done.changes)
    if count:
        what = f"{count} input{'s' * (count != 1)} changed since: `ctxasm diff {own.path.stem}` shows what came of it"
    else:
        version = dict(own.record.making.versions).get("ctxasm", "unknown")
        what = f"the inputs are the same, but ctxasm {version} wrote it and this is {__version__}: use that version"
    tell(f"ctxasm: error: {own.path}: can't be replayed to the same bytes: {what}")
    return 1
