"""The memories of an owner as an audience may have them, to be handed to others."""

from __future__ import annotations

from collections.abc import Sequence

from contextasm.config.input.settings import document_at
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.memories.owner import Owner
from contextasm.model import SHARED, Document, Memory, Problem, Profile, Workspace
from contextasm.retrieval.reading.audience import SharedWorkspace, private_patterns
from contextasm.text.cleaning.clean import hidden_problems
from contextasm.text.memories.parser import distinct_memories, parse_memories
from contextasm.text.memories.writer import secret_problem
from contextasm.text.names.glob import glob_matches
from contextasm.workspace.folder import Folder
from contextasm.workspace.storage import PrivateLines


def exported_memories(owner: Owner, audience: str) -> tuple[Sequence[Memory], int, Sequence[Problem]]:
    """The memories of an owner for an audience (`model.AUDIENCES`).

    They are in the order of their files, of every status, each with an id of its own. With them come the number of
    memories that are left out as private, and the problems of fields that can't be read, of hidden characters that are
    removed, and of secrets that are masked.

    Raises `ContextasmError` for a file that can't be read: an export never lacks a file silently.
    """
    visible: Workspace = owner.workspace
    if audience == SHARED:
        visible = SharedWorkspace(owner.workspace, private_patterns(owner.profile), load_yaml)
    patterns = owner.memory_files or [f"{owner.path}/memories/*.md"]
    memories: list[Memory] = []
    problems: list[Problem] = []
    private = 0
    for path in (path for pattern in patterns for path in visible.list(pattern)):
        if document := document_at(visible, path, "correct the file; nothing has been written"):
            parsed, own_problems = parse_memories(document)
            memories += parsed
            private += _private_count(owner.workspace, document, len(parsed))
            problems += (*own_problems, *hidden_problems(document))
            problems += (secret_problem(path, secret, masked=True) for secret in document.secrets)
    distinct, duplicates = distinct_memories(memories)
    return distinct, private, (*problems, *duplicates)


def _private_count(workspace: Folder, visible: Document, count: int) -> int:
    """The number of memories that a file holds besides the `count` visible ones."""
    if not visible.lacks_private:
        return 0
    document = workspace.read(visible.path)
    return len(parse_memories(document)[0]) - count if isinstance(document, Document) else 0


def private_line_finder(workspace: Folder, profile: Profile, owner: str = "") -> PrivateLines:
    """A function that gives the lines of a file that a shared context of a profile lacks as private.

    If the memories of an `owner` become pages of a store, a private layer that reads these pages does not count: it
    keeps them private when they are read.
    """
    pages = f"{owner}/memories/0.md"
    patterns = [each for each in private_patterns(profile) if not (owner and glob_matches(each, pages))]
    return SharedWorkspace(workspace, patterns, load_yaml).private_lines
