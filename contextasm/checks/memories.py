"""Checks of memories: fields, ids, superseded and expired ones; and sentences that one document shows twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from contextasm.checks.finding import Finding, error_finding, note_finding, warning_finding
from contextasm.checks.inspection import Inspection
from contextasm.checks.names import path_hint
from contextasm.checks.text import sentences
from contextasm.config.input.settings import FILE
from contextasm.config.keys.upkeep import RetentionPolicy, parse_upkeep
from contextasm.model import Context, ContextasmError, Document, Memory, grouped
from contextasm.text.memories.parser import (
    ACTIVE_STATUSES,
    distinct_memories,
    is_given_by_hand,
    superseded_by,
    unknown_status,
)
from contextasm.text.names.glob import matching_paths, wildcard_matches
from contextasm.text.names.matching import list_names, nearest
from contextasm.upkeep.memories.named_files import file_faults
from contextasm.upkeep.memories.states import broken_links, is_file_link, is_over, one_sided_links
from contextasm.upkeep.retention import is_shortenable_path, may_be_item

MIN_DUPLICATE_LENGTH = 40
"""Least number of characters of a sentence that counts as a duplicate; shorter ones may be anywhere."""


def check_memories(inspection: Inspection) -> Iterator[Finding]:
    """Report fields of memories that can't be parsed or are unknown, and files of memories that hold none."""
    for path, (memories, problems) in inspection.memories.items():
        for problem in problems:
            if problem.code != "bad-memory-date":
                hint = problem.hint or "correct the value, or remove the field"
                yield warning_finding(path, problem.line, problem.message, hint)
        for memory in memories:
            if unknown := unknown_status(memory.status):
                yield warning_finding(path, memory.line, *unknown)
            if memory.valid_from > memory.expires > "":
                message = f"is never shown: its first day, {memory.valid_from}, is after its last day, {memory.expires}"
                yield warning_finding(path, memory.line, message, "correct `valid_from` or `expires`")
            if memory.writer and memory.status == "draft":
                hint = f"approve it with `ctxasm memory approve {memory.id}`, or delete it"
                message = f"memory {memory.id}, which {memory.writer} wrote, waits for approval"
                yield note_finding(path, memory.line, message, hint)


def check_duplicate_ids(inspection: Inspection) -> Iterator[Finding]:
    """Report ids that two memories of one owner share."""
    for memories in _memories_by_folder(inspection).values():
        for problem in distinct_memories(memories)[1]:
            yield error_finding(problem.path, problem.line, problem.message, problem.hint)


def _memories_by_folder(inspection: Inspection) -> Mapping[str, Sequence[Memory]]:
    memories = (memory for found, _ in inspection.memories.values() for memory in found)
    return grouped((memory.path.rpartition("/")[0], memory) for memory in memories)


def check_superseded(inspection: Inspection) -> Iterator[Finding]:
    """Report superseded memories that are still active, and memories that name an unknown id or a missing file."""
    for folder, memories in _memories_by_folder(inspection).items():
        by_id = {memory.id: memory for memory in memories}
        links = broken_links(memories, folder, inspection.workspace)
        for (memory, field), names in links.items():
            yield from (_broken_link(memory, field, name, inspection) for name in names)
        for new, named in one_sided_links(memories).items():
            message = f"the memory is still shown, because its successor {new.id} has no `supersedes`"
            for old in named:
                yield warning_finding(old.path, old.line, message, f"write `supersedes={old.id}` in {new.path}")
        for old_id, new_id in superseded_by(memories).items():
            superseded, new = by_id.get(old_id), by_id[new_id]
            if superseded and old_id != new_id and superseded.status in ACTIVE_STATUSES:
                # An id that is made of the text tells the user nothing.
                name = new.id if is_given_by_hand(new) else f"a memory in {new.path}"
                message = f"memory {old_id} is superseded by {name} but still active"
                hint = "set its `status` to superseded, or delete it"
                yield warning_finding(superseded.path, superseded.line, message, hint)


def _broken_link(memory: Memory, field: str, name: str, inspection: Inspection) -> Finding:
    said = f"the memory {'supersedes' if field == 'supersedes' else 'is superseded by'} {name}"
    if is_file_link(field, name):
        message, hint = f"{said}, which is not a file of the workspace", path_hint(name, inspection)
    else:
        message, hint = f"{said}, but no memory in its folder has that id", f"correct the id, or remove `{field}`"
    return warning_finding(memory.path, memory.line, message, hint)


def check_expired(inspection: Inspection) -> Iterator[Finding]:
    """Report memories that are still active after their last day."""
    for path, (memories, _) in inspection.memories.items():
        for memory in memories:
            if is_over(memory, inspection.day):
                message = f"the memory expired on {memory.expires} but is still active"
                hint = "set its `status` to expired, or set `expires` to a later day"
                yield warning_finding(path, memory.line, message, hint)


def check_memory_paths(inspection: Inspection) -> Iterator[Finding]:
    """Report files that memories name and that are gone or were moved, and cited text that has changed."""
    memories = [memory for found, _ in inspection.memories.values() for memory in found]
    for memory, message, hint in file_faults(memories, inspection.folder, inspection.process.environment):
        yield warning_finding(memory.path, memory.line, message, hint)


# --- Duplicate sentences ---------------------------------------------------------------------------------------------


def check_duplicates(inspection: Inspection) -> Iterator[Finding]:
    """Report each file that has sentences of an earlier file of one document, in any layers."""
    sentences: dict[str, list[tuple[int, str]]] = {}
    shared: dict[tuple[str, str], dict[int, str]] = {}
    for context in inspection.contexts:
        first_paths: dict[str, str] = {}
        for path in _shown_files(inspection, context):
            if path not in sentences:
                sentences[path] = [*_long_sentences(inspection.documents[path])]
            for number, (_, sentence) in enumerate(sentences[path]):
                first_path = first_paths.setdefault(sentence, path)
                if first_path != path:
                    shared.setdefault((path, first_path), {})[number] = sentence
    for (path, first_path), same in shared.items():
        percent = 100 * sum(map(len, same.values())) // sum(len(sentence) for _, sentence in sentences[path])
        hint = f"{percent} % of its text is also there: keep the text in one file, and link to it from the other"
        yield warning_finding(path, sentences[path][min(same)][0], f"the file repeats a part of {first_path}", hint)


def _shown_files(inspection: Inspection, context: Context) -> Iterable[str]:
    # Not all texts have a file: `--additional` gives one.
    paths = (decision.path for decision in context.decisions if decision.outcome in {"included", "truncated"})
    return (path for path in dict.fromkeys(paths) if path in inspection.documents)


def _long_sentences(document: Document) -> Iterator[tuple[int, str]]:
    # Words are folded.
    for line, sentence in sentences(document.text):
        words = " ".join(_NO_WORD.sub(" ", sentence).casefold().split())
        if len(words) >= MIN_DUPLICATE_LENGTH:
            yield document.line + line, words


_NO_WORD = re.compile(r"[\W_]+")


def check_retention(inspection: Inspection) -> Iterator[Finding]:
    """Report policies of retention, and parts of them, that no file and no memory of the workspace fits."""
    try:
        policies = parse_upkeep(inspection.settings_file).retention
    except ContextasmError:  # The check `config` reports it.
        return
    for policy in policies:
        for message, hint in _faults(policy, inspection):
            yield warning_finding(FILE, policy.line, f"retention policy `{policy.name}`: {message}", hint)


def _faults(policy: RetentionPolicy, inspection: Inspection) -> Iterator[tuple[str, str]]:
    """Message and hint of each part that has no effect."""
    paths: set[str] = set() if policy.files else {*inspection.memories}
    for pattern in policy.files:
        found = [path for path in inspection.workspace.list(pattern) if may_be_item(path)]
        paths.update(found)
        if not found:
            yield f"no file matches {pattern}", path_hint(pattern, inspection)
    yield from _type_faults(policy, paths, inspection)
    for pattern in policy.pin.files if policy.pin else ():
        if paths and not matching_paths(paths, pattern):
            yield f"`pin` {pattern} matches none of its files", "correct the pattern, or remove it"
    if policy.compress and paths and not any(map(is_shortenable_path, paths - inspection.memories.keys())):
        yield "`compress` shortens none of its files", "remove it; memories, logs and other formats are never shortened"


def _type_faults(policy: RetentionPolicy, paths: set[str], inspection: Inspection) -> Iterator[tuple[str, str]]:
    types = {memory.type for path in paths & {*inspection.memories} for memory in inspection.memories[path][0]}
    for pattern in policy.types:
        if not any(wildcard_matches(pattern, name) for name in types):
            near = nearest(pattern, types)
            there = f"available: {list_names(sorted(types))}" if types else "no memory was found"
            yield f"no memory has the type {pattern}", f"did you mean {near}?" if near else there
