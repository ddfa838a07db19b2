"""The input of planners: the workspace, its settings, the day, and the memories that several of them read."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path

from contextasm.config.input.options import ProcessEnvironment
from contextasm.config.input.yaml_loader import YamlMapping, load_yaml
from contextasm.config.keys.upkeep import UpkeepSettings
from contextasm.model import Document, Memory, Problem, Profile, SemanticSimilarity, Summarizer, grouped
from contextasm.retrieval.reading.audience import SharedWorkspace, private_patterns
from contextasm.retrieval.reading.files import read_files
from contextasm.text.cleaning.clean import shown_names
from contextasm.text.cleaning.private_parts import withheld_lines
from contextasm.text.memories.parser import distinct_memories, id_root, is_given_by_hand, parse_memories
from contextasm.text.names.places import LOG_FOLDERS, MEMORY_FILES, any_owner_pattern, archived_path
from contextasm.upkeep.actions import Action, Move
from contextasm.workspace.editing.memory_file import MemoryFile
from contextasm.workspace.folder import Folder
from contextasm.workspace.recording import name_problem


class OwnerMemories:
    """The memories of one agent, one team or the project, and the edits by which they change."""

    def __init__(
        self, folder: str, documents: Sequence[Document], memories: Sequence[Memory], workspace: Folder
    ) -> None:
        """Parse no file yet.

        `folder` is that of the files, such as `agents/luna/memories`, and `documents` are the files as builds read
        them, in path order. `memories` are in the order of the files, under the ids that builds and `explain` give
        them; one in a private part of its file, or in a private file, is private even if its own fields do not say so.
        """
        self.folder = folder
        self.memories = memories
        self._workspace = workspace
        self._files = {document.path: MemoryFile(document) for document in documents}
        self._ambiguous = self._ambiguous_ids()

    @property
    def paths(self) -> Collection[str]:
        """Paths of the files."""
        return self._files.keys()

    def file(self, memory: Memory) -> MemoryFile:
        """The file of a memory."""
        return self._files[memory.path]

    def can_change(self, memory: Memory) -> bool:
        """Whether fields of the memory can be set, and its text may go to other places.

        Not if several memories share its id: once one of them has left, another one would be taken for it.
        """
        return id_root(memory.id) not in self._ambiguous and self.can_repair(memory)

    def can_repair(self, memory: Memory) -> bool:
        """Whether fields of the memory can be set, also if other memories share its id.

        Not in a linked file, whose target is of another owner. Nor with a secret: an archive or another memory would
        get it.
        """
        file = self.file(memory)
        is_held = file.secrets(memory.line) or self._workspace.stamp(memory.path) is None
        return not is_held and file.can_change(memory.line)

    def has_taken_id(self, memory: Memory) -> bool:
        """Whether builds give the memory another id than a person did, since an earlier memory has that."""
        stated = self.file(memory).by_line[memory.line]
        return stated.id != memory.id and is_given_by_hand(stated)

    def can_archive(self, memory: Memory) -> bool:
        """Whether the memory can leave its place; a pinned one stays."""
        if memory.pin or not self.can_change(memory):
            return False
        if self.file(memory).is_one_memory:
            return not self._workspace.exists(archived_path(memory.path))
        return self.file(memory).can_remove(memory.line)

    def archive(self, action: Action, memories: Iterable[Memory]) -> Action:
        """The action with the edits and moves that archive memories which `can_archive`."""
        edits, moves = [*action.edits], [*action.moves]
        for memory in memories:
            if self.file(memory).is_one_memory:
                moves.append(Move(memory.path, archived_path(memory.path)))
            else:
                edits.append(self.file(memory).remove(memory.line))
        return action._replace(edits=tuple(edits), moves=tuple(moves))

    def set_fields(self, action: Action, memory: Memory, fields: Mapping[str, str], bullet: str = "") -> Action:
        """The action with the edit that sets fields of a memory, as `MemoryFile.set_fields`."""
        return action._replace(edits=(*action.edits, self.file(memory).set_fields(memory.line, fields, bullet)))

    def _ambiguous_ids(self) -> set[str]:
        """Ids that several memories share, if they were given by hand or other memories name them."""
        named = {id_root(name) for memory in self.memories for name in (*memory.supersedes, memory.superseded_by)}
        numbered = [memory for memory in self.memories if id_root(memory.id) != memory.id]
        shared = [memory for memory in numbered if self.file(memory).by_line[memory.line].id != memory.id]
        return {root for memory in shared if (root := id_root(memory.id)) in named or self.has_taken_id(memory)}


@dataclass(frozen=True)
class UpkeepInput:
    """All that a plan depends on: equal inputs give an equal plan. Files of memories are read once, at first use."""

    workspace: Folder
    settings: UpkeepSettings
    settings_file: YamlMapping
    """All of `ctxasm.yaml`; empty without one."""
    today: date
    summarizer: Summarizer | None = None
    """The configured one, which gives problems if the person does not trust it."""
    profiles: Sequence[Profile] = ()
    """Those of the workspace: they say what is private, where logs are, and which host reads the same files."""
    semantics: SemanticSimilarity | None = None
    """0 or more for texts that belong together by meaning; a problem if the person does not trust the embedder."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """That of git, which knows moved files."""

    _left_out: dict[str, Problem] = field(default_factory=dict, init=False)
    """Problems of the files left out of lists so far, because of their names or of a shared store, by path."""
    _linked: dict[str, bool] = field(default_factory=dict, init=False)

    def read_again(self) -> UpkeepInput:
        """The same input over the files as they are now; the settings stay."""
        return replace(self, workspace=Folder(Path(self.workspace.root), self.workspace.overlay))

    @property
    def log_folders(self) -> Sequence[str]:
        """Patterns of the folders of logs: those of agents and teams, and those that the profiles name."""
        named = (profile.log.rpartition("/")[0] for profile in self.profiles if "{owner}" not in profile.log)
        return [*dict.fromkeys((*LOG_FOLDERS, *map(any_owner_pattern, named)))]

    def list_files(self, pattern: str) -> Sequence[str]:
        """The files that a plan may change: without names that builds refuse and files in linked folders.

        A file in a link to another folder of the workspace is listed at its own place, if a pattern fits it.
        """
        paths = [path for path in self.workspace.list(pattern) if not self._is_left_out(path)]
        names = shown_names(paths)
        pairs = [*zip(paths, names, strict=True)]
        self._left_out.update({name: name_problem(name) for path, name in pairs if name != path})
        return [path for path, name in pairs if name == path]

    def _is_left_out(self, path: str) -> bool:
        owner = self.workspace.kept_elsewhere(path)
        if owner is None:
            return self._is_behind_link(path)
        what = f"tidy does not change the memories of {owner}, because they are in the shared store"
        hint = "change them with `ctxasm memory deprecate|complete ID` and `ctxasm remember --supersedes ID`"
        self._left_out[f"{owner}/memories"] = Problem("store-untidied", f"{owner}/memories", 0, what, hint)
        return True

    def _is_behind_link(self, path: str) -> bool:
        folder = os.path.dirname(path)
        if folder not in self._linked:
            real = os.path.realpath(f"{self.workspace.root}/{folder}")
            self._linked[folder] = bool(folder) and real != f"{self.workspace.root}/{folder}"
        return self._linked[folder]

    @property
    def owners(self) -> Sequence[OwnerMemories]:
        """The owners that have files of memories, by folder in code point order."""
        return self._read[0]

    @property
    def problems(self) -> Sequence[Problem]:
        """Problems of files that a plan does not change: they can't be read, or were left out of lists so far."""
        return [*self._read[1], *(self._left_out[path] for path in sorted(self._left_out))]

    @cached_property
    def _read(self) -> tuple[Sequence[OwnerMemories], Sequence[Problem]]:
        problems: list[Problem] = []
        paths = sorted({path for pattern in MEMORY_FILES for path in self.list_files(pattern)})
        read = read_files(self.workspace, paths, problems)
        documents = grouped((document.path.rpartition("/")[0], document) for document in read)
        patterns = dict.fromkeys(pattern for profile in self.profiles for pattern in private_patterns(profile))
        shared = SharedWorkspace(self.workspace, patterns, load_yaml)
        owners = []
        for folder in sorted(documents):
            memories = [memory for document in documents[folder] for memory in _memories(document, shared)]
            owners.append(OwnerMemories(folder, documents[folder], distinct_memories(memories)[0], self.workspace))
        return owners, problems


def _memories(document: Document, shared: SharedWorkspace) -> Iterator[Memory]:
    """The memories of a file; the ones that a shared context lacks are private."""
    seen = shared.read(document.path)
    parts = withheld_lines(seen) if isinstance(seen, Document) else frozenset()
    for memory in parse_memories(document)[0]:
        yield memory._replace(private=True) if memory.line in parts else memory


def without_variables(workspace: Folder) -> ProcessEnvironment:
    """A process without variables, in the folder of the workspace: a plan depends on no variable and no clock."""
    return ProcessEnvironment({}, workspace.root, lambda: 0.0)
