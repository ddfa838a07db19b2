"""`ctxasm lock`: approve the files that instruct an agent, as they are now, in `ctxasm.lock`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from contextasm.cli.command_line import Command
from contextasm.cli.options import Receipt
from contextasm.cli.output import show_taken, write_stderr
from contextasm.cli.owner import recover_first
from contextasm.config.approval import instructing_files, load_approved
from contextasm.config.input.options import Flag, Options
from contextasm.config.input.settings import LOCK_FILE
from contextasm.config.resolve import process_environment
from contextasm.config.workspace_folder import open_workspace
from contextasm.model import ContextasmError, Document, Problem
from contextasm.rendering.json_codec import Digest
from contextasm.text.cleaning.clean import folded_hidden
from contextasm.text.data.lock_file import format_lock, quoted_path
from contextasm.workspace.editing.files import locked, open_file, save_file
from contextasm.workspace.folder import Folder
from contextasm.workspace.recording import ChangedInput, drift


class ApprovedFile(TypedDict):
    """One file."""

    path: str
    """The file, relative to the workspace."""
    sha256: Digest
    """The digest of its bytes."""


class LockDocument(TypedDict):
    """The approved files, as `ctxasm lock --json` prints them."""

    schema: Literal["ctxasm.lock/1"]
    written: bool
    """Whether the approval lock was written."""
    changes: list[ChangedInput]
    """Files that differ from those approved before."""
    files: list[ApprovedFile]
    """Every approved file."""


def lock(
    options: Options,
    *,
    force: Annotated[bool, Flag("Approve files with hidden characters, too.")] = False,
    receipt: Receipt,
) -> None:
    """Approve the files that instruct an agent: write their digests to ctxasm.lock. Review the files first.

    Prints each file that was changed, added or removed since the last approval. A file with hidden characters is
    refused.
    """
    receipt.require_stdout()
    process = process_environment()
    workspace = open_workspace(options, process)
    recover_first(workspace)
    with locked(workspace):
        approved = load_approved(workspace) or {}
        paths, detected = instructing_files(workspace, options, process)
        show_taken("" if receipt.quiet else detected)
        documents = _documents(workspace, paths)
        if _show_hidden_characters(documents) and not force:
            what = "nothing has been approved, because files have hidden characters"
            raise ContextasmError(LOCK_FILE, what, "delete them, or use --force", code=1)
        digests = {document.path: document.digest for document in documents}
        changes = drift(approved, dict.fromkeys(approved, "") | digests)
        before, data = open_file(workspace, LOCK_FILE).data, format_lock(digests).encode()
        save_file(workspace, LOCK_FILE, data)
    files = [{"path": path, "sha256": digest} for path, digest in digests.items()]
    document = {"written": before != data, "changes": changes, "files": files}
    receipt.write(LockDocument, document, _receipt_lines(changes, digests, is_new=before != data))


run = Command(lock, ("profile", "workspace"))


def _documents(workspace: Folder, paths: Sequence[str]) -> Sequence[Document]:
    """The files at these paths. Raises `ContextasmError` for one that can't be read."""
    documents: list[Document] = []
    for path in paths:
        read = workspace.read(path)
        if isinstance(read, Problem):
            raise ContextasmError(quoted_path(path), read.message, "correct the file; nothing has been approved")
        if read:
            documents.append(read)
    return documents


def _show_hidden_characters(documents: Sequence[Document]) -> bool:
    """Write the places of hidden characters to standard error; returns whether there is one."""
    for document in documents:
        for run, words in folded_hidden(document.hidden):
            write_stderr(f"ctxasm: warning: {quoted_path(document.path)}:{run.line}: {words}")
    return any(document.hidden for document in documents)


def _receipt_lines(changes: Sequence[ChangedInput], digests: Mapping[str, str], *, is_new: bool) -> Sequence[str]:
    words = {"added": "new", "changed": "changed", "gone": "gone"}
    lines = [f"{words[change.kind]} {quoted_path(change.path)}" for change in changes]
    files = f"{len(digests):,} file{'s' * (len(digests) != 1)} approved"
    return [*lines, f"{LOCK_FILE}: {'written' if is_new else 'unchanged'}: {files}"]
