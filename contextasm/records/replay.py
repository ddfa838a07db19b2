"""Records on disk, under `.ctxasm/` of a workspace: kept, found again, and built again to the same bytes.

`records/ID.json` are the records; `inputs/SHA256` are the bytes of inputs, each once however many records name it.
Only what is under `.ctxasm/` is ever written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from contextasm import __version__
from contextasm.config.settings import Setting
from contextasm.config.yaml_events import load_values
from contextasm.model import (
    Build,
    Context,
    ContextasmError,
    Document,
    Problem,
    Profile,
    RuleEvaluation,
    TokenCounter,
    Workspace,
)
from contextasm.pipeline import assemble
from contextasm.records.record import BuildFacts, Chosen, Record, encode_record, parse_record
from contextasm.selection.tokens import ENCODINGS
from contextasm.text.decode import decode_document
from contextasm.workspace.atomic import write
from contextasm.workspace.snapshot import ChangedInput, Read, changed_inputs

FOLDER = ".ctxasm"

_LEAST = 4
"""Digits of a record's id that are enough to name it."""


def build_facts(
    counter: TokenCounter, settings: Mapping[str, Setting], profile: Profile, fired: RuleEvaluation | None = None
) -> BuildFacts:
    """What a build is made with besides its request: the versions of what counts and cuts among it."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    encoding = ENCODINGS.get(counter.name)
    versions = {"ctxasm": __version__, "python": platform.python_version()}
    for part in ("regex", "tiktoken") if encoding else ("regex",):
        try:
            versions[part] = version(part)
        except PackageNotFoundError:
            versions[part] = "unknown"
    return BuildFacts(
        versions=tuple(versions.items()),
        table=encoding.sha256 if encoding else "",
        settings=tuple(Chosen(key, setting.words, setting.origin) for key, setting in settings.items()),
        profile=profile,
        fired=fired,
    )


def save_record(root: Path, record: Record, documents: Mapping[str, Read]) -> Path:
    """Write a record of the workspace at `root`, and the bytes of `documents`; its path.

    Raises `ContextasmError` where the workspace can't be written to.
    """
    name, data = encode_record(record)
    for read in documents.values():
        if isinstance(read, Document):
            _put(root, "inputs", read.digest, read.data)
    return _put(root, "records", f"{name}.json", data)


def _put(root: Path, kind: str, name: str, data: bytes) -> Path:
    """Write a file under `.ctxasm/`, which git is told to leave alone when it is made."""
    own = root / FOLDER
    path = own / kind / name
    try:
        own.mkdir(mode=0o755, exist_ok=True)
        ignore = own / ".gitignore"
        if not os.path.lexists(ignore):
            write(ignore, b"*\n")
        path.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        hint = "make the workspace writable, or build without --record"
        raise ContextasmError(str(own), f"can't be made: {error.strerror}", hint) from error
    if os.path.realpath(path) != os.path.join(os.path.realpath(root), FOLDER, kind, name):
        raise ContextasmError(str(path), "leads elsewhere through a link", "take the link away")
    write(path, data)
    return path


def find_record(name: str, root: Path | None, folder: Path) -> Path | None:
    """The file of a record, given as a path from `folder` or as the first digits of an id; None if there is none.

    Raises `ContextasmError` where the digits begin several.
    """
    path = folder / name
    if path.is_file():
        return path
    if root is None or len(name) < _LEAST or set(name) - set("0123456789abcdef"):
        return None
    found = sorted((root / FOLDER / "records").glob(f"{name}*.json"))
    if len(found) > 1:
        which = ", ".join(each.stem for each in found[:5])
        raise ContextasmError(name, f"begins {len(found)} records", f"give more digits: {which}")
    return found[0] if found else None


def load_record(path: Path) -> Record:
    """The record in a file. Raises `ContextasmError` for one that can't be read and for anything else."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ContextasmError(str(path), f"can't be read: {error.strerror}", "name a record") from error
    return parse_record(data, str(path))


class Replay(NamedTuple):
    """What building again came to."""

    context: Context | None
    """None where it could not be built any more."""
    same: bool
    """Whether the content is the same, byte for byte."""
    changes: tuple[ChangedInput, ...]
    """The inputs that are not what they were."""
    workspace: Workspace
    """What it was built from."""
    stored: bool = False
    """Whether that were the inputs stored with the record, whatever the workspace holds now."""


def replay(record: Record, workspace: Workspace, counter: TokenCounter) -> Replay:
    """Build again from a workspace, with everything but its files as it was.

    Raises `ContextasmError` where that can't be done although no file changed.
    """
    found, source = changed_inputs(record.lists, record.digests, workspace)
    try:
        context = assemble(
            Build(
                source,
                record.making.profile,
                record.request,
                counter,
                rules=record.making.fired,
                parse_yaml=load_values,
            )
        )
    except ContextasmError:
        if not found:
            raise
        return Replay(None, False, found, source)
    return Replay(context, context.etag == record.etag, found, source)


def stored(record: Record, path: Path) -> Mapping[str, Read] | None:
    """What reading each path came to, from the bytes stored beside the record at `path`.

    None where those of any input are not there. Raises `ContextasmError` for damaged ones.
    """
    folder = path.absolute().parent.parent / "inputs"
    reads: dict[str, Document | Problem | None] = dict.fromkeys(record.absent)
    reads |= {each.path: each for each in record.unreadable}
    for each in record.inputs:
        file = folder / Path(each.sha256).name
        try:
            data = file.read_bytes()
        except OSError:
            return None
        if sha256(data).hexdigest() != each.sha256:
            raise ContextasmError(str(file), "is damaged", "remove it; the input is then read from the workspace")
        reads[each.path] = decode_document(each.path, data)
    return reads
