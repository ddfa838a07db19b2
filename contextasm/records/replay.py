"""Records on disk, under `.ctxasm/` of a workspace: saved, found, read, and built again to the same bytes.

`records/ID.json` are the records; `inputs/SHA256` are the bytes of inputs, stored once for all records that name them.
Nothing outside of `.ctxasm/` is written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from contextasm import __version__
from contextasm.config.settings import Setting
from contextasm.config.yaml_loader import load_yaml
from contextasm.model import (
    Build,
    Context,
    ContextasmError,
    Document,
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
from contextasm.workspace.recording import Read
from contextasm.workspace.snapshot import ChangedInput, changed_inputs

FOLDER = ".ctxasm"

_MIN_DIGITS = 4
"""Least number of digits of an id that name a record."""


def build_facts(
    counter: TokenCounter, settings: Mapping[str, Setting], profile: Profile, fired: RuleEvaluation | None = None
) -> BuildFacts:
    """Settings, profile and rules of a build, and the versions of the programs that its bytes depend on."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    encoding = ENCODINGS.get(counter.name)
    versions = {"ctxasm": __version__, "python": platform.python_version()}
    for package in ("regex", "tiktoken") if encoding else ("regex",):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "unknown"
    return BuildFacts(
        versions=tuple(versions.items()),
        table=encoding.sha256 if encoding else "",
        settings=tuple(Chosen(key, setting.words, setting.origin) for key, setting in settings.items()),
        profile=profile,
        fired=fired,
    )


def save_record(root: Path, record: Record, documents: Mapping[str, Read]) -> Path:
    """Write a record of the workspace at `root`, and the bytes of `documents`; gives the record's path.

    Raises `ContextasmError` where the workspace can't be written to.
    """
    record_id, data = encode_record(record)
    for read in documents.values():
        if isinstance(read, Document):
            _write_below(root, "inputs", read.digest, read.data)
    return _write_below(root, "records", f"{record_id}.json", data)


def _write_below(root: Path, subfolder: str, name: str, data: bytes) -> Path:
    """Write a file under `.ctxasm/`; gives its path. A `.gitignore` there has git leave the folder alone."""
    folder = root / FOLDER
    path = folder / subfolder / name
    try:
        folder.mkdir(mode=0o755, exist_ok=True)
        _refuse_link(folder, root)
        ignore = folder / ".gitignore"
        if not os.path.lexists(ignore):
            write(ignore, b"*\n")
        path.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        hint = "make the workspace writable, or build without --record"
        raise ContextasmError(str(folder), f"can't be made: {error.strerror}", hint) from error
    _refuse_link(path, root)
    write(path, data)
    return path


def _refuse_link(path: Path, root: Path) -> None:
    if os.path.realpath(path) != os.path.join(os.path.realpath(root), path.relative_to(root)):
        raise ContextasmError(str(path), "leads elsewhere through a link", "take the link away")


def find_record(name: str, root: Path | None, folder: Path) -> Path | None:
    """The file of the record `name`: a path from `folder`, or the first digits of an id; None if there is none.

    Raises `ContextasmError` where several ids begin with the digits.
    """
    path = folder / name
    if path.is_file():
        return path
    if root is None or len(name) < _MIN_DIGITS or set(name) - set("0123456789abcdef"):
        return None
    paths = sorted((root / FOLDER / "records").glob(f"{name}*.json"))
    if len(paths) > 1:
        ids = ", ".join(path.stem for path in paths[:5])
        raise ContextasmError(name, f"begins {len(paths)} records", f"give more digits: {ids}")
    return paths[0] if paths else None


def load_record(path: Path) -> Record:
    """The record in a file. Raises `ContextasmError` for an unreadable file, and for one that is no record."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ContextasmError(str(path), f"can't be read: {error.strerror}", "name a record") from error
    return parse_record(data, str(path))


class Replay(NamedTuple):
    """Result of building a record again."""

    context: Context | None
    """None where the build failed."""
    same: bool
    """Whether the content is the same, byte for byte."""
    changes: tuple[ChangedInput, ...]
    """The inputs that differ from the recorded ones."""
    workspace: Workspace
    """The workspace that the files were read from."""
    stored: bool = False
    """Whether the files were those stored with the record, and not those of the workspace now."""


def replay(record: Record, workspace: Workspace, counter: TokenCounter) -> Replay:
    """Build a record again from the files of a workspace, and everything else from the record.

    Raises `ContextasmError` where the build fails although no file changed.
    """
    changes, recording = changed_inputs(record.lists, record.digests, workspace)
    try:
        context = assemble(
            Build(
                recording,
                record.making.profile,
                record.request,
                counter,
                rules=record.making.fired,
                parse_yaml=load_yaml,
            )
        )
    except ContextasmError:
        if not changes:
            raise
        return Replay(None, False, changes, recording)
    return Replay(context, context.etag == record.etag, changes, recording)


def stored_inputs(record: Record, path: Path) -> Mapping[str, Read] | None:
    """Results of reading each path, made of the bytes that are stored beside the record at `path`.

    None where the bytes of any input are missing. Raises `ContextasmError` for damaged bytes.
    """
    folder = path.absolute().parent.parent / "inputs"
    reads: dict[str, Read] = dict.fromkeys(record.absent)
    reads |= {problem.path: problem for problem in record.unreadable}
    for recorded in record.inputs:
        file = folder / Path(recorded.sha256).name
        try:
            data = file.read_bytes()
        except OSError:
            return None
        if sha256(data).hexdigest() != recorded.sha256:
            raise ContextasmError(str(file), "is damaged", "remove it; the input is then read from the workspace")
        reads[recorded.path] = decode_document(recorded.path, data)
    return reads
