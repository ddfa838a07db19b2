"""The approval lock: the files that instruct an agent, and how they differ from what `ctxasm.lock` approves.

These are `ctxasm.yaml`, the rule files, the profile files of the workspace, and the files of locked layers. The text of
the lock is in `text/data/lock_file.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import FILE, LOCK_FILE, document_at, load_settings_file, resolve_settings
from contextasm.config.profiles.layers import with_layer_changes
from contextasm.config.profiles.overrides import ProfileReader
from contextasm.model import ContextasmError, Layer, Profile, Request, Workspace
from contextasm.retrieval.sources.instructions import read_all_instruction_files, read_instruction_files
from contextasm.text.data.lock_file import parse_lock, quoted_path
from contextasm.text.names.glob import matching_paths
from contextasm.text.names.places import RULE_FILES, any_owner_pattern
from contextasm.text.names.templates import fill_template, is_pattern, placeholders
from contextasm.workspace.folder import Folder
from contextasm.workspace.recording import ChangedInput, RecordingWorkspace, answer_digest, drift

KIND_WORDS = {
    "changed": "has changed since it was reviewed",
    "added": "was never reviewed",
    "gone": "was reviewed, but is missing",
}
"""The kinds of `ChangedInput` in words."""

MOST_NAMED = 2
"""Files besides the first that an error names, each with what became of it."""

HINT = "after a review, run `ctxasm lock`"


def load_approved(workspace: Workspace) -> dict[str, str] | None:
    """SHA-256 of each approved file by path; None without a lock. Raises `ContextasmError` for a broken one."""
    document = document_at(workspace, LOCK_FILE, "replace it with a readable file, or remove it")
    return parse_lock(document.data, LOCK_FILE) if document else None


def require_approved(workspace: Workspace) -> dict[str, str]:
    """SHA-256 of each approved file by path. Raises `ContextasmError` for a missing or broken lock."""
    approved = load_approved(workspace)
    if approved is None:
        hint = "review the files that instruct the agent, then run `ctxasm lock`"
        raise ContextasmError(LOCK_FILE, "is missing, but --locked needs it", hint)
    return approved


def instructing_files(workspace: Folder, options: Options, process: ProcessEnvironment) -> tuple[Sequence[str], str]:
    """The files that instruct any agent of the workspace, in code point order, and the words of a detected profile.

    The profiles are named by the options or the environment, of `ctxasm.yaml` and of its `outputs:`, with all
    strategies. Raises `ContextasmError` for settings and profiles that can't be used.
    """
    settings_file = load_settings_file(workspace)
    typed = resolve_settings({"profile": options.profile}, process.environment, settings_file)
    reader = ProfileReader(settings_file, workspace, process)
    _, detected = reader.with_detected(typed)
    layers: list[Layer] = []
    for profile in reader.all_named(typed):
        layers += profile.layers
        layers += (layer for strategy in _strategies(profile, settings_file.get("layers")) for layer in strategy.layers)
    locked = [layer for layer in layers if layer.instructs]
    templates = (template for layer in locked for template in _templates(layer))
    patterns = {FILE, RULE_FILES, *map(any_owner_pattern, templates)}
    paths = {path for pattern in patterns for path in workspace.list(pattern)}
    for layer in locked:
        if any(source.uses_open for source in layer.query.traits):
            found, _, _ = read_all_instruction_files(workspace, _templates(layer))
            paths |= {document.path for document, _ in found}
    instructing = sorted({*paths, *(path for path in reader.digests if not os.path.isabs(path))})
    return instructing, detected


def _strategies(profile: Profile, changes: object) -> Iterator[Profile]:
    for _, strategy in profile.strategies:
        changed = with_layer_changes(strategy, changes, f"{FILE}: layers", new=False)
        yield changed._replace(layers=tuple(layer for layer in changed.layers if layer.id not in changed.disabled))


def _templates(layer: Layer) -> Iterator[str]:
    """Paths of a layer, but for the files of a request, which change with it."""
    return (path for path in layer.query.paths if path not in {"{open}", "{changed}"})


def refuse_settings_drift(approved: Mapping[str, str], config_digests: Mapping[str, str]) -> None:
    """Raise `ContextasmError` for a file of settings, rules or profile in the workspace that is not as approved."""
    digests = {path: digest for path, digest in config_digests.items() if not os.path.isabs(path)}
    gone = {path for path in matching_paths(approved, RULE_FILES) if path not in digests}
    _refuse(drift(approved, digests | dict.fromkeys(gone, "")))


def refuse_document_drift(
    approved: Mapping[str, str], layers: Iterable[Layer], request: Request, recording: RecordingWorkspace
) -> None:
    """Raise `ContextasmError` for a file of locked layers that a build read, or missed, and that is not as approved."""
    reads = recording.reads.copy()  # A source that is late may still be reading.
    digests: dict[str, str] = {}
    for layer in layers:
        if layer.instructs and any(source.uses_open for source in layer.query.traits):
            # Nested and imported files are named by no path of the layer. All of them are in the recording already.
            _, _, paths = read_instruction_files(recording, layer, request)
            digests |= {path: answer_digest(recording.read(path)) for path in paths}
        for path in _request_paths(layer, request) if layer.instructs else ():
            listed = recording.lists.get(path) if is_pattern(path) else (path,)
            if listed is not None:  # A layer that is late has listed nothing.
                digests |= dict.fromkeys({*matching_paths(approved, path)} - {*listed}, "")
                digests |= {name: answer_digest(reads[name]) for name in listed if name in reads}
    _refuse(drift(approved, digests))


def _request_paths(layer: Layer, request: Request) -> Iterator[str]:
    """Paths and patterns of a layer for the request's agent and team; none if it names no team."""
    names = {"agent": request.agent, "team": request.team}
    for template in _templates(layer):
        if all(names.get(name) for name in placeholders(template)):
            yield fill_template(template, names)


def _refuse(changes: Sequence[ChangedInput]) -> None:
    if changes:
        first, *others = changes
        named = [f"; {quoted_path(each.path)} {KIND_WORDS[each.kind]}" for each in others[:MOST_NAMED]]
        more = f"; and {len(others) - MOST_NAMED:,} more" if len(others) > MOST_NAMED else ""
        what = f"{KIND_WORDS[first.kind]} ({LOCK_FILE}){''.join(named)}{more}"
        raise ContextasmError(quoted_path(first.path), what, HINT, code=1)
