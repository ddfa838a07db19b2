"""Memories in the archives of their owner: under which ids they were known."""

from __future__ import annotations

from collections.abc import Iterator

from contextasm.model import Document, Workspace
from contextasm.text.decode import decode_document
from contextasm.text.memory_parser import parse_memories
from contextasm.upkeep.archive import ARCHIVE_SUFFIX, parse_archive


def archived_memory_ids(workspace: Workspace, folder: str) -> frozenset[str]:
    """The ids of the memories that left a folder of memories for its archive, as list items or as whole files."""
    return frozenset(
        memory.id for document in _archived_documents(workspace, folder) for memory in parse_memories(document)[0]
    )


def _archived_documents(workspace: Workspace, folder: str) -> Iterator[Document]:
    """A document for each text and file in the archive, with the path that it had."""
    for path in workspace.list(f"{folder}/archive/*.md{ARCHIVE_SUFFIX}"):
        read = workspace.read(path)
        for archived in parse_archive(read.whole) if isinstance(read, Document) else ():
            document = decode_document(archived.path, archived.text.encode(errors="surrogatepass"))
            if isinstance(document, Document):
                yield document
    for path in workspace.list(f"{folder}/archive/*.md"):
        read = workspace.read(path)
        if isinstance(read, Document):
            yield read._replace(path=f"{folder}/{path.rpartition('/')[2]}")
