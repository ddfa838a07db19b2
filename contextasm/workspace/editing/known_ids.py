"""Ids of memories in their folders, and the memory that each one names.

A file whose ids an earlier run has stored is opened only for a memory that is found in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from contextasm.model import ContextasmError, Document, Memory, StoredFacts, grouped
from contextasm.retrieval.pool import MANY
from contextasm.text.memories.parser import distinct_memories, parse_memories, unique_ids
from contextasm.text.names.matching import list_names, nearest
from contextasm.text.names.places import MEMORY_FOLDERS
from contextasm.workspace.folder import Folder

FolderOfIds = Callable[[str], StoredFacts[Sequence[str]] | None]
"""Gives the stored ids of a folder; None if nothing may be stored."""


SHORTEST = 4
"""Characters of an id that are enough to name it."""


class FolderIds:
    """Ids of the memories in the files of a folder, no two equal, and the memories that they name."""

    def __init__(
        self,
        paths: Collection[str],
        memories: Callable[[str], Sequence[Memory]],
        stored: StoredFacts[Sequence[str]] | None,
    ) -> None:
        """Take the files at `paths`; `memories` gives the ones of a file, with its ids, and `stored` spares that."""
        self._paths = sorted(paths)
        self._memories = memories
        self._stored = stored
        self._places: Mapping[str, tuple[str, int, str]] | None = None
        """Path, number in its file and own id of each memory, by the id under which it is known, in path order."""

    def names(self) -> list[str]:
        """The ids of all memories, in the order of paths."""
        return [*self._known()]

    def all(self) -> Sequence[Memory]:
        """Every memory under its id, in path order."""
        return distinct_memories(memory for path in self._paths for memory in self._memories(path))[0]

    def find(self, name: str) -> Memory | None:
        """The memory with an id, under that id; None if no memory has it."""
        if name not in (known := self._known()):
            return None
        path, number, own = known[name]
        for memory in self._memories(path)[number : number + 1]:
            if memory.id == own:
                return memory._replace(id=name)
        self._stored = self._places = None  # the file has changed since its ids were looked at
        return self.find(name)

    def _known(self) -> Mapping[str, tuple[str, int, str]]:
        if self._places is None:
            stored = self._stored.load(self._paths) if self._stored else {}
            files = {
                path: stored[path] if path in stored else [each.id for each in self._memories(path)]
                for path in self._paths
            }
            if self._stored and sum(len(ids) for path, ids in files.items() if path not in stored) > MANY:
                self._stored.store(files)
            places = [(path, *numbered) for path, ids in files.items() for numbered in enumerate(ids)]
            self._places = dict(zip(unique_ids(own for *_, own in places), places, strict=True))
        return self._places


class WorkspaceIds:
    """Ids of the memories of all owners of a workspace, or of one; each owner has ids of its own."""

    def __init__(
        self, workspace: Folder, owner: str = "", stored_ids: FolderOfIds | None = None, files: Sequence[str] = ()
    ) -> None:
        """`owner` is the folder of one owner; empty for all owners. `files` are further files of memories."""
        self._workspace = workspace
        self._parsed: dict[str, Sequence[Memory]] = {}
        patterns = (f"{owner}/memories",) if owner else MEMORY_FOLDERS
        paths = sorted({path for pattern in patterns for path in workspace.list(f"{pattern}/*.md")})
        folders = grouped((path.rpartition("/")[0], path) for path in paths)
        self._folders = [
            FolderIds(paths, self._memories, stored_ids(folder) if stored_ids else None)
            for folder, paths in folders.items()
        ]
        self._folders += [FolderIds([path], self._memories, None) for path in files]

    def all(self) -> list[Memory]:
        """Every memory under its id, in path order."""
        return [memory for folder in self._folders for memory in folder.all()]

    def names(self) -> set[str]:
        """Every id."""
        return {name for folder in self._folders for name in folder.names()}

    def find(self, name: str) -> list[Memory]:
        """The memories with an id, or with the only one that begins so, in path order: one of each owner.

        Raises `ContextasmError`, with the nearest id, if no memory has it.
        """
        found = [memory for folder in self._folders if (memory := folder.find(name))]
        if not found:
            ids = self.names()
            if len(longer := _ids_from(name, ids)) != 1:
                raise unknown_id(name, ids, "id")
            found = [memory for folder in self._folders if (memory := folder.find(longer[0]))]
        return found

    def _memories(self, path: str) -> Sequence[Memory]:
        if path not in self._parsed:
            document = self._workspace.read(path)
            self._parsed[path] = parse_memories(document)[0] if isinstance(document, Document) else ()
        return self._parsed[path]


def _ids_from(beginning: str, ids: Collection[str]) -> Sequence[str]:
    """The ids with a beginning, which is as long as git wants that of a commit, or none."""
    return sorted({each for each in ids if each.startswith(beginning)}) if len(beginning) >= SHORTEST else ()


def unknown_id(name: str, ids: Collection[str], where: str) -> ContextasmError:
    """The error of an id that no memory has, with the ids that begin so, or the nearest one."""
    longer = _ids_from(name, ids)
    if longer[1:]:
        hint = f"give more letters: {list_names(longer, 5)}"
        return ContextasmError(where, f"{name} is the beginning of {len(longer):,} ids", hint)
    # Digits are not words: an id that shares some of them is not meant.
    near = longer[0] if longer else nearest(name, ids, 0.9 if name.startswith("m-") else 0.6)
    hint = f"did you mean {near}?" if near else "`ctxasm memory list` shows the ids"
    return ContextasmError(where, f"no memory has the id `{name}`", hint)
