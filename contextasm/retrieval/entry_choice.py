"""Entry choice: which entries of a pool rules mean (`model.EntryChoice`), by what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from contextasm.model import LABEL_KINDS, EntryChoice, Label, Memory
from contextasm.text.archived_paths import known_ids


def memory_labels(memory: Memory) -> Sequence[Label]:
    """The labels of a memory, of each of `LABEL_KINDS`: its type, and each of its tags once."""
    kind, tag = LABEL_KINDS
    return [(kind, memory.type), *zip(repeat(tag), dict.fromkeys(memory.tags), strict=False)]


def means_memory(choice: EntryChoice, memory: Memory) -> bool:
    """Whether a choice means a memory."""
    return means_entry(choice, memory.id, memory.path, memory_labels(memory))


def means_entry(choice: EntryChoice, entry_id: str, path: str, labels: Sequence[Label]) -> bool:
    """Whether a choice means an entry of a file; an archived one is known by its earlier path, too."""
    return (
        not choice.labels.isdisjoint(labels)
        or not choice.ids.isdisjoint(known_ids(entry_id, path))
        or choice.has_path(path)
    )
