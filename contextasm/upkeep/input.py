"""The input of planners: the workspace, its settings, the day, and the memories that several of them read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from typing import NamedTuple

from contextasm.config.input.yaml_loader import YamlMapping
from contextasm.config.keys.upkeep import UpkeepSettings
from contextasm.model import Document, Memory, Parse, Problem, Summarizer
from contextasm.retrieval.reading.audience import SharedWorkspace
from contextasm.text.cleaning.clean import shown_name
from contextasm.text.cleaning.private_parts import withheld_lines
from contextasm.text.memories.parser import distinct_memories, parse_memories
from contextasm.text.names.places import MEMORY_FILES
from contextasm.workspace.folder import Folder
from contextasm.workspace.recording import name_problem


class TidyFiles:
    """Lists of files of a workspace, and the problems of those left out of them."""

    def __init__(self, workspace: Folder) -> None:
        """Read nothing yet."""
        self._workspace = workspace
        self._problems: dict[str, Problem] = {}
        self._linked: dict[str, bool] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems of the files left out so far, because of their names or of a shared store, by path."""
        return tuple(self._problems[name] for name in sorted(self._problems))

    def list(self, pattern: str) -> Sequence[str]:
        """Paths as the workspace lists them, but for names that builds refuse and files behind linked folders.

        A file behind a link to another folder of the workspace is listed at its own place, where a pattern fits it.
        """
        paths = [path for path in self._workspace.list(pattern) if not self._is_left_out(path)]
        together = "/".join(paths)
        if shown_name(together) == together:
            return paths
        names = {path: shown_name(path) for path in paths}
        self._problems.update({name: name_problem(name) for path, name in names.items() if name != path})
        return [path for path, name in names.items() if name == path]

    def _is_left_out(self, path: str) -> bool:
        owner = self._workspace.kept_elsewhere(path)
        if owner is None:
            return self._is_behind_link(path)
        what = f"the memories of {owner} lie in the shared store, and are not tidied"
        hint = "`ctxasm memory deprecate|complete ID` and `ctxasm remember --supersedes ID` change them"
        self._problems[f"{owner}/memories"] = Problem("store-untidied", f"{owner}/memories", 0, what, hint)
        return True

    def _is_behind_link(self, path: str) -> bool:
        folder = os.path.dirname(path)
        if folder not in self._linked:
            real = os.path.realpath(f"{self._workspace.root}/{folder}")
            self._linked[folder] = bool(folder) and real != f"{self._workspace.root}/{folder}"
        return self._linked[folder]


class OwnerMemories(NamedTuple):
    """The memories of one agent, one team or the project."""

    folder: str
    """Their folder, such as `agents/luna/memories`."""
    documents: tuple[Document, ...]
    """Its files in path order, as builds read them; `data` holds the bytes on the disk."""
    memories: tuple[Memory, ...]
    """In the order of the files, under the ids that builds and `explain` give them.

    One in a private part of its file, or in a private file, is private whether or not its own fields say so; a file
    that a private layer names is one.
    """


class MemoryFiles:
    """The files of memories of every owner, read at the first use and once."""

    def __init__(self, workspace: Folder, parse: Parse | None = None, private_paths: Sequence[str] = ()) -> None:
        """Read nothing yet. `parse` reads YAML; `private_paths` are paths and patterns of private layers."""
        self._workspace = workspace
        self._parse = parse
        self._private_paths = private_paths
        self.files = TidyFiles(workspace)
        """Lists of these and other files that a plan may change."""

    def read_again(self, workspace: Folder) -> MemoryFiles:
        """The files as they are now, in a workspace that has read nothing yet."""
        return MemoryFiles(workspace, self._parse, self._private_paths)

    @property
    def owners(self) -> tuple[OwnerMemories, ...]:
        """The owners that have files of memories, by folder in code point order."""
        return self._read[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems of files that can't be read; a plan leaves these files alone."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[tuple[OwnerMemories, ...], tuple[Problem, ...]]:
        documents: dict[str, list[Document]] = {}
        shared = SharedWorkspace(self._workspace, self._private_paths, self._parse)
        problems: list[Problem] = []
        for path in sorted({path for pattern in MEMORY_FILES for path in self.files.list(pattern)}):
            read = self._workspace.read(path)
            if isinstance(read, Document):
                documents.setdefault(path.rpartition("/")[0], []).append(read)
            elif read:
                problems.append(read)
        return tuple(_owner_memories(folder, tuple(documents[folder]), shared) for folder in sorted(documents)), tuple(
            problems
        )


def _owner_memories(folder: str, documents: tuple[Document, ...], shared: SharedWorkspace) -> OwnerMemories:
    parsed = [memory for document in documents for memory in _memories(document, shared)]
    return OwnerMemories(folder, documents, distinct_memories(parsed)[0])


def _memories(document: Document, shared: SharedWorkspace) -> Iterator[Memory]:
    """The memories of a file, those that a shared context lacks as private ones."""
    seen = shared.read(document.path)
    parts = withheld_lines(seen) if isinstance(seen, Document) else frozenset()
    for memory in parse_memories(document)[0]:
        yield memory._replace(private=True) if memory.line in parts else memory


class UpkeepInput(NamedTuple):
    """All that a plan depends on: equal inputs give an equal plan."""

    workspace: Folder
    settings: UpkeepSettings
    settings_file: YamlMapping
    """The whole `ctxasm.yaml`, empty where there is none."""
    today: date
    summarizer: Summarizer | None
    """The configured one, which gives problems where the person does not trust it; None where there is none."""
    memory_files: MemoryFiles

    @property
    def files(self) -> TidyFiles:
        """Lists of the files that a plan may change; planners list files by it."""
        return self.memory_files.files
