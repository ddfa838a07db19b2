"""Records on disk, under `.ctxasm/` of a workspace: saved, found, read, and built again to the same bytes.

`records/ID.json` are the records; `inputs/SHA256` are the bytes of inputs, stored once for all records that name them.
Nothing outside of `.ctxasm/` is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from contextasm import __version__, model
from contextasm.config.build import PreparedBuild
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import NamedTuple
from contextasm.pipeline import assemble
from contextasm.records import record as records
from contextasm.rendering.formats import format_context
from contextasm.selection.tokens import ENCODINGS
from contextasm.text.cleaning.clean import decode_document
from contextasm.workspace.atomic import STATE_FOLDER, remove_empty_folder, state_folder, write
from contextasm.workspace.folder import Folder
from contextasm.workspace.reading import file_bytes, required_bytes
from contextasm.workspace.recording import ChangedInput, Read, changed_inputs, drift

_MIN_DIGITS = 4
"""Least number of digits of an id that name a record."""


def build_facts(prepared: PreparedBuild) -> records.BuildFacts:
    """Settings, options, profile and rules of a build, and the versions of the programs that its bytes depend on."""
    build = prepared.build
    encoding = ENCODINGS.get(build.counter.name)
    return records.BuildFacts(
        versions=tuple(program_versions(build.counter.name).items()),
        table=encoding.sha256 if encoding else "",
        settings=tuple(records.Chosen(key, each.words, each.origin) for key, each in prepared.settings.items()),
        profile=build.profile,
        rule_evaluation=build.rules,
        options=prepared.options._replace(history=None),  # the request has it, as the audience may see it
        config_files=tuple(sorted(prepared.config_digests.items())),
    )


def program_versions(tokenizer: str) -> dict[str, str]:
    """Versions of this program, and of everything else that the bytes of a build may depend on, by name."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    versions = {"ctxasm": __version__, "python": platform.python_version()}
    for package in ("regex", "tiktoken") if tokenizer in ENCODINGS else ("regex",):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "unknown"
    return versions


def save_record(
    prepared: PreparedBuild,
    context: model.Context,
    services: records.RecordingServices,
    documents: Mapping[str, Read],
    session: str = "",
    event: str = "",
) -> Path:
    """Write the record of a build that `services` listened to, and the bytes of `documents`; gives the record's path.

    `session` and `event` are those of a host that is sent the context. Raises `ContextasmError` if the workspace can't
    be written to.
    """
    making = build_facts(prepared)._replace(session=session, event=event)
    record_id, data = records.encode_record(records.make_record(context, making, services.workspace, services.answers))
    root = Path(prepared.workspace.root)
    for read in documents.values():
        if isinstance(read, model.Document):
            _write_below(root, "inputs", read.digest, read.data)
    return _write_below(root, "records", f"{record_id}.json", data)


def _write_below(root: Path, subfolder: str, name: str, data: bytes) -> Path:
    """Write a file under `.ctxasm/`; gives its path. Raises `ContextasmError` if a link is in its place."""
    path = state_folder(root, subfolder) / name
    if os.path.islink(path):
        raise model.ContextasmError(str(path), "is a link", "remove the link")
    remove_empty_folder(path)
    write(path, data)
    return path


def find_record(name: str, root: Path | None, folder: Path) -> Path | None:
    """The file of the record `name`: a path from `folder`, or the first digits of an id; None if it is not found.

    Raises `ContextasmError` if several ids begin with the digits.
    """
    path = folder / name
    if os.path.exists(path) and not os.path.isdir(path):
        return path
    if root is None or len(name) < _MIN_DIGITS or set(name) - set("0123456789abcdef"):
        return None
    paths = record_paths(root, name)
    if len(paths) > 1:
        ids = ", ".join(path.stem for path in paths[:5])
        raise model.ContextasmError(f"record `{name}`", f"matches {len(paths)} records", f"give more digits: {ids}")
    return paths[0] if paths else None


def record_paths(root: Path, digits: str = "") -> list[Path]:
    """The files of a workspace's records whose ids begin with these digits, in the order of their ids."""
    return sorted((root / STATE_FOLDER / "records").glob(f"{digits}*.json"))


def load_record(path: Path) -> records.Record:
    """The record in a file. Raises `ContextasmError` for an unreadable file, and for one that is not a record."""
    return records.parse_record(required_bytes(str(path), "name a record"), str(path))


class Replay(NamedTuple):
    """Result of building a record again."""

    context: model.Context | None
    """None if the build failed."""
    changes: tuple[ChangedInput, ...]
    """The inputs that differ from the recorded ones."""
    workspace: model.Workspace
    """The workspace that the files were read from."""
    differences: tuple[str, ...] = ()
    """Parts of the context that differ from the recorded ones, such as `text` and `decisions`."""
    same_bytes: bool = False
    """Whether the context in the format of the build is the same, byte for byte."""
    stored: bool = False
    """Whether the files stored with the record were read, and not the present ones of the workspace."""

    @property
    def same(self) -> bool:
        """Whether the bytes are the same, and, if no input changed, all else in the record, too."""
        return self.context is not None and (not self.differences or (bool(self.changes) and self.same_bytes))


def replay(record: records.Record, workspace: model.Workspace, counter: model.TokenCounter) -> Replay:
    """Build a record again from the files of a workspace, and everything else from the record.

    Raises `ContextasmError` if the build fails although no file changed.
    """
    changes, recording = changed_inputs(dict(record.listings), record.digests, workspace)
    try:
        build = model.Build(
            recording,
            record.making.profile,
            record.context.request,
            counter,
            rules=record.making.rule_evaluation,
            parse_yaml=load_yaml,
            problems=_problems_before_the_build(record.context.problems),
            timed_out=model.timed_out_layers(record.context.problems),
        )
        context = assemble(records.with_recorded_answers(build, record.answers))
    except model.ContextasmError:
        if not changes:
            raise
        return Replay(None, changes, recording)
    recorded, made = record.context, context._replace(documents=())
    differences = tuple(name for name in model.Context._fields if getattr(made, name) != getattr(recorded, name))
    return Replay(context, changes, recording, differences, format_context(context) == format_context(recorded))


def _problems_before_the_build(problems: Iterable[model.Problem]) -> tuple[model.Problem, ...]:
    """The problems of a record that no build finds by itself: of variables, open files, a history, a shared store."""
    codes, options = ("store-", "not-read"), ("--var ", "--open ")
    return tuple(each for each in problems if each.path.startswith(options) or each.code.startswith(codes))


def changed_config(record: records.Record, root: Path) -> tuple[ChangedInput, ...]:
    """Files of settings, rules and profile that differ from the recorded ones, in path order.

    `root` is the workspace now. A replay does not read them.
    """
    workspace = Folder(root)
    digests = dict(record.making.config_files)
    if not digests:
        return ()
    recorded_rules = tuple(path for path in digests if path.startswith("rules/"))
    inside = {path: digest for path, digest in digests.items() if not os.path.isabs(path)}
    changes, _ = changed_inputs({"rules/*.yaml": recorded_rules}, inside, workspace)
    outside = {path: file_bytes(path) for path in digests if os.path.isabs(path)}
    now = {path: sha256(data).hexdigest() if isinstance(data, bytes) else "" for path, data in outside.items()}
    return (*changes, *drift(digests, now))


def stored_inputs(record: records.Record, path: Path) -> Mapping[str, Read] | None:
    """Results of reading each path, made of the bytes that are stored with the record at `path`.

    None if the bytes of any input are missing. Raises `ContextasmError` for damaged bytes.
    """
    folder = path.absolute().parent.parent / "inputs"
    reads: dict[str, Read] = dict.fromkeys(record.absent)
    reads |= {problem.path: problem for problem in record.unreadable}
    for recorded in record.inputs:
        file = folder / Path(recorded.sha256).name
        data = file_bytes(str(file))
        if not isinstance(data, bytes):
            return None
        if sha256(data).hexdigest() != recorded.sha256:
            raise model.ContextasmError(str(file), "is damaged", "remove it to read the input from the workspace")
        reads[recorded.path] = decode_document(recorded.path, data)
    return reads
