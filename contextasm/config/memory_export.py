"""The memories of an owner as an audience may have them, to be handed to other programs."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from contextasm.config.options import Options, ProcessEnvironment
from contextasm.config.overrides import resolve_profile, with_detected_profile
from contextasm.config.settings import load_settings_file, resolve_settings
from contextasm.config.yaml_loader import load_yaml
from contextasm.model import ContextasmError, Document, Memory, Problem, Request
from contextasm.retrieval.audience import visible_workspace
from contextasm.text.cleaning import hidden_problems
from contextasm.text.memory_ids import distinct_memories
from contextasm.text.memory_parser import parse_memories
from contextasm.text.storable import secret_problem
from contextasm.workspace.folder import Folder


class ExportedMemories(NamedTuple):
    """Memories that may leave the workspace."""

    memories: tuple[Memory, ...]
    """In the order of their files, of every status, each with an id of its own."""
    private: int
    """Number of memories that are left out as private."""
    problems: tuple[Problem, ...]
    """Of fields that can't be read, hidden characters that are removed, and secrets that are masked."""


def exported_memories(
    workspace: Folder, owner: str, audience: str, options: Options, process: ProcessEnvironment
) -> ExportedMemories:
    """The memories of an owner, by the path of its folder, for an audience (`model.AUDIENCES`).

    The profile of the options and settings says which files are private. Raises `ContextasmError` for a file that can't
    be read: an export never lacks a file silently.
    """
    settings_file = load_settings_file(workspace)
    settings = resolve_settings({"profile": options.profile}, process.environment, settings_file)
    settings, _ = with_detected_profile(settings, settings_file, workspace)
    profile = resolve_profile(settings, settings_file, workspace, process, {})
    request = Request("", "", "", date.min, 0, "", "", audience=audience)
    visible = visible_workspace(workspace, profile, request, load_yaml)
    memories: list[Memory] = []
    problems: list[Problem] = []
    private = 0
    for path in visible.list(f"{owner}/memories/*.md"):
        document = visible.read(path)
        if isinstance(document, Problem):
            raise ContextasmError(path, document.message, "put that right, and nothing has been written")
        if document:
            parsed, own_problems = parse_memories(document)
            memories += parsed
            private += _private_count(workspace, document, len(parsed))
            problems += (*own_problems, *hidden_problems(document), *_masked(document))
    distinct, duplicates = distinct_memories(memories)
    return ExportedMemories(distinct, private, (*problems, *duplicates))


def _private_count(workspace: Folder, visible: Document, count: int) -> int:
    """The number of memories that a file holds beside the `count` ones that are visible."""
    if not visible.lacks_private:
        return 0
    document = workspace.read(visible.path)
    return len(parse_memories(document)[0]) - count if isinstance(document, Document) else 0


def _masked(document: Document) -> list[Problem]:
    return [secret_problem(document.path, secret, masked=True) for secret in document.secrets]
