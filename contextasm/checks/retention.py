"""Check of the policies of retention: patterns, types and keys that have no effect in this workspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection, warning_finding
from contextasm.checks.names import path_hint
from contextasm.config.retention import RetentionPolicy
from contextasm.config.settings import FILE, load_settings_file
from contextasm.config.upkeep import parse_upkeep
from contextasm.model import ContextasmError
from contextasm.text.glob import matching_paths, wildcard_matches
from contextasm.text.matching import list_names, nearest
from contextasm.upkeep.retention_items import may_be_item
from contextasm.upkeep.retention_shorten import is_shortenable_path


def check_retention(inspection: Inspection) -> Iterator[Finding]:
    """Report policies of retention, and parts of them, that no file and no memory of the workspace fits."""
    try:
        policies = parse_upkeep(load_settings_file(inspection.workspace.folder)).retention
    except ContextasmError:  # The check `config` reports it.
        return
    for policy in policies:
        for message, hint in _faults(policy, inspection):
            yield warning_finding(FILE, policy.line, f"the policy {policy.name} of retention: {message}", hint)


def _faults(policy: RetentionPolicy, inspection: Inspection) -> Iterator[tuple[str, str]]:
    """Message and hint of each part that has no effect."""
    listed = {pattern: _item_paths(pattern, inspection) for pattern in policy.files}
    for pattern, found in listed.items():
        if not found:
            yield f"no file matches {pattern}", path_hint(pattern, inspection)
    paths = {path for found in listed.values() for path in found} if policy.files else {*inspection.memories}
    yield from _type_faults(policy, paths, inspection)
    for pattern in policy.pin.files if policy.pin else ():
        if paths and not matching_paths(paths, pattern):
            yield f"the pin {pattern} fits none of its files", "correct the pattern, or take it out"
    if policy.compress and paths and not any(_is_shortenable(path, inspection) for path in paths):
        yield "`compress` shortens none of its files", "take it out: memories, logs and other formats stay as they are"


def _item_paths(pattern: str, inspection: Inspection) -> Iterable[str]:
    return [path for path in inspection.workspace.list(pattern) if may_be_item(path)]


def _type_faults(policy: RetentionPolicy, paths: set[str], inspection: Inspection) -> Iterator[tuple[str, str]]:
    types = {memory.type for path in paths & {*inspection.memories} for memory in inspection.memories[path][0]}
    for pattern in policy.types:
        if not any(wildcard_matches(pattern, name) for name in types):
            near = nearest(pattern, types)
            there = f"there are: {list_names(sorted(types))}" if types else "there is none"
            yield f"no memory has the type {pattern}", f"did you mean {near}?" if near else there


def _is_shortenable(path: str, inspection: Inspection) -> bool:
    return path not in inspection.memories and is_shortenable_path(path)
