"""`ctxasm replay`: build a record again, to the same bytes or to a list of the inputs that changed.

`explain` and `diff` read and replay records with the functions of this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.options import JsonOption, QuietOption
from contextasm.cli.output import write_json, write_stderr, write_stdout
from contextasm.config.build import load_counter
from contextasm.config.input.options import Flag, Options, ProcessEnvironment, Text
from contextasm.config.input.settings import FILE
from contextasm.config.profiles.loader import is_profile_path
from contextasm.config.resolve import process_environment
from contextasm.config.workspace_folder import open_with_replica, open_workspace
from contextasm.model import Context, ContextasmError, NamedTuple, Profile
from contextasm.records import replay as records
from contextasm.records.record import Record
from contextasm.rendering.formats import format_context
from contextasm.rendering.json_codec import Digest
from contextasm.workspace.atomic import STATE_FOLDER
from contextasm.workspace.folder import Folder
from contextasm.workspace.recording import ChangedInput, SnapshotWorkspace


class ReplayDocument(TypedDict):
    """The result of building a record again, as `ctxasm replay --json` prints it."""

    schema: Literal["ctxasm.replay/1"]
    record: str
    """The file of the record."""
    same: bool
    """Whether the bytes are the same."""
    stored: bool
    """Whether the inputs that the record stores were read, not the workspace."""
    etag_before: Digest
    """The SHA-256 of the recorded context."""
    etag: Digest | None
    """The SHA-256 of the context of now; null if it can't be built."""
    changes: list[ChangedInput]
    """Inputs that differ."""
    differences: list[str]
    """What else differs, in words."""


def show_replay(
    *,
    record: Annotated[str, Argument("RECORD", "The file of a record, or the first digits of its id.", "record")],
    workspace: Annotated[Text, Flag("The workspace (default: that of the record).", "DIR", "--workspace -w")] = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Build a record again and write the context to standard output if it has the same bytes.

    Inputs are read from the record if it stores them, and otherwise from the workspace. If the bytes differ, nothing is
    written, each changed input is named, and the exit code is 1. --json prints the result of the comparison in place
    of the context.
    """
    opened = open_record(record, workspace, process_environment())
    result = replay_record(opened)
    if json:
        etags = {"etag_before": opened.record.context.etag, "etag": result.context.etag if result.context else None}
        write_json(ReplayDocument, result._asdict() | etags | {"record": str(opened.path), "same": result.same})
    context = require_same(opened, result)
    if not quiet:
        _show_changed_config(opened)
        for change in result.changes:
            write_stderr(f"ctxasm: note: {change.path}: {change.kind}, but the bytes are the same")
        source = "the stored inputs" if result.stored else "the workspace"
        write_stderr(f"same {len(context.text.encode()):,} bytes from {source}; etag {context.etag}")
    if not json:
        write_stdout(format_context(context))


run = Command(show_replay)


class OpenedRecord(NamedTuple):
    """A record with its file and workspace."""

    path: Path
    record: Record
    root: Path | None
    """The workspace of the record; None without one."""

    @property
    def folder(self) -> Folder | None:
        """The workspace of the record, opened."""
        return Folder(self.root) if self.root else None


def open_record(name: str, workspace: str | None, process: ProcessEnvironment) -> OpenedRecord:
    """The record of a path, or of the first digits of an id. Raises `ContextasmError` for none."""
    opened = find_opened_record(name, workspace, process)
    if opened:
        return opened

    hint = "give the file of a record, or the first digits of its id; `ctxasm build --record` writes one"
    raise ContextasmError(name, "no such record", hint)


def find_opened_record(name: str, workspace: str | None, process: ProcessEnvironment) -> OpenedRecord | None:
    """The record of a path, or of the first digits of an id; None if it is not found."""
    try:
        root = Path(open_workspace(Options(workspace=workspace), process).root)
    except ContextasmError:
        if workspace:
            raise
        root = None
    path = records.find_record(name, root, Path(process.folder))
    if path is None:
        return None
    folder = path.absolute().parent.parent
    if not workspace and folder.name == STATE_FOLDER:
        root = folder.parent
    return OpenedRecord(path, records.load_record(path), root)


def replay_record(opened: OpenedRecord) -> records.Replay:
    """Build a record again. Raises `ContextasmError` without stored inputs and without a workspace."""
    record, process = opened.record, process_environment()
    counter, counts = load_counter(record.context.request.tokenizer, process.environment)
    inputs = records.stored_inputs(record, opened.path)
    if inputs is not None:
        result = records.replay(record, SnapshotWorkspace(dict(record.listings), inputs), counter)._replace(stored=True)
    elif opened.root is not None:
        result = records.replay(record, open_with_replica(str(opened.root), process, offline=True), counter)
    else:
        what = "its inputs are not stored, and no workspace was found here"
        raise ContextasmError(str(opened.path), what, "name the workspace with -w DIR")
    if counts:
        counts.save()
    return result


def _show_changed_config(opened: OpenedRecord) -> None:
    """Write the settings, rules and profiles that changed to standard error: a replay uses the ones of the record."""
    for change in records.changed_config(opened.record, opened.root) if opened.root else ():
        write_stderr(f"ctxasm: note: {change.path}: {change.kind}; the replay uses the content in the record")


def require_same(opened: OpenedRecord, result: records.Replay) -> Context:
    """The context that a record was built to again.

    Raises `ContextasmError` for other bytes, after a line on standard error for each input that changed.
    """
    if result.context and result.same:
        return result.context
    _show_changed_config(opened)
    for change in result.changes:
        write_stderr(f"{change.path}: {change.kind}")
    count = len(result.changes)
    if count:
        inputs = f"{count} input{'s' * (count != 1)} changed since the build"
        why = f"{inputs}: `ctxasm diff {opened.path.stem}` shows the effect"
    else:
        why = f"the inputs are the same, but {_reason_without_changes(opened.record, result)}"
    raise ContextasmError(str(opened.path), "can't be replayed to the same bytes", why, code=1)


def _reason_without_changes(record: Record, result: records.Replay) -> str:
    """The reason why the same inputs give another context: another version, or a record that is not as it was."""
    now = records.program_versions(record.context.request.tokenizer)
    for name, version in record.making.versions:
        if now.get(name, version) != version:
            return f"{name} {version} wrote the record, and this is {now[name]}: use that version"
    parts = " and ".join(name.replace("_", " ") for name in result.differences)
    return f"they do not give the recorded {parts}: record the build again with `ctxasm build --record`"


def with_options_of(options: Options, records: Sequence[OpenedRecord]) -> tuple[Options, Profile | None]:
    """The options of a side that is built: the ones given here, else the ones of the records, with their profile.

    The profile is the one that is stored with a record; None for the one that the options name.
    """
    profile = None
    for opened in records:
        if options.profile is None and options.strategy is None and options.scope is None:
            profile = profile or _typed_profile(opened)
        recorded = {key: value for key, value in _recorded_options(opened).items() if value}
        missing: dict[str, Any] = {key: value for key, value in recorded.items() if not getattr(options, key)}
        options = options._replace(**missing)
    return options, profile


def _recorded_options(opened: OpenedRecord) -> Mapping[str, Any]:
    """The options of a record by name; variables of its environment count as typed."""
    making, request = opened.record.making, opened.record.context.request
    variables = {setting.key: setting.value for setting in making.settings if setting.origin.startswith("CTXASM_")}
    typed = {key: value for key, value in making.options._asdict().items() if value is not None}
    settled = {"topic": request.topic, "audience": request.audience}
    settled |= {"history": request.history.strip() or "[]"} if request.history else {}
    return {**variables, **typed, **settled, **({"workspace": str(opened.root)} if opened.root else {})}


def _typed_profile(opened: OpenedRecord) -> Profile | None:
    """The stored profile of a record for which a file was named on the command line or in the environment."""
    making = opened.record.making
    setting = next((setting for setting in making.settings if setting.key == "profile"), None)
    if setting is None or not is_profile_path(setting.value) or not setting.origin.startswith(("--", "CTXASM_")):
        return None
    for change in records.changed_config(opened.record, opened.root) if opened.root else ():
        if change.path != FILE and not change.path.startswith("rules/"):
            write_stderr(f"ctxasm: note: {change.path}: {change.kind}; the profile of the record is used")
    return making.profile
