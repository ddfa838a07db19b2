"""The workspace as it is in git's index: with the files that the next commit will have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from contextasm.model import ContextasmError
from contextasm.workspace.git.revision import GitObject, GitWorkspace

if TYPE_CHECKING:
    from pathlib import Path


class IndexWorkspace(GitWorkspace):
    """Workspace as it is in the index: with the files that the next commit will have (`model.Workspace`)."""

    def __init__(self, root: str, environment: Mapping[str, str], folder: Path) -> None:
        """Open the index of the workspace whose folder is `root`.

        It is the index that git hands to a hook, where that belongs to the same repository; `folder` is the current
        folder, where the hook's paths start. Raises `ContextasmError` where there is no git or no repository, and for
        files that are not merged.
        """
        self._hook_index, self._folder = environment.get("GIT_INDEX_FILE", ""), folder
        super().__init__(root, "the index", environment)

    def _commit_hash(self, revision: str) -> str:
        try:
            self._git_output("rev-parse", "--git-dir")
        except ContextasmError as error:
            if "not a git repository" not in error.what:
                raise
            hint = "leave --staged out, or run `git init`"
            raise ContextasmError("--staged", f"{self.root} is in no git repository", hint) from error
        return revision

    def _add_objects(self) -> None:
        output = self._git_output("ls-files", "--stage", "-z", index=self._index_file())
        for entry in output.split(b"\0")[:-1]:
            fields, _, name = entry.partition(b"\t")
            mode, object_hash, stage = fields.decode().split()
            path = os.fsdecode(name)
            if stage != "0":
                raise ContextasmError(path, "has a merge conflict in the index", "resolve it and `git add` the file")
            self._add_object(path, GitObject(int(mode, 8), object_hash))

    def _index_file(self) -> str:
        """The index that a hook commits from; empty for the repository's own."""
        if not self._hook_index:
            return ""
        top, git_folder = self._git_output("rev-parse", "--show-toplevel", "--absolute-git-dir").split(b"\n")[:2]
        for start in (str(self._folder), os.fsdecode(top)):
            path = os.path.realpath(os.path.join(start, self._hook_index))
            if os.path.dirname(path) == os.path.realpath(os.fsdecode(git_folder)):
                return path
        return ""
